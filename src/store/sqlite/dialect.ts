import type { TimePart } from '../../declare/cel/expression.ts'
import { parseDecimal } from '../../declare/fields/number.ts'
import type { Period } from '../../declare/period.ts'
import type { Bound, Dialect } from '../dialect.ts'
import { searchName } from '../migration/structure.ts'
import { id, intLiteral, join, once, param, quoted, type Sql, sql } from '../sql.ts'
import { numbersSql } from './numbers.ts'
import { found, queryOf } from './search.ts'

/** The parameter with the time at which a statement runs. */
export const CLOCK = '$clock'
const EXTENT = sql`temp."takeback_extent"`

export const dialect: Dialect = {
  numbers: numbersSql,
  placeholder: (position) => `?${position}`,

  encode(kind, scale) {
    if (kind === 'boolean') return (value) => (value ? 1 : 0)
    if (kind === 'json') return (value) => JSON.stringify(value)
    // SQLite has no exact decimals. A scaled integer stores, sorts and adds them exactly.
    if (kind === 'decimal') return (value) => parseDecimal(value, scale) ?? null
    return (value) => value as Bound
  },

  literal: (value) => value,

  render(kind, column, scale) {
    if (kind === 'boolean') return sql`CASE ${column} WHEN 1 THEN json('true') WHEN 0 THEN json('false') END`
    if (kind === 'json') return sql`json(${column})`
    if (kind === 'number') return once([column], ([value = column]) => renderNumber(value))
    if (kind === 'decimal') return once([column], ([value = column]) => renderDecimal(value, scale))
    return column
  },

  extract(json, path, kind, scale) {
    const at = jsonPath(path)
    const value = sql`json_extract(${json}, ${at})`
    if (kind === 'presence') return sql`CASE json_type(${json}, ${at}) WHEN 'object' THEN 1 END`
    if (kind === 'json') return sql`CASE WHEN json_type(${json}, ${at}) <> 'null' THEN ${json} -> ${at} END`
    // A field that is now a text may have been a number.
    if (kind === 'text') return sql`CAST(${value} AS TEXT)`
    return kind === 'decimal' ? scaled(value, scale) : value
  },

  isAbsent: (json, path) => sql`json_type(${json}, ${jsonPath(path)}) IS NULL`,

  // Integers are added up in two halves, since the sum could exceed 64 bits.
  sum: (value, kind) =>
    kind === 'number' ? sql`sum(${value})` : sql`sum(${value} >> 26) || ' ' || sum(${value} & 67108863)`,
  sumOrder: (value, kind) =>
    kind === 'number'
      ? [sql`sum(${value})`]
      : [
          sql`sum(${value} >> 26) + (sum(${value} & 67108863) >> 26)`,
          sql`sum(${value} & 67108863) & 67108863`,
        ],
  average: (value, kind) =>
    kind === 'number'
      ? sql`sum(${value}) / count(${value})`
      : sql`(sum(${value} >> 26) * 67108864.0 + sum(${value} & 67108863)) / count(${value})`,
  items: (list, alias) => sql`json_each(${list}) ${alias}`,
  itemOf(alias, path, kind, scale) {
    if (path !== '') return dialect.extract(sql`${alias}.value`, path, kind, scale)
    return kind === 'decimal' ? scaled(sql`${alias}.value`, scale) : sql`${alias}.value`
  },
  bytes: (column) => sql`octet_length(${column})`,
  lengthOf: (list) => sql`json_array_length(${list})`,
  startsWith: (text, part) =>
    once(
      [text, part],
      ([whole = text, wanted = part]) => sql`substr(${whole}, 1, length(${wanted})) = ${wanted}`,
    ),
  endsWith: (text, part) =>
    once(
      [text, part],
      ([whole = text, wanted = part]) =>
        sql`(length(${whole}) >= length(${wanted}) AND substr(${whole}, length(${whole}) - length(${wanted}) + 1) = ${wanted})`,
    ),
  contains: (text, part) => sql`instr(${text}, ${part}) > 0`,
  lower: (text) => sql`lower(${text})`,
  shift: (time, ms) => once([time], ([at = time]) => shifted(at, ms)),
  day: (time) => sql`substr(${time}, 1, 10)`,
  periodStart,
  timePart,

  object: (members) => sql`json_object(${join(members.flatMap(([key, value]) => [quoted(key), value]))})`,
  nested: (json) => sql`json(${json})`,
  hex: (text) => sql`lower(hex(${text}))`,
  array: (items) => sql`json_array(${join(items)})`,

  journalled(change, table, which, journal) {
    const changed = which === 'last' ? sql`t."id" = last_insert_rowid()` : which
    // Two plain statements take two thirds of the time of one that reads, writes and returns.
    const read = journal.read(sql`${id(table)} t WHERE ${changed}`)
    return [{ source: change }, { source: read, keeps: journal.kept }, { source: journal.write }]
  },

  withNewest: (rows, table, condition) =>
    sql`${rows} CROSS JOIN ${table} j ON ${condition(sql`j`)}
      AND j."version" = (SELECT k."version" FROM ${table} k WHERE ${condition(sql`k`)} ORDER BY k."version" DESC LIMIT 1)`,

  closure(root, arms) {
    if (arms.length === 0) return root
    const further = arms.map(
      ({ from, to, table, column, links, condition }) =>
        sql`SELECT ${intLiteral(to)}, c."id" FROM "takeback_reached" r CROSS JOIN ${
          links === undefined
            ? sql`${id(table)} c ON c.${id(column)} = r."id"`
            : sql`${id(links)} l ON l."target" = r."id" CROSS JOIN ${id(table)} c ON c."id" = l."source"`
        }
          WHERE r."type" = ${intLiteral(from)} AND ${condition}`,
    )
    return sql`WITH RECURSIVE "takeback_reached"("type", "id") AS (${join([root, ...further], sql` UNION `)}) SELECT "type", "id" FROM "takeback_reached"`
  },

  forget: [sql`DELETE FROM ${EXTENT}`],
  note: (rows) => sql`INSERT INTO ${EXTENT} ("type", "id") ${rows}`,
  noted: (type) => sql`(SELECT x."id" FROM ${EXTENT} x WHERE x."type" = ${intLiteral(type)})`,
  rows: (name, columns) =>
    sql`(SELECT ${join(
      columns.map((column, at) => sql`json_extract(r.value, ${quoted(`$[${at}]`)}) AS ${id(column.name)}`),
    )} FROM json_each(${param(name, 'rows')}) r)`,
  listed: (name) => sql`(SELECT r.value FROM json_each(${param(name, 'rows')}) r)`,
  isAmong: (value, query) => sql`${value} IN (${query})`,
  // Without statistics, the planner prefers an index in the order of the sort to one that leads to far fewer rows.
  rowByRow: (condition) => sql`+(${condition})`,
  forEachRow: sql``,
  isListed: (value, name) => sql`${value} IN (SELECT r.value FROM json_each(${param(name, 'rows')}) r)`,
  matches: (text, pattern) => sql`takeback_matches(${text}, ${pattern})`,
  members: (list, member) => ({
    rows: sql`json_each(${list}) m`,
    target: sql`json_extract(m.value, ${jsonPath(member === '' ? 'id' : `${member}.id`)})`,
    place: sql`m.key`,
  }),
  listOf: (rows, order) =>
    sql`(SELECT json_group_array(json_object('id', r."target") ORDER BY ${order}) FROM (${rows}) r)`,
  search: {
    found: (table, columns, query) => found(searchName(table, columns), query),
    query: queryOf,
  },
  // The Store sets it for a whole group of transactions, and keeps it from going back by small steps.
  now: param('$at'),
  nextTime: () => param('$at'),
  clock: param(CLOCK, 'datetime'),
  milliseconds: (time) => sql`CAST(round(unixepoch(${time}, 'subsec') * 1000) AS INTEGER)`,
  fence: undefined,
  lock: undefined,
}

