import type { ColumnKind } from '../../declare/fields/field.ts'
import { foldedColumn } from '../../declare/folded-column.ts'
import { type EntityType, walk } from '../../declare/model.ts'
import type { Bound, Dialect } from '../../store/dialect.ts'
import { type Conversion, convertedValue, type MigrationStep } from '../../store/migration/steps.ts'
import { id, join, param, quoted, type Sql, sql } from '../../store/sql.ts'
import { bodyColumns, ownColumns } from '../tables/columns.ts'
import { timesAhead } from './ahead.ts'
import { JOURNAL } from './journal.ts'

const data = sql`j."data"`

/** The parameter with the requested time. */
export const AS_OF = '$as_of'

/**
 * A type's table as it was at a time, read from the journal. It can be selected from like any table. Each Entity has
 * its newest version up to that time. If a clock was set back, an earlier version may have a later time; it still
 * counts if a version after it does. Entities created later are not looked up, unless times ahead of the clock are
 * possible.
 */
export function tableAsOf(type: EntityType, dialect: Dialect, steps: readonly MigrationStep[]): Sql {
  const time = param(AS_OF, 'datetime')
  const deleted = dialect.extract(data, 'deleted_at', 'datetime', 0)
  const { id: _, ...own } = ownColumns
  const columns = [
    ...Object.entries(own).map(([name, kind]) => ({ name, kind, scale: 0 })),
    ...bodyColumns(type.fields).filter(({ secret }) => !secret),
  ].map((column) => sql`, ${valueAsOf(column, dialect, steps)} AS ${id(column.name)}`)
  // The journal has no folded texts, so past ones are NULL.
  const folded = [...walk(type.fields)].flatMap((field) =>
    field.kind === 'value' && field.fold
      ? [sql`, ${dialect.literal(sql`NULL`, 'text')} AS ${id(foldedColumn(field.path))}`]
      : [],
  )
  const before = (alias: Sql) =>
    sql`${alias}."entity" = ${quoted(type.name)} AND ${alias}."entity_id" = e."id" AND ${alias}."at" <= ${time}`
  return sql`(SELECT e."id" AS "id"${join([...columns, ...folded], sql``)}, CASE WHEN ${deleted} IS NOT NULL THEN '' END AS "deletion"
    FROM ${dialect.withNewest(sql`${id(type.name)} e`, JOURNAL, before)}
    WHERE (e."created_at" <= ${time} OR ${time} <= ${timesAhead(dialect)}) AND ${data} IS NOT NULL)`
}

interface Value {
  readonly name: string
  readonly kind: ColumnKind
  readonly scale: number
  readonly within?: string | undefined
}

/** A value of a version, or the value that a migration gave it before the requested time. */
function valueAsOf(one: Value, dialect: Dialect, steps: readonly MigrationStep[]): Sql {
  const { name, kind, scale, within } = one
  const value = valueIn(one, dialect, steps)
  // The first step that applies wins: a value that is present is never filled again.
  const cases = steps.flatMap(({ path, at, change }, place) => {
    if (path !== name || change.kind === 'convert' || change.kind === 'aside' || change.value === null)
      return []
    const when = dialect.literal(quoted(at), 'datetime')
    const isMissing =
      change.kind === 'add'
        ? dialect.isAbsent(data, name)
        : sql`${value} IS NULL AND ${isFormer(when, change.ahead, dialect)}`
    const isThere =
      within === undefined ? sql`` : sql` AND ${dialect.extract(data, within, 'presence', 0)} IS NOT NULL`
    const today = conversionsOf(name, steps.slice(place)).reduce<unknown>(
      (former, { change: next }) => convertedValue(former, next),
      change.value,
    )
    const given = dialect.literal(constant(dialect.encode(kind, scale)(today)), kind)
    return [sql` WHEN ${isMissing}${isThere} AND ${when} <= ${param(AS_OF, 'datetime')} THEN ${given}`]
  })
  return cases.length === 0 ? value : sql`CASE${join(cases, sql``)} ELSE ${value} END`
}

/** The value in a version. If a decimal became a text, former versions may have fewer digits than that text. */
function valueIn({ name, kind, scale }: Value, dialect: Dialect, steps: readonly MigrationStep[]): Sql {
  const value = dialect.extract(data, name, kind, scale)
  if (kind !== 'text') return value
  const conversions = conversionsOf(name, steps)
  const last = conversions.findLastIndex(({ change }) => change.to === 'decimal')
  const [decimal, text] = conversions.slice(Math.max(last, 0))
  if (decimal?.change.to !== 'decimal' || text === undefined) return value
  const digits = decimal.change.scale
  const number = dialect.render('decimal', dialect.extract(data, name, 'decimal', digits), digits)
  const former = dialect.extract(dialect.object([['was', number]]), 'was', 'text', 0)
  const when = dialect.literal(quoted(text.at), 'datetime')
  return sql`CASE WHEN ${isFormer(when, text.change.ahead, dialect)} THEN ${former} ELSE ${value} END`
}

/** The steps that converted a field, oldest first. */
function conversionsOf(name: string, steps: readonly MigrationStep[]): { at: string; change: Conversion }[] {
  return steps.flatMap(({ path, at, change }) =>
    path === name && change.kind === 'convert' ? [{ at, change }] : [],
  )
}

/** That a version came before a migration. Versions with times up to `ahead` count as former: see `Upcaster`. */
function isFormer(when: Sql, ahead: string | undefined, dialect: Dialect): Sql {
  if (ahead === undefined) return sql`j."at" < ${when}`
  return sql`j."at" <= ${dialect.literal(quoted(ahead), 'datetime')}`
}

function constant(value: Bound): Sql {
  return typeof value === 'string' ? quoted(value) : { parts: [String(value ?? 'NULL')] }
}
