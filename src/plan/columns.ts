import type { ColumnKind } from '../declare/fields/field.ts'
import { columnOf, type EntityType, type Field } from '../declare/model.ts'
import type { Values } from '../declare/values.ts'
import type { Bag, Dialect } from '../store/dialect.ts'
import { id, type Sql, sql } from '../store/sql.ts'

/** A column that holds something of a body: a value, the id of a reference, or that an optional object is there. */
export interface BodyColumn {
  readonly name: string
  readonly kind: ColumnKind
  readonly scale: number
  readonly field: Field
  /** The optional object that it is in, if any: the innermost one. */
  readonly within: string | undefined
  readonly secret: boolean
}

export function bodyColumns(fields: readonly Field[], within?: string): BodyColumn[] {
  return fields.flatMap((field): BodyColumn[] => {
    const name = columnOf(field)
    if (field.kind === 'value')
      return [{ name, kind: field.column, scale: field.scale, field, within, secret: field.secret }]
    if (field.kind === 'reference')
      return [{ name, kind: 'reference', scale: 0, field, within, secret: false }]
    if (field.kind === 'links') return [{ name, kind: 'json', scale: 0, field, within, secret: false }]
    if (!field.optional) return bodyColumns(field.fields, within)
    return [
      { name, kind: 'presence', scale: 0, field, within, secret: false },
      ...bodyColumns(field.fields, name),
    ]
  })
}

/** Columns that every Entity type has, in the order in which they come back. */
export const ownColumns = {
  id: 'integer',
  version: 'integer',
  created_at: 'datetime',
  updated_at: 'datetime',
  deleted_at: 'datetime',
} as const satisfies Record<string, ColumnKind>

/** Puts the values of a checked body into a bag, a column each. Keys that are not there are left alone. */
export function compileBinder(
  fields: readonly Field[],
  dialect: Dialect,
): (values: Values, bag: Bag) => void {
  const binders = fields.map((field) => ({ name: field.name, bind: bindField(field, dialect) }))
  return (values, bag) => {
    for (const { name, bind } of binders) if (Object.hasOwn(values, name)) bind(values[name], bag)
  }
}

function bindField(field: Field, dialect: Dialect): (value: unknown, bag: Bag) => void {
  const column = columnOf(field)
  if (field.kind === 'reference')
    return (value, bag) => {
      bag[column] = isNothing(value) ? null : (value as { id: number }).id
    }
  if (field.kind === 'value' || field.kind === 'links') {
    const encode =
      field.kind === 'links' ? dialect.encode('json', 0) : dialect.encode(field.column, field.scale)
    return (value, bag) => {
      bag[column] = isNothing(value) ? null : encode(value)
    }
  }
  const bindInner = compileBinder(field.fields, dialect)
  const inner = bodyColumns(field.fields).map(({ name }) => name)
  return (value, bag) => {
    if (field.optional) bag[column] = isNothing(value) ? null : 1
    if (isNothing(value)) for (const name of inner) bag[name] = null
    else bindInner(value as Values, bag)
  }
}

/** `null`, or what a failed check has left. */
function isNothing(value: unknown): boolean {
  return value === null || value === undefined
}

/** The JSON of whole Entities, or of the chosen dot paths of them, made by the database itself. */
export function renderEntity(
  type: EntityType,
  dialect: Dialect,
  chosen?: ReadonlySet<string>,
  more: readonly [string, Sql][] = [],
): Sql {
  const own = (name: keyof typeof ownColumns): [string, Sql][] =>
    chosen === undefined || chosen.has(name)
      ? [[name, dialect.render(ownColumns[name], column(name), 0)]]
      : []
  return dialect.object([
    ...own('id'),
    ...renderFields(type.fields, dialect, chosen),
    ...own('version'),
    ...own('created_at'),
    ...own('updated_at'),
    ...own('deleted_at'),
    ...more,
  ])
}

function renderFields(
  fields: readonly Field[],
  dialect: Dialect,
  chosen?: ReadonlySet<string>,
): [string, Sql][] {
  return fields.flatMap((field): [string, Sql][] => {
    if (field.kind === 'value') {
      if (field.secret || (chosen !== undefined && !chosen.has(field.path))) return []
      return [[field.name, dialect.render(field.column, column(field.path), field.scale)]]
    }
    if (field.kind === 'reference') {
      if (chosen !== undefined && !chosen.has(field.path) && !chosen.has(columnOf(field))) return []
      const at = column(columnOf(field))
      return [[field.name, maybe(at, dialect.object([['id', dialect.render('reference', at, 0)]]))]]
    }
    if (field.kind === 'links') {
      if (chosen !== undefined && !chosen.has(field.path)) return []
      return [[field.name, dialect.render('json', column(field.path), 0)]]
    }
    const members = renderFields(field.fields, dialect, chosen?.has(field.path) ? undefined : chosen)
    if (members.length === 0 && chosen !== undefined) return []
    const object = dialect.object(members)
    return [[field.name, field.optional ? maybe(column(field.path), object) : object]]
  })
}

function maybe(present: Sql, value: Sql): Sql {
  return sql`CASE WHEN ${present} IS NOT NULL THEN ${value} END`
}

/** A column of the row at hand; every statement that renders calls its table `t`. */
export function column(name: string): Sql {
  return sql`t.${id(name)}`
}

/** A change of a row that makes a new version of it. */
export function next(dialect: Dialect): Sql {
  return sql`"version" = "version" + 1, "updated_at" = ${dialect.later(id('updated_at'))}`
}
