import { type Expression, yes } from '../../declare/cel/expression.ts'
import { columnOf, type Edge, type EntityType, type Model, walk } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { id, quoted, type Sql, sql } from '../../store/sql.ts'
import { Conditions } from '../condition/condition.ts'
import { rowOf } from '../condition/row-source.ts'
import { bodyColumns } from '../tables/columns.ts'
import type { Viewer } from '../viewer/viewer.ts'
import { type AmendmentGroup, backName, goneName, HEADS, rowsName } from './amendment.ts'
import { edgeKey, ruleKey } from './obstacle.ts'

/** The amendments of a group as rows `v`, joined with the present rows `t`, and conditions on both. */
export class AmendmentRows {
  readonly type: EntityType
  readonly rows: Sql
  readonly #set: ReadonlySet<string>
  readonly #free: ReadonlySet<string>
  readonly #model: Model
  readonly #dialect: Dialect

  constructor({ type, columns, free }: AmendmentGroup, at: number, model: Model, dialect: Dialect) {
    const known = bodyColumns(type.fields)
    this.type = type
    this.#set = new Set(columns)
    this.#free = new Set(free)
    this.#model = model
    this.#dialect = dialect
    this.rows = dialect.rows(rowsName(at), [
      ...HEADS,
      ...columns.map((name) => ({
        name,
        kind: known.find((column) => column.name === name)?.kind ?? ('text' as const),
      })),
    ])
  }

  get both(): Sql {
    return sql`${this.rows} v JOIN ${id(this.type.name)} t ON t."id" = v."$id"`
  }

  /** The future value of a column. */
  next(column: string): Sql {
    return this.#set.has(column) ? sql`v.${id(column)}` : sql`t.${id(column)}`
  }

  /** That the Entity will be live. */
  get willBeLive(): Sql {
    return sql`(v."$kind" = 'restore' OR (v."$kind" = 'update' AND t."deleted_at" IS NULL))`
  }

  /** Rules that do not hold: for the action on each Entity, and for each value that changes. */
  forbidden(viewer: Viewer): Sql[] {
    const { type } = this
    const rules = new Conditions(this.#model, this.#dialect)
    const rowSource = { ...rowOf(type), next: (name: string) => this.next(name) }
    const fields = [...walk(type.fields)].filter((field) => {
      const column = columnOf(field)
      return this.#set.has(column) && !this.#free.has(column)
    })
    const broken = (key: string, rule: Expression, when: Sql) =>
      rule === yes
        ? []
        : [
            sql`SELECT ${quoted(key)}, v."$id", 0 FROM ${this.both} WHERE v."$along" = 0 AND ${when} AND (${rules.of(rule, rowSource)}) IS NOT TRUE`,
          ]
    const isKind = (kind: string) => sql`v."$kind" = ${quoted(kind)}`
    return [
      ...(this.#set.size === 0
        ? []
        : broken(ruleKey(type, 'update'), viewer.may(type, 'update'), sql`1 = 1`)),
      ...fields.flatMap(({ path }) =>
        broken(ruleKey(type, 'write', path), viewer.mayField(type, path, 'change'), sql`1 = 1`),
      ),
      ...(['delete', 'restore'] as const).flatMap((kind) =>
        broken(ruleKey(type, kind), viewer.may(type, kind), isKind(kind)),
      ),
    ]
  }

  /** The future targets of an edge, with the rows that they come from. */
  #wanted({ column, list }: Edge): { readonly rows: Sql; readonly target: Sql } {
    const value = this.next(column)
    if (list === undefined) return { rows: this.both, target: value }
    const { rows, target } = this.#dialect.members(value, list.member)
    return { rows: sql`${this.both} CROSS JOIN ${rows}`, target }
  }

  get #out(): Edge[] {
    return this.#model.edges.filter(({ from }) => from === this.type.name)
  }

  /** Purged targets of references that are to be set. */
  gone(): Sql[] {
    return this.#out
      .filter(({ column }) => this.#set.has(column))
      .map((edge) => {
        const { rows, target } = this.#wanted(edge)
        return sql`SELECT ${quoted(edgeKey('gone', edge))}, v."$id", ${target} FROM ${rows}
          LEFT JOIN ${id(edge.to)} d ON d."id" = ${target} WHERE ${target} IS NOT NULL AND d."id" IS NULL`
      })
  }

  /** Targets that will be deleted, where the referring Entity will be live. */
  dead(): Sql[] {
    return this.#out.map((edge) => {
      const { rows, target } = this.#wanted(edge)
      const back = this.#dialect.listed(backName(edge.to), 'integer')
      const gone = this.#dialect.listed(goneName(edge.to), 'integer')
      return sql`SELECT ${quoted(edgeKey('dead', edge))}, v."$id", d."id" FROM ${rows} JOIN ${id(edge.to)} d ON d."id" = ${target}
        WHERE ${this.willBeLive} AND ((d."deleted_at" IS NOT NULL AND d."id" NOT IN ${back}) OR d."id" IN ${gone})`
    })
  }
}
