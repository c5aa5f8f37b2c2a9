import type { ValueKind } from '../../declare/cel/expression.ts'
import { columnOf, type EntityType, type Field } from '../../declare/model.ts'
import { dottedPath } from '../../declare/values.ts'
import type { Dialect } from '../../store/dialect.ts'
import { id, type Sql, sql } from '../../store/sql.ts'
import { ownColumns } from './columns.ts'

/** A computed field of the row: its kind, and its SQL. */
export interface ShownComputed {
  readonly name: string
  readonly kind: ValueKind
  readonly scale: number
  readonly sql: Sql
}

/** Which parts of an Entity are shown. Default: all. */
export interface Shown {
  /** The columns of the row. Default: those of the alias `t`. */
  readonly row?: (column: string) => Sql
  /** Only these dot paths. Default: all. */
  readonly chosen?: ReadonlySet<string> | undefined
  /** The fields that the viewer sees in some Entities. Default: all. */
  readonly fields?: readonly Field[]
  /** The condition for showing a field, if that depends on the Entity. */
  readonly guard?: (path: string) => Sql | undefined
  /** The JSON in place of a reference, by its dot path. */
  readonly expand?: (path: string, reference: Sql) => Sql | undefined
  /** Computed fields, which come after the others. */
  readonly computed?: readonly ShownComputed[]
  /** Further members of the object. */
  readonly more?: readonly (readonly [string, Sql])[]
}

/** The JSON of an Entity, or of the shown parts, made by the database itself. */
export function renderEntity(type: EntityType, dialect: Dialect, shown: Shown = {}): Sql {
  const row = shown.row ?? ((column) => sql`t.${id(column)}`)
  const { chosen } = shown
  const own = (name: keyof typeof ownColumns): [string, Sql][] =>
    chosen === undefined || chosen.has(name) ? [[name, dialect.render(ownColumns[name], row(name), 0)]] : []
  return dialect.object([
    ...own('id'),
    ...renderFields(shown.fields ?? type.fields, dialect, { ...shown, row }),
    ...(shown.computed ?? [])
      .filter(({ name }) => chosen === undefined || chosen.has(name))
      .map(({ name, kind, scale, sql: value }): [string, Sql] => [name, dialect.render(kind, value, scale)]),
    ...own('version'),
    ...own('created_at'),
    ...own('updated_at'),
    ...own('deleted_at'),
    ...(shown.more ?? []),
  ])
}

type Showing = Shown & { readonly row: (column: string) => Sql }

function renderFields(fields: readonly Field[], dialect: Dialect, shown: Showing): [string, Sql][] {
  return fields.flatMap((field): [string, Sql][] => {
    const value = renderField(field, dialect, shown)
    if (value === undefined) return []
    const guard = shown.guard?.(field.path)
    return [[field.name, guard === undefined ? value : sql`CASE WHEN ${guard} THEN ${value} END`]]
  })
}

function renderField(field: Field, dialect: Dialect, shown: Showing): Sql | undefined {
  const { row, chosen } = shown
  const at = row(columnOf(field))
  if (field.kind === 'value') {
    if (field.secret || (chosen !== undefined && !chosen.has(field.path))) return undefined
    return dialect.render(field.column, at, field.scale)
  }
  if (field.kind === 'reference') {
    if (chosen !== undefined && !chosen.has(field.path) && !chosen.has(columnOf(field))) return undefined
    const plain = dialect.object([['id', dialect.render('reference', at, 0)]])
    const expanded = shown.expand?.(field.path, at)
    return maybe(at, expanded === undefined ? plain : dialect.nested(sql`coalesce(${expanded}, ${plain})`))
  }
  if (field.kind === 'links') {
    const path = dottedPath(field.path, field.member)
    if (chosen !== undefined && !chosen.has(field.path) && !chosen.has(path)) return undefined
    return shown.expand?.(path, at) ?? dialect.render('json', at, 0)
  }
  const inner = chosen?.has(field.path) ? { ...shown, chosen: undefined } : shown
  const members = renderFields(field.fields, dialect, inner)
  if (members.length === 0 && chosen !== undefined) return undefined
  const object = dialect.object(members)
  return field.optional ? maybe(at, object) : object
}

function maybe(present: Sql, value: Sql): Sql {
  return sql`CASE WHEN ${present} IS NOT NULL THEN ${value} END`
}
