import { and, id, intLiteral, join, param, type Sql, sql } from '../../store/sql.ts'
import { boundedPage, bytesOf, cutPage, type PageParts, wholePage } from '../tables/bytes.ts'
import { UNMEASURED_ENTITIES } from './expansion-budget.ts'
import type { KeysetKey } from './keyset.ts'
import { isById, type ListParts } from './list-parts.ts'
import { isOfToday, type ListQuery, type PageQuery, type ReadQuery, type Selection } from './list-query.ts'
import { type Figures, type GroupOrder, selectSummary } from './summary.ts'

/** Rows of (JSON, sort values) of a page. `cuts`: from a large page, only as much JSON as fits into an answer. */
export function selectPage(list: ListParts, query: ListQuery, cuts = false): Sql {
  const keys = list.sortKeys(query)
  const order = list.order(keys)
  const limit = intLiteral(query.limit + 1)
  const table = list.table(query.at)
  const inPlace = sql`FROM ${table} t WHERE ${and(list.pageConditions(query, keys))} ORDER BY ${order} LIMIT ${limit}`
  const trashed = query.trashed !== 'without' && query.at === undefined
  const shown = list.json(query, { rows: query.limit, at: query.at, trashed })
  const place = isById(query) ? sql`t."id"` : list.place(keys)
  const sides = isOfToday(query) ? list.access.sides({ ...list.rowSource(query.at), live: true }) : []
  const ids = sides.length > 0 ? idsOfSides(list, query, keys, sides) : idsOf(list, query, keys)
  if (query.limit > UNMEASURED_ENTITIES)
    return selectLarge(list, query, { table, ids, inPlace, order, limit, shown, place }, cuts)
  // Most lists: the table or an index has the live rows in order.
  if (sides.length === 0 && isInOrder(list, query)) return sql`SELECT ${shown}, ${place} ${inPlace}`
  // Otherwise the page is picked first, so that JSON is made only for it and not for all sorted rows.
  return sql`SELECT ${shown}, ${place} FROM ${table} t WHERE t."id" IN (${ids}) ORDER BY ${order} LIMIT ${limit}`
}

/** Whether the rows are already in the order of the sort. */
function isInOrder(list: ListParts, query: ListQuery): boolean {
  return (isById(query) && query.trashed !== 'only') || list.hasIndex(query)
}

/** Whether a page reads no more rows than it has: all live rows, in the order of an index. */
export function isBounded(list: ListParts, query: ListQuery): boolean {
  return list.hasAllLive(query) && (isById(query) || list.hasIndex(query))
}

function idsOf(list: ListParts, query: ListQuery, keys: readonly KeysetKey[]): Sql {
  const order = list.order(keys)
  // The `+` keeps the planner from scanning the whole table in id order instead of using the index of deleted rows.
  const picked = isById(query) && !isInOrder(list, query) ? sql`+${order}` : order
  return sql`SELECT t."id" FROM ${list.table(query.at)} t WHERE ${and(list.pageConditions(query, keys))} ORDER BY ${picked} LIMIT ${intLiteral(query.limit + 1)}`
}

/** A page for each operand of the `||`, since each may have its own index: databases do not merge two in order. */
function idsOfSides(
  list: ListParts,
  query: ListQuery,
  keys: readonly KeysetKey[],
  sides: readonly Sql[],
): Sql {
  const order = list.order(keys)
  const pages = sides.map((side, at) => {
    const condition = and(list.pageConditions(query, keys, side))
    return sql`SELECT s${intLiteral(at)}."id" FROM (SELECT t."id" FROM ${list.table(query.at)} t WHERE ${condition} ORDER BY ${order} LIMIT ${intLiteral(query.limit + 1)}) s${intLiteral(at)}`
  })
  return join(pages, sql` UNION ALL `)
}

/** A page that may be too large for an answer: its bytes are added up before its JSON is made. */
function selectLarge(
  list: ListParts,
  query: ListQuery,
  unweighed: Omit<PageParts, 'bytes'>,
  cuts: boolean,
): Sql {
  const page = { ...unweighed, bytes: bytesOf(list.fields, list.dialect, list.rowSource(undefined).self) }
  if (cuts) return cutPage(page)
  return isBounded(list, query) && query.expand === undefined ? boundedPage(page) : wholePage(page)
}

/**
 * Rows of id, version, and whether the viewer may change it, ordered by id, one more than the limit. `may`: undefined
 * if they always may.
 */
export function selectMatching(list: ListParts, query: Selection, may: Sql | undefined, limit: number): Sql {
  const flag = may === undefined ? sql`1` : sql`CASE WHEN ${may} THEN 1 ELSE 0 END`
  return sql`SELECT t."id", t."version", ${flag} FROM ${list.table(undefined)} t
    WHERE ${and(list.where(query))} ORDER BY t."id" LIMIT ${intLiteral(limit + 1)}`
}

/** The number of selected Entities. */
export function selectTotal(list: ListParts, query: Selection): Sql {
  const counted = (condition: Sql) => sql`SELECT count(*) FROM ${list.table(query.at)} t WHERE ${condition}`
  if (!list.hasAllLive(query)) return counted(and(list.where(query)))
  // All rows minus the deleted ones, which have an index: faster than reading every row.
  return sql`SELECT (SELECT count(*) FROM ${id(list.type.name)}) - (${counted(sql`t."deletion" IS NOT NULL`)})`
}

/** Rows of one group each, for `summaryOf`. */
export function selectGroups(list: ListParts, query: PageQuery, figures: Figures, order: GroupOrder): Sql {
  const rows = {
    from: sql`${list.table(query.at)} t`,
    where: and(list.pageConditions(query, list.sortKeys(query))),
    limit: query.limit,
    order,
    value: (by: Figures['group'][number]) => list.value(by, query.at),
  }
  return selectSummary(figures, rows, list.dialect)
}

/** One Entity by `$id`, live: id, version, JSON. */
export function selectOne(list: ListParts, query: ReadQuery, at?: string): Sql {
  const guards = list.readRules(at).map((rule) => sql` AND ${rule}`)
  return sql`SELECT t."id", t."version", ${list.json(query, { rows: 1, at })} FROM ${list.table(at)} t
      WHERE t."id" = ${param('$id')} AND t."deleted_at" IS NULL${join(guards, sql``)}`
}
