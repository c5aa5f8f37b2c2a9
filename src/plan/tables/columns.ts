import type { ColumnKind } from '../../declare/fields/field.ts'
import { foldedColumn } from '../../declare/folded-column.ts'
import { columnOf, type Field } from '../../declare/model.ts'
import { ownValues } from '../../declare/scope.ts'
import type { Values } from '../../declare/values.ts'
import { foldText, keptWords } from '../../declare/words.ts'
import type { Dialect, Params } from '../../store/dialect.ts'
import { id, type Sql, sql } from '../../store/sql.ts'
import { wordsColumn } from '../../store/tables.ts'

/** A column for part of a body: a value, the id of a reference, or the presence of an optional object. */
export interface BodyColumn {
  readonly name: string
  readonly kind: ColumnKind
  readonly scale: number
  readonly field: Field
  /** The innermost optional object around it, if any. */
  readonly within: string | undefined
  readonly secret: boolean
  /** Columns derived from its text, such as its words for the search. They are always set together. */
  readonly derived: readonly DerivedColumn[]
}

/** A column derived from the text of another. */
export interface DerivedColumn {
  readonly name: string
  by(text: string): string
}

function derivedFrom(field: Field): readonly DerivedColumn[] {
  if (field.kind !== 'value') return []
  return [
    ...(field.search ? [{ name: wordsColumn(field.path), by: keptWords }] : []),
    ...(field.fold ? [{ name: foldedColumn(field.path), by: foldText }] : []),
  ]
}

export function bodyColumns(fields: readonly Field[], within?: string): BodyColumn[] {
  return fields.flatMap((field): BodyColumn[] => {
    const name = columnOf(field)
    if (field.kind === 'value')
      return [
        {
          name,
          kind: field.column,
          scale: field.scale,
          field,
          within,
          secret: field.secret,
          derived: derivedFrom(field),
        },
      ]
    if (field.kind === 'reference')
      return [{ name, kind: 'reference', scale: 0, field, within, secret: false, derived: [] }]
    if (field.kind === 'links')
      return [{ name, kind: 'json', scale: 0, field, within, secret: false, derived: [] }]
    if (!field.optional) return bodyColumns(field.fields, within)
    return [
      { name, kind: 'presence', scale: 0, field, within, secret: false, derived: [] },
      ...bodyColumns(field.fields, name),
    ]
  })
}

/** Columns that every Entity type has, in the order of the JSON. */
export const ownColumns = ownValues satisfies Record<string, ColumnKind>

/** Binds the values of a checked body, one parameter per column. Absent keys bind nothing. */
export function compileBinder(
  fields: readonly Field[],
  dialect: Dialect,
): (values: Values, params: Params) => void {
  const binders = fields.map((field) => ({ name: field.name, bind: bindField(field, dialect) }))
  return (values, params) => {
    for (const { name, bind } of binders) if (Object.hasOwn(values, name)) bind(values[name], params)
  }
}

function bindField(field: Field, dialect: Dialect): (value: unknown, params: Params) => void {
  const column = columnOf(field)
  if (field.kind === 'reference')
    return (value, params) => {
      params[column] = isNothing(value) ? null : (value as { id: number }).id
    }
  if (field.kind === 'value' || field.kind === 'links') {
    const encode =
      field.kind === 'links' ? dialect.encode('json', 0) : dialect.encode(field.column, field.scale)
    const derived = derivedFrom(field)
    return (value, params) => {
      params[column] = isNothing(value) ? null : encode(value)
      for (const { name, by } of derived) params[name] = isNothing(value) ? null : by(String(value))
    }
  }
  const bindInner = compileBinder(field.fields, dialect)
  const inner = bodyColumns(field.fields).flatMap(({ name, derived }) => [
    name,
    ...derived.map((one) => one.name),
  ])
  return (value, params) => {
    if (field.optional) params[column] = isNothing(value) ? null : 1
    if (isNothing(value)) for (const name of inner) params[name] = null
    else bindInner(value as Values, params)
  }
}

/** Null, or undefined after a failed check. */
function isNothing(value: unknown): boolean {
  return value === null || value === undefined
}

/** A column of the current row. Every statement that renders calls its table `t`. */
export function column(name: string): Sql {
  return sql`t.${id(name)}`
}

/** The assignments of an UPDATE that make a new version. */
export function nextVersion(dialect: Dialect): Sql {
  return sql`"version" = "version" + 1, "updated_at" = ${dialect.nextTime(id('updated_at'))}`
}
