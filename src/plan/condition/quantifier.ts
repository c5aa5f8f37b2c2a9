import type { Expression, ListPlace } from '../../declare/cel/expression.ts'
import { type Sql, sql } from '../../store/sql.ts'

/** The items of a list as rows. `where` filters them, `last` ends a query over them. */
export interface ItemRows {
  readonly rows: Sql
  readonly where?: Sql
  readonly last?: Sql
}

/**
 * Writes a quantifier. If only truth counts, the first item that decides is enough. Otherwise the result has three
 * values: an item with an unknown condition decides nothing, but makes the result unknown if no other item decides. The
 * condition is written only once, so that nested quantifiers do not grow exponentially.
 */
export function eachOf(
  op: 'exists' | 'all',
  { rows, where, last = sql`` }: ItemRows,
  met: Sql,
  holds: boolean,
): Sql {
  const first = where === undefined ? sql`` : sql`${where} AND `
  if (holds)
    return op === 'exists'
      ? sql`EXISTS (SELECT 1 FROM ${rows} WHERE ${first}${met}${last})`
      : sql`NOT EXISTS (SELECT 1 FROM ${rows} WHERE ${first}(${met}) IS NOT TRUE${last})`
  // In a subquery of its own: an aggregate over outer columns only would belong to the outer query.
  // A bare `NULL` has no type. The `OR` makes it a boolean.
  const ranks = sql`(SELECT CASE (${met} OR 1 = 0) WHEN TRUE THEN 2 WHEN FALSE THEN 0 ELSE 1 END AS rank FROM ${rows}${where === undefined ? sql`` : sql` WHERE ${where}`}) e`
  return op === 'exists'
    ? sql`CASE (SELECT max(e.rank) FROM ${ranks}) WHEN 2 THEN TRUE WHEN 1 THEN NULL ELSE FALSE END`
    : sql`CASE (SELECT min(e.rank) FROM ${ranks}) WHEN 0 THEN FALSE WHEN 1 THEN NULL ELSE TRUE END`
}

/** The alias of the rows with the items of a depth. */
export function itemAlias(depth: number): Sql {
  return { parts: [`i${depth}`] }
}

/** The id of the Entity that has a list. */
export function ownerIdOf({ place }: ListPlace): Expression {
  return { op: 'value', kind: 'reference', scale: 0, place: { ...place, column: 'id' } }
}

/** Item depths of `in` begin here: larger than any depth of `exists` and `all`. */
export const MEMBERS = 1000
/** The column of a link table with the id of a member. */
export const TARGET = 'target'

/** The list whose items have a depth. `row`: the alias of a referrer. */
export interface OpenList {
  readonly list: ListPlace
  readonly row?: Sql
}
