import { budget } from '../../budget.ts'
import { SKEW_MS } from '../../clock.ts'
import type { TimePart } from '../../declare/cel/expression.ts'
import type { Period } from '../../declare/period.ts'
import type { Bound, Dialect } from '../dialect.ts'
import { id, intLiteral, join, once, type ParamKind, param, quoted, type Sql, sql } from '../sql.ts'
import { localTimeSql } from './local-time.ts'
import { numbersSql } from './numbers.ts'
import { found, queryOf } from './search.ts'

/** Everything is sent as text with an explicit type, so that the driver has nothing to guess. */
const casts: Record<Exclude<ParamKind, 'text'>, string> = {
  integer: 'bigint',
  number: 'double precision',
  decimal: 'numeric',
  boolean: 'boolean',
  date: 'date',
  datetime: 'timestamp(3) with time zone',
  json: 'json',
  reference: 'bigint',
  presence: 'smallint',
  ids: 'bigint[]',
  rows: 'jsonb',
}

export function castOf(kind: ParamKind): string {
  return kind === 'text' ? 'text' : casts[kind]
}

const NOW = sql`date_trunc('milliseconds', now())`

export const dialect: Dialect = {
  numbers: numbersSql,
  placeholder: (position, kind) =>
    kind === 'text' ? `$${position}::text` : `($${position}::text)::${castOf(kind)}`,

  encode(kind) {
    if (kind === 'boolean') return (value) => (value ? 'true' : 'false')
    if (kind === 'json') return (value) => JSON.stringify(value)
    return (value) => value as Bound
  },

  literal: (value, kind) =>
    kind === 'text' ? sql`(${value}::text COLLATE "C")` : sql`(${value})::${{ parts: [castOf(kind)] }}`,

  render(kind, column) {
    if (kind === 'integer' || kind === 'reference' || kind === 'boolean' || kind === 'json')
      return sql`${column}::text`
    if (kind === 'number') return sql`to_json(${column})::text`
    if (kind === 'decimal') return sql`('"' || ${column}::text || '"')`
    if (kind === 'date') return sql`to_char(${column}, '"\\""YYYY-MM-DD"\\""')`
    if (kind === 'datetime')
      return sql`to_char(${column} AT TIME ZONE 'UTC', '"\\""YYYY-MM-DD"T"HH24:MI:SS.MS"Z\\""')`
    return sql`to_json(${column})::text`
  },

  extract(json, path, kind, scale) {
    const at = jsonPath(path)
    const value = sql`(${json}::json #> ${at})`
    if (kind === 'presence') return sql`CASE WHEN json_typeof${value} = 'object' THEN 1 END`
    if (kind === 'json') return sql`CASE WHEN json_typeof${value} <> 'null' THEN ${value} END`
    // Compared by bytes, like the column. Every engine supports that for an expression.
    if (kind === 'text') return sql`((${json}::json #>> ${at}) COLLATE "C")`
    // A field that is now a decimal may have been an integer, or had fewer decimal places.
    if (kind === 'decimal') return sql`round((${json}::json #>> ${at})::numeric, ${intLiteral(scale)})`
    return sql`(${json}::json #>> ${at})::${{ parts: [castOf(kind)] }}`
  },

  isAbsent: (json, path) => sql`(${json}::json #> ${jsonPath(path)}) IS NULL`,

  sum: (value) => sql`sum(${value})::text`,
  sumOrder: (value) => [sql`sum(${value})`],
  average(value, kind, scale) {
    if (kind === 'number') return sql`sum(${value}) / count(${value})`
    // As integers, so that rounding is the same on every database.
    return sql`(sum(${value}) * ${intLiteral(10 ** scale)})::double precision / count(${value})`
  },
  items: (list, alias) => sql`json_array_elements(${list}) AS ${alias}(value)`,
  itemOf: (alias, path, kind, scale) => dialect.extract(sql`${alias}.value`, path, kind, scale),
  bytes: (column, kind) =>
    kind === 'json' ? sql`octet_length(${column}::text)` : sql`octet_length(${column})`,
  lengthOf: (list) => sql`json_array_length(${list})`,
  startsWith: (text, part) => sql`starts_with(${text}, ${part})`,
  endsWith: (text, part) => sql`starts_with(reverse(${text}), reverse(${part}))`,
  contains: (text, part) => sql`strpos(${text}, ${part}) > 0`,
  lower: (text) => sql`lower(${text} COLLATE "C")`,
  shift: (time, ms) => sql`(${time} + ${quoted(`${ms} milliseconds`)}::interval)`,
  day: (time) => sql`(${time} AT TIME ZONE 'UTC')::date`,
  periodStart,
  timePart,

  object: (members) =>
    members.length === 0
      ? sql`'{}'`
      : sql`('{' || ${join(
          members.map(
            ([key, value]) => sql`${quoted(`${JSON.stringify(key)}:`)} || coalesce(${value}, 'null')`,
          ),
          sql` || ',' || `,
        )} || '}')`,
  nested: (json) => json,
  hex: (text) => sql`encode(convert_to(${text}, 'UTF8'), 'hex')`,
  array: (items) =>
    sql`('[' || ${join(
      items.map((item) => sql`coalesce(${item}, 'null')`),
      sql` || ',' || `,
    )} || ']')`,

  /** One statement: one round trip, and a transaction of its own. */
  journalled: (change, _table, _which, journal) => [
    { source: sql`WITH t AS (${change} RETURNING *) ${journal.inOne(sql`t`)}` },
  ],

  withNewest: (rows, table, condition) =>
    sql`${rows} CROSS JOIN LATERAL (SELECT * FROM ${table} k WHERE ${condition(sql`k`)} ORDER BY k."version" DESC LIMIT 1) j`,

  closure(root, arms) {
    if (arms.length === 0) return root
    // OFFSET 0: each reached row looks up its own by the index. A join would read whole tables at every level.
    const further = arms.map(
      ({ from, to, table, column, links, condition }) =>
        sql`(SELECT ${intLiteral(to)} AS "type", c."id" FROM ${
          links === undefined
            ? sql`${id(table)} c WHERE c.${id(column)} = r."id"`
            : sql`${id(links)} l JOIN ${id(table)} c ON c."id" = l."source" WHERE l."target" = r."id"`
        } AND r."type" = ${intLiteral(from)} AND ${condition} OFFSET 0)`,
    )
    return sql`WITH RECURSIVE "takeback_reached"("type", "id") AS (${root} UNION
      SELECT f."type", f."id" FROM "takeback_reached" r CROSS JOIN LATERAL (${join(further, sql` UNION ALL `)}) f)
      SELECT "type", "id" FROM "takeback_reached"`
  },

  // The Store keeps notes as parameters: a temporary table would be written to disk, and not every engine has them.
  forget: [],
  note: (rows) => sql`SELECT n."type", array_agg(n."id")::text FROM (${rows}) n GROUP BY n."type"`,
  noted: (type) => sql`(SELECT unnest(${param(notedAs(type), 'ids')}))`,

  rows: (name, columns) =>
    sql`(SELECT ${join(
      columns.map(
        (column, at) =>
          sql`(r.value ->> ${intLiteral(at)})::${{ parts: [castOf(column.kind)] }} AS ${id(column.name)}`,
      ),
    )} FROM jsonb_array_elements(${param(name, 'rows')}) r)`,
  // Numbers are parsed far faster from an array, whose text is almost JSON.
  listed: (name, kind) =>
    kind === 'integer'
      ? sql`(SELECT unnest(translate(${param(name)}, '[]', '{}')::bigint[]))`
      : sql`(SELECT r.value #>> '{}' FROM jsonb_array_elements(${param(name, 'rows')}) r)`,
  isAmong: (value, query) => sql`${value} = ANY (ARRAY(${query}))`,
  rowByRow: (condition) => condition,
  forEachRow: sql` OFFSET 0`,
  // Parsed once: otherwise the text may be parsed again for every row.
  isListed: (value, name) =>
    sql`${value} = ANY (ARRAY(SELECT unnest(translate(${param(name)}, '[]', '{}')::bigint[])))`,

  // COLLATE "C": a text without one definite collation cannot be matched, and some collations do not support it.
  matches: (text, pattern) =>
    once(
      [text],
      ([value = text]) =>
        sql`CASE WHEN char_length(${value}) <= ${intLiteral(budget.matchedCharacters)} THEN ${value} COLLATE "C" ~ ${pattern} END`,
    ),
  members: (list, member) => ({
    rows: sql`json_array_elements(${list}) WITH ORDINALITY AS m("value", "at")`,
    target: sql`(m."value" #>> ${jsonPath(member === '' ? 'id' : `${member}.id`)})::bigint`,
    place: sql`(m."at" - 1)`,
  }),
  listOf: (rows, order) =>
    sql`(SELECT coalesce('[' || string_agg('{"id":' || r."target"::text || '}', ',' ORDER BY ${order}) || ']', '[]')::json FROM (${rows}) r)`,
  search: { found: (_table, columns, query) => found(columns, query), query: queryOf },

  now: NOW,
  nextTime: (last) =>
    sql`CASE WHEN ${last} > ${NOW} AND ${last} <= ${NOW} + ${quoted(`${SKEW_MS} milliseconds`)}::interval THEN ${last} ELSE ${NOW} END`,
  clock: NOW,
  milliseconds: (time) => sql`floor(extract(epoch FROM ${time}) * 1000)::bigint`,
  fence: sql`(SELECT m."value" FROM "takeback_meta" m WHERE m."key" = 'since')::bigint <= ${param('$generation')}`,
  lock: {
    toChange: sql` FOR UPDATE`,
    toStay: sql` FOR SHARE`,
    toExist: sql` FOR KEY SHARE`,
    toChangeIfFree: sql` FOR UPDATE SKIP LOCKED`,
    toStayIfFree: sql` FOR SHARE SKIP LOCKED`,
    // Waiters are served in order, so those that share a key do not starve the others.
    keys: (rows) =>
      sql`SELECT count(CASE WHEN k."shared" THEN pg_advisory_xact_lock_shared(k."key") ELSE pg_advisory_xact_lock(k."key") END) FROM ${rows} k`,
  },
}

