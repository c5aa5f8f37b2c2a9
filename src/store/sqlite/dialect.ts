import { parseDecimal } from '../../declare/fields/number.ts'
import type { Bound, Dialect } from '../dialect.ts'
import { count, id, join, param, type Sql, sql, word } from '../sql.ts'

const EXTENT = sql`temp."takeback_extent"`

export const dialect: Dialect = {
  placeholder: (position) => `?${position}`,

  encode(kind, scale) {
    if (kind === 'boolean') return (value) => (value ? 1 : 0)
    if (kind === 'json') return (value) => JSON.stringify(value)
    // SQLite has no exact decimals: a scaled integer keeps, sorts and adds them up exactly.
    if (kind === 'decimal') return (value) => parseDecimal(value, scale) ?? null
    return (value) => value as Bound
  },

  render(kind, column, scale) {
    if (kind === 'boolean') return sql`CASE ${column} WHEN 1 THEN json('true') WHEN 0 THEN json('false') END`
    if (kind === 'json') return sql`json(${column})`
    if (kind === 'number')
      return sql`CASE WHEN ${column} = CAST(${column} AS INTEGER) AND abs(${column}) < 9007199254740992 THEN CAST(${column} AS INTEGER) ELSE ${column} END`
    if (kind === 'decimal') return renderDecimal(column, scale)
    return column
  },

  object: (members) => sql`json_object(${join(members.flatMap(([key, value]) => [word(key), value]))})`,
  array: (items) => sql`json_array(${join(items)})`,

  journalled(change, table, which, journal) {
    const changed = which === 'last' ? sql`t."id" = last_insert_rowid()` : which
    return [change, journal(sql`${id(table)} t WHERE ${changed}`)]
  },

  closure(root, arms) {
    if (arms.length === 0) return root
    const further = arms.map(
      ({ from, to, table, column, condition }) =>
        sql`SELECT ${count(to)}, c."id" FROM "takeback_reached" r CROSS JOIN ${id(table)} c ON c.${id(column)} = r."id"
          WHERE r."type" = ${count(from)} AND ${condition}`,
    )
    return sql`WITH RECURSIVE "takeback_reached"("type", "id") AS (${join([root, ...further], sql` UNION `)}) SELECT "type", "id" FROM "takeback_reached"`
  },

  forget: [sql`DELETE FROM ${EXTENT}`],
  note: (rows) => sql`INSERT INTO ${EXTENT} ("type", "id") ${rows}`,
  noted: (type) => sql`(SELECT x."id" FROM ${EXTENT} x WHERE x."type" = ${count(type)})`,
  // The Store sets it for a whole group of transactions, and keeps it from going back.
  now: param('$at'),
  later: () => param('$at'),
  lock: undefined,
}

export function renderDecimal(column: Sql, scale: number): Sql {
  if (scale === 0) return sql`CAST(${column} AS TEXT)`
  const one = count(10 ** scale)
  return sql`CASE WHEN ${column} < 0 THEN '-' ELSE '' END || (abs(${column}) / ${one}) || '.' || substr(${word('0'.repeat(scale))} || (abs(${column}) % ${one}), ${count(-scale)})`
}
