import { budget } from '../../budget.ts'
import { columnOf, type Field, walk } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { intLiteral, join, type Sql, sql } from '../../store/sql.ts'

/** The bytes of what every Entity has: id, version and three times. */
const OWN = 150
/** The bytes of a number, date or boolean, with punctuation. */
const SMALL = 24

/**
 * An estimate of the bytes of a row's JSON, without making it. Only the lengths of texts and JSON are read; escapes are
 * not counted. `chosen`: only these dot paths are shown.
 */
export function bytesOf(
  fields: readonly Field[],
  dialect: Dialect,
  row: (column: string) => Sql,
  chosen?: ReadonlySet<string>,
): Sql {
  let fixed = OWN
  const long: Sql[] = []
  for (const field of walk(fields)) {
    if (chosen !== undefined && !isChosen(field.path, chosen)) continue
    fixed += field.name.length + SMALL
    const kind = field.kind === 'links' ? 'json' : field.kind === 'value' && !field.secret ? field.column : ''
    if (kind === 'text' || kind === 'json')
      long.push(sql`coalesce(${dialect.bytes(row(columnOf(field)), kind)}, 0)`)
  }
  return sql`(${join([intLiteral(fixed), ...long], sql` + `)})`
}

/** Whether a path or an object around it is chosen. */
function isChosen(path: string, chosen: ReadonlySet<string>): boolean {
  const names = path.split('.')
  return names.some((_, at) => chosen.has(names.slice(0, at + 1).join('.')))
}

/**
 * The first rows of (`key`, `bytes`) that together fit into an answer, at least one: `key`, and `picked`, the number of
 * all rows. If that is larger than the number of returned rows, there are more.
 */
export function fittingRows(rows: Sql, order: Sql): Sql {
  const sums = sql`SELECT p."key", sum(p."bytes") OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "before",
    count(*) OVER () AS "picked" FROM (${rows}) p`
  return sql`SELECT w."key", w."picked" FROM (${sums}) w WHERE coalesce(w."before", 0) < ${intLiteral(budget.pageBytes)}`
}

/** The parts of a page's SQL. Its rows are called `t`. */
export interface PageParts {
  readonly table: Sql
  /** A query for the ids of its rows. A union may give more. */
  readonly ids: Sql
  /** The same rows, from `FROM` on. */
  readonly inPlace: Sql
  readonly limit: Sql
  readonly order: Sql
  readonly bytes: Sql
  readonly shown: Sql
  readonly place: Sql
}

/** The same as `wholePage`, for a page that an index finds so fast that it can be read twice. */
export function boundedPage({ inPlace, bytes, shown, place }: PageParts): Sql {
  const total = sql`(SELECT sum(p."bytes") FROM (SELECT ${bytes} AS "bytes" ${inPlace}) p)`
  return sql`SELECT CASE WHEN ${total} <= ${intLiteral(budget.pageBytes)} THEN ${shown} END, ${place} ${inPlace}`
}

/** Rows of (JSON, place) of a large page. All JSON is null if the page does not fit into an answer. */
export function wholePage({ table, ids, order, limit, bytes, shown, place }: PageParts): Sql {
  const picked = sql`(SELECT p."id" FROM "~page" p)`
  const total = sql`(SELECT sum(${bytes}) FROM ${table} t WHERE t."id" IN ${picked})`
  return sql`WITH "~page" AS (${ids}) SELECT CASE WHEN ${total} <= ${intLiteral(budget.pageBytes)} THEN ${shown} END, ${place}
    FROM ${table} t WHERE t."id" IN ${picked} ORDER BY ${order} LIMIT ${limit}`
}

/** A large page with as much JSON as fits, then null. The first row always has JSON, so that paging makes progress. */
export function cutPage({ table, ids, order, limit, bytes, shown, place }: PageParts): Sql {
  const sums = sql`SELECT t."id", sum(${bytes}) OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "before"
    FROM ${table} t WHERE t."id" IN (${ids})`
  return sql`SELECT CASE WHEN coalesce(w."before", 0) < ${intLiteral(budget.pageBytes)} THEN ${shown} END, ${place}
    FROM (${sums}) w JOIN ${table} t ON t."id" = w."id" ORDER BY ${order} LIMIT ${limit}`
}
