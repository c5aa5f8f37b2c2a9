import { type Sql, sql } from '../../store/sql.ts'

/**
 * Where all that counts is whether it is true, the first item that decides is enough. Otherwise there are three values:
 * an item of which it is not known decides nothing, but leaves it unknown where no other decides. The condition is
 * written once, so that quantifiers within each other stay as short as they are.
 */
export function eachOf(op: 'exists' | 'all', items: Sql, met: Sql, holds: boolean): Sql {
  if (holds)
    return op === 'exists'
      ? sql`EXISTS (SELECT 1 FROM ${items} WHERE ${met})`
      : sql`NOT EXISTS (SELECT 1 FROM ${items} WHERE (${met}) IS NOT TRUE)`
  // In a query of its own: an aggregate over nothing but names from outside would be one of the query outside.
  // A `NULL` by itself has no type: with the `OR` it is a truth to be compared.
  const ranks = sql`(SELECT CASE (${met} OR 1 = 0) WHEN TRUE THEN 2 WHEN FALSE THEN 0 ELSE 1 END AS rank FROM ${items}) e`
  return op === 'exists'
    ? sql`CASE (SELECT max(e.rank) FROM ${ranks}) WHEN 2 THEN TRUE WHEN 1 THEN NULL ELSE FALSE END`
    : sql`CASE (SELECT min(e.rank) FROM ${ranks}) WHEN 0 THEN FALSE WHEN 1 THEN NULL ELSE TRUE END`
}