const YEAR_0 = Date.parse('0000-01-01T00:00:00Z')
const YEAR_10000 = Date.UTC(10_000, 0, 1)
/** 400 years. */
const ERA = 146_097 * 86_400_000

/**
 * A time moved by milliseconds. Times are texts, which sort only in the years 0000 to 9999. Beyond them, a mark makes a
 * time sort before or after all others. It is then written 400 years nearer: after 400 years the calendar repeats.
 */
function shifted(time: Sql, ms: number): Sql {
  if (ms < 0) {
    const first = quoted(new Date(YEAR_0 - ms).toISOString())
    return sql`CASE WHEN ${time} < ${first} THEN '!' || ${moved(time, ms + ERA)} ELSE ${moved(time, ms)} END`
  }
  const last = quoted(new Date(YEAR_10000 - 1 - ms).toISOString())
  return sql`CASE WHEN ${time} > ${last} THEN '~' || ${moved(time, ms - ERA)} ELSE ${moved(time, ms)} END`
}

function moved(time: Sql, ms: number): Sql {
  const seconds = `${ms < 0 ? '-' : '+'}${(Math.abs(ms) / 1000).toFixed(3)} seconds`
  return sql`strftime('%Y-%m-%dT%H:%M:%fZ', ${time}, ${quoted(seconds)})`
}

