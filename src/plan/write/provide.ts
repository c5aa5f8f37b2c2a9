import { type Expression, scaleOf } from '../../declare/cel/expression.ts'
import { columnsRead } from '../../declare/checks.ts'
import { columnOf, type EntityType, type Model, type Providing, walk } from '../../declare/model.ts'
import { type Occasion, type ProvidedField, providedExpression } from '../../declare/provided-values.ts'
import { isServerValue } from '../../declare/server-value.ts'
import type { Dialect, Params } from '../../store/dialect.ts'
import { compile, id, param, type Sql, type Statement, sql } from '../../store/sql.ts'
import { rowAfter } from '../condition/checks.ts'
import { Conditions } from '../condition/condition.ts'
import type { RowSource } from '../condition/row-source.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { type BodyColumn, bodyColumns } from '../tables/columns.ts'
import type { Viewer } from '../viewer/viewer.ts'
import { newRow } from './insert.ts'
import { defaultParams, updatedRow, updateShape } from './update.ts'

/** A field that the server provides, and its value. */
export interface Provision {
  readonly field: ProvidedField
  readonly occasion: Occasion
  readonly value: Providing
  readonly expression: Expression | undefined
  /** The columns of the Entity that the expression reads. */
  readonly reads: ReadonlySet<string>
}

interface Providers {
  readonly type: EntityType
  readonly viewer: Viewer
  readonly model: Model
  readonly dialect: Dialect
}

/** Undefined if there is nothing to provide, as for most types. */
export function compileProvisions(providers: Providers): Provisions | undefined {
  const fields = [...walk(providers.type.fields)].filter(
    (field): field is ProvidedField =>
      (field.kind === 'value' || field.kind === 'reference') && field.provided !== undefined,
  )
  return fields.length === 0 ? undefined : new Provisions(fields, providers)
}

/** The values that the server provides for Entities of a type when one of these viewers writes. */
export class Provisions {
  readonly default: readonly Provision[]
  readonly create: readonly Provision[]
  readonly update: readonly Provision[]
  readonly #type: EntityType
  readonly #columns: readonly BodyColumn[]
  readonly #dialect: Dialect
  readonly #conditions: Conditions
  readonly #defaults: Params
  readonly #statements = new ShapeCache<Statement>()

  constructor(fields: readonly ProvidedField[], { type, viewer, model, dialect }: Providers) {
    const on = (occasion: Occasion) =>
      fields.flatMap((field): Provision[] => {
        const value = field.provided?.[occasion]
        if (value === undefined) return []
        const isCel = isServerValue(value) && value.server === 'cel'
        const about = { type, viewer: viewer.login, occasion }
        const expression = isCel ? providedExpression(value, field, about, model) : undefined
        const reads = expression === undefined ? new Set<string>() : columnsRead(expression)
        return [{ field, occasion, value, expression, reads }]
      })
    this.default = on('default')
    this.create = on('create')
    this.update = on('update')
    this.#type = type
    this.#columns = bodyColumns(type.fields)
    this.#dialect = dialect
    this.#conditions = new Conditions(model, dialect)
    this.#defaults = defaultParams(this.#columns, dialect)
  }

  /** The values of expressions for a new Entity, from its parameters: a JSON list. */
  valuesOfNew(provisions: readonly Provision[]): Statement {
    return this.#statements.of(shapeOf(provisions), () => {
      const values = this.#listed(provisions, newRow(this.#type, this.#columns, this.#dialect))
      return compile(sql`SELECT ${values}`, this.#dialect.placeholder)
    })
  }

  /** The same for the Entity `$id` as an update would leave it: its version, then the JSON list. */
  valuesOfChanged(provisions: readonly Provision[], params: Params, partial: boolean): Statement {
    const sent = this.#columns.filter(({ name }) => Object.hasOwn(params, name))
    const update = { type: this.#type, columns: this.#columns, sent, partial }
    if (partial) Object.assign(params, this.#defaults)
    return this.#statements.of(`${updateShape(update)}|${shapeOf(provisions)}`, () => {
      const values = this.#listed(provisions, rowAfter(updatedRow(update, this.#dialect)))
      return compile(
        sql`SELECT t."version", ${values} FROM ${id(this.#type.name)} t WHERE t."id" = ${param('$id')}`,
        this.#dialect.placeholder,
      )
    })
  }

  #listed(provisions: readonly Provision[], row: RowSource): Sql {
    return this.#dialect.array(
      provisions.map(({ expression }) => {
        if (expression === undefined) return sql`NULL`
        const value = sql`(${this.#conditions.value(expression, row)})`
        return this.#dialect.render(expression.kind, value, scaleOf(expression))
      }),
    )
  }
}

function shapeOf(provisions: readonly Provision[]): string {
  return provisions.map(({ occasion, field }) => `${occasion} ${columnOf(field)}`).join('|')
}