function periodStart(value: Sql, { unit, of, zone = 'UTC' }: Period): Sql {
  if (of === 'date') return sql`date_trunc(${quoted(unit)}, ${value}::timestamp)::date`
  return once([value], ([time = value]) => {
    const local = localTimeSql(time, zone)
    const start = sql`date_trunc(${quoted(unit)}, ${local})`
    // An hour is the time at which it began: when clocks are set back, two hours have the same local time.
    const made = unit === 'hour' ? sql`${time} - (${local} - ${start})` : sql`${start}::date`
    if (zone === 'UTC') return made
    return sql`CASE WHEN ${time} >= '0001-01-02 00:00:00Z' AND ${time} < '9999-12-31 00:00:00Z' THEN ${made} END`
  })
}

function timePart(value: Sql, part: TimePart, zone: string | undefined): Sql {
  const field: Sql = { parts: [part === 'weekday' ? 'isodow' : part] }
  if (zone === undefined) return sql`extract(${field} FROM ${value})::bigint`
  return once([value], ([time = value]) => {
    const local = localTimeSql(time, zone)
    const made = part === 'date' ? sql`${local}::date` : sql`extract(${field} FROM ${local})::bigint`
    const [first, last] =
      zone === 'UTC'
        ? [sql`'0001-01-01 00:00:00Z'`, sql`'9999-12-31 23:59:59.999Z'`]
        : [sql`'0001-01-02 00:00:00Z'`, sql`'9999-12-30 23:59:59.999Z'`]
    return sql`CASE WHEN ${time} BETWEEN ${first} AND ${last} THEN ${made} END`
  })
}

/** A dot path for PostgreSQL's JSON operators. */
export function jsonPath(path: string): Sql {
  if (path === '') return quoted('{}')
  return quoted(
    `{${path
      .split('.')
      .map((name) => `"${name}"`)
      .join(',')}}`,
  )
}

/** The parameter under which the noted ids of a type are bound. */
export function notedAs(type: unknown): string {
  return `$noted ${type}`
}
