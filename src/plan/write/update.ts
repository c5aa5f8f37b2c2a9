import type { ColumnKind } from '../../declare/fields/field.ts'
import { unfoldedColumn } from '../../declare/folded-column.ts'
import type { EntityType } from '../../declare/model.ts'
import { defaultOf, isRequired } from '../../declare/values.ts'
import type { Dialect, Params } from '../../store/dialect.ts'
import { and, id, join, param, type Sql, sql } from '../../store/sql.ts'
import { type RowSource, rowOf } from '../condition/row-source.ts'
import { type BodyColumn, nextVersion } from '../tables/columns.ts'
import { EMAIL_KEY, TOKEN_EPOCH } from '../tables/schema.ts'
import { boundOf, hasLiveTarget, isReference } from './targets.ts'

/** An update of some columns, as a merge (`partial`) or a replacement. */
export interface Update {
  readonly type: EntityType
  readonly columns: readonly BodyColumn[]
  readonly sent: readonly BodyColumn[]
  readonly partial: boolean
}

/** What the SQL of an update depends on, besides rules. */
export function updateShape({ sent, partial }: Update): string {
  return `${partial}|${sent.map(({ name }) => name).join('|')}`
}

/** Updates the Entity `$id`, if every target is live and all of `more` holds. */
export function updateSql(
  { type, columns, sent, partial }: Update,
  dialect: Dialect,
  more: readonly Sql[],
): Sql {
  const names = new Set(sent.map(({ name }) => name))
  const untouched = columns.filter(
    ({ within, name }) => within !== undefined && names.has(within) && !names.has(name),
  )
  const merged = partial ? untouched : []
  const sets = [
    ...sent.map((column) => sql`${id(column.name)} = ${boundOf(column)}`),
    ...sent.flatMap(({ derived }) => derived.map(({ name }) => sql`${id(name)} = ${param(name)}`)),
    ...merged.filter(({ field }) => !isRequired(field)).flatMap(fillWhenNew),
    ...(type.login !== undefined && names.has('email') ? [sql`${id(EMAIL_KEY)} = ${param(EMAIL_KEY)}`] : []),
    ...(type.login !== undefined && names.has('password')
      ? [sql`${id(TOKEN_EPOCH)} = ${id(TOKEN_EPOCH)} + 1`]
      : []),
    nextVersion(dialect),
  ]
  const conditions = [
    ...(dialect.fence === undefined ? [] : [dialect.fence]),
    sql`"id" = ${param('$id')} AND "deleted_at" IS NULL AND ${isVersion}`,
    ...(type.login !== undefined && names.has('password') ? [isEpoch] : []),
    ...sent.filter(isReference).map((one) => hasLiveTarget(one, dialect)),
    ...untouched
      .filter(({ field }) => isRequired(field))
      .map(({ within }) => sql`${id(within ?? '')} IS NOT NULL`),
    ...more,
  ]
  return sql`UPDATE ${id(type.name)} AS t SET ${join(sets)} WHERE ${and(conditions)}`
}

/** The row `t` before the update, and as it will be after it. */
export function updatedRow({ type, columns, sent, partial }: Update, dialect: Dialect): RowSource {
  const names = new Set(sent.map(({ name }) => name))
  const next = (name: string) => {
    // A derived column changes with its text.
    const column = columns.find((one) => one.name === unfoldedColumn(name))
    if (column === undefined) return sql`t.${id(name)}`
    if (names.has(column.name)) return dialect.literal(param(name, column.kind), column.kind)
    return partial && column.within !== undefined && names.has(column.within) && !isRequired(column.field)
      ? filled(name, column.kind, column.within)
      : sql`t.${id(name)}`
  }
  return { ...rowOf(type), next }
}

/** Merging into an optional object that is null creates it: keys that were not sent get their default or null. */
function fillWhenNew({ name, kind, within, derived }: BodyColumn): Sql[] {
  const fill = (column: string, as: ColumnKind) => sql`${id(column)} = ${filled(column, as, within)}`
  return [fill(name, kind), ...derived.map((one) => fill(one.name, 'text'))]
}

function filled(name: string, kind: ColumnKind, within: string | undefined): Sql {
  return sql`CASE WHEN t.${id(within ?? '')} IS NULL THEN ${param(defaultName(name), kind)} ELSE t.${id(name)} END`
}

/** That the old password was not changed in the meantime. `null`: no password was required. */
const isEpoch = sql`(${param('$epoch')} IS NULL OR ${id(TOKEN_EPOCH)} = ${param('$epoch')})`

/** `If-Match`: the version is one of a text such as `|3|7|`; `null` matches any. */
export const isVersion = sql`(${param('$versions')} IS NULL OR ${param('$versions')} LIKE '%|' || CAST("version" AS text) || '|%')`

/** The parameter of a default, for objects that a merge creates. */
const defaultName = (name: string) => `$default ${name}`

/** The defaults of fields in optional objects, as parameters. */
export function defaultParams(columns: readonly BodyColumn[], dialect: Dialect): Params {
  const params: Params = {}
  for (const { name, kind, scale, field, within, derived } of columns) {
    if (within === undefined) continue
    const value = defaultOf(field)
    params[defaultName(name)] = value === undefined ? null : dialect.encode(kind, scale)(value)
    for (const one of derived)
      params[defaultName(one.name)] = value === undefined ? null : one.by(String(value))
  }
  return params
}
