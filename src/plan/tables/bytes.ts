import { budget } from '../../budget.ts'
import { columnOf, type Field, walk } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { count, join, type Sql, sql } from '../../store/sql.ts'

/** What an Entity has besides its fields: id, version and three times. */
const OWN = 150
/** A number, a date, a truth, with what stands around it. */
const SMALL = 24

/**
 * About how many bytes the JSON of a row has, told before it is made. Only texts and JSON are looked at, and of these
 * only how long they are; what is escaped in them is not counted.
 */
export function bytesOf(fields: readonly Field[], dialect: Dialect, row: (column: string) => Sql): Sql {
  let fixed = OWN
  const long: Sql[] = []
  for (const field of walk(fields)) {
    fixed += field.name.length + SMALL
    const kind = field.kind === 'links' ? 'json' : field.kind === 'value' && !field.secret ? field.column : ''
    if (kind === 'text' || kind === 'json')
      long.push(sql`coalesce(${dialect.bytes(row(columnOf(field)), kind)}, 0)`)
  }
  return sql`(${join([count(fixed), ...long], sql` + `)})`
}

/**
 * Of rows of a key and `bytes`, those whose sum fits into an answer, the first one always: `key`, and `picked`, how many
 * there were. Where that is more than come back, there is more to be told.
 */
export function fittingRows(rows: Sql, order: Sql): Sql {
  const sums = sql`SELECT p."key", sum(p."bytes") OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "before",
    count(*) OVER () AS "picked" FROM (${rows}) p`
  return sql`SELECT w."key", w."picked" FROM (${sums}) w WHERE coalesce(w."before", 0) < ${count(budget.pageBytes)}`
}

/** A page, and what it is made of: rows called `t`. */
export interface PageParts {
  readonly table: Sql
  /** A query of the ids of its rows, and of a few more where it has several parts. */
  readonly ids: Sql
  /** The same rows, from `FROM` on, for what is found where it stands. */
  readonly inPlace: Sql
  readonly limit: Sql
  readonly order: Sql
  readonly bytes: Sql
  readonly shown: Sql
  readonly place: Sql
}

/** Rows of (JSON, place) of a large page that is quickly found twice; otherwise as `wholePage`. */
export function boundedPage({ inPlace, bytes, shown, place }: PageParts): Sql {
  const total = sql`(SELECT sum(p."bytes") FROM (SELECT ${bytes} AS "bytes" ${inPlace}) p)`
  return sql`SELECT CASE WHEN ${total} <= ${count(budget.pageBytes)} THEN ${shown} END, ${place} ${inPlace}`
}

/** Rows of (JSON, place) of a large page. There is no JSON at all where all of it together would not fit. */
export function wholePage({ table, ids, order, limit, bytes, shown, place }: PageParts): Sql {
  const picked = sql`(SELECT p."id" FROM "~page" p)`
  const total = sql`(SELECT sum(${bytes}) FROM ${table} t WHERE t."id" IN ${picked})`
  return sql`WITH "~page" AS (${ids}) SELECT CASE WHEN ${total} <= ${count(budget.pageBytes)} THEN ${shown} END, ${place}
    FROM ${table} t WHERE t."id" IN ${picked} ORDER BY ${order} LIMIT ${limit}`
}

/** The same with JSON as far as it fits: behind that there is none. The first row always has it, so that pages go on. */
export function cutPage({ table, ids, order, limit, bytes, shown, place }: PageParts): Sql {
  const sums = sql`SELECT t."id", sum(${bytes}) OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "before"
    FROM ${table} t WHERE t."id" IN (${ids})`
  return sql`SELECT CASE WHEN coalesce(w."before", 0) < ${count(budget.pageBytes)} THEN ${shown} END, ${place}
    FROM (${sums}) w JOIN ${table} t ON t."id" = w."id" ORDER BY ${order} LIMIT ${limit}`
}