function periodStart(value: Sql, { unit, zone }: Period): Sql {
  if (zone === undefined || zone === 'UTC') return startOf(value, unit, value)
  const local = sql`takeback_local_time(${value}, ${quoted(zone)})`
  return once([value, local], ([time = value, there = local]) => startOf(there, unit, time))
}

/** The place of each part in the text of a time. */
const places = {
  year: [1, 4],
  month: [6, 2],
  day: [9, 2],
  hour: [12, 2],
  minute: [15, 2],
  date: [1, 10],
} as const

function timePart(value: Sql, part: TimePart, zone: string | undefined): Sql {
  const local =
    zone === undefined
      ? value
      : zone === 'UTC'
        ? once([value], ([time = value]) => withinYears(time))
        : sql`takeback_local_time(${value}, ${quoted(zone)})`
  if (part === 'weekday') return sql`CAST(strftime('%u', ${local}) AS INTEGER)`
  const [start, length] = places[part]
  const text = sql`substr(${local}, ${intLiteral(start)}, ${intLiteral(length)})`
  return part === 'date' ? text : sql`CAST(${text} AS INTEGER)`
}

/** The time, or null if it was moved beyond the limits and so has a mark. */
function withinYears(time: Sql): Sql {
  return sql`CASE WHEN ${time} BETWEEN '0001' AND '9999-12-31T23:59:59.999Z' THEN ${time} END`
}

/** The start of a period. `local`: a date, or a time as its zone's clocks show it. An hour starts at an instant. */
function startOf(local: Sql, unit: Period['unit'], time: Sql): Sql {
  switch (unit) {
    case 'hour':
      return sql`strftime('%Y-%m-%dT%H:%M:%fZ', ${time}, '-' || substr(${local}, 15, 2) || ' minutes', '-' || substr(${local}, 18, 6) || ' seconds')`
    case 'day':
      return sql`substr(${local}, 1, 10)`
    case 'week':
      return sql`date(substr(${local}, 1, 10), '-6 days', 'weekday 1')`
    case 'month':
      return sql`substr(${local}, 1, 7) || '-01'`
    case 'year':
      return sql`substr(${local}, 1, 4) || '-01-01'`
  }
}

/** A decimal from a text. An old one may have fewer decimal places, or none. */
function scaled(text: Sql, scale: number): Sql {
  const digits = sql`CASE instr(${text}, '.') WHEN 0 THEN 0 ELSE length(${text}) - instr(${text}, '.') END`
  return sql`CAST(replace(${text}, '.', '') || substr(${quoted('0'.repeat(scale))}, 1, ${intLiteral(scale)} - (${digits})) AS INTEGER)`
}

/** A dot path for SQLite's JSON functions. */
export function jsonPath(path: string): Sql {
  return quoted(
    `$${path
      .split('.')
      .map((name) => `."${name}"`)
      .join('')}`,
  )
}

/** A number in JSON; without a decimal point if it is an integer. */
function renderNumber(column: Sql): Sql {
  return sql`CASE WHEN ${column} = CAST(${column} AS INTEGER) AND abs(${column}) < 9007199254740992 THEN CAST(${column} AS INTEGER) ELSE ${column} END`
}

export function renderDecimal(column: Sql, scale: number): Sql {
  if (scale === 0) return sql`CAST(${column} AS TEXT)`
  const one = intLiteral(10 ** scale)
  return sql`CASE WHEN ${column} < 0 THEN '-' ELSE '' END || (abs(${column}) / ${one}) || '.' || substr(${quoted('0'.repeat(scale))} || (abs(${column}) % ${one}), ${intLiteral(-scale)})`
}
