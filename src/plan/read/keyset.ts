import type { Bound } from '../../store/dialect.ts'
import { and, join, param, type Sql, sql } from '../../store/sql.ts'
import type { SortKey } from '../condition/query.ts'

/** A sort key with its SQL. */
export type KeysetKey = SortKey & { readonly sql: Sql; readonly mayBeEmpty: boolean }

/** That a row comes after the given sort values: greater in the first, or equal there and greater in the next, and so on. */
export function isAfter(keys: readonly KeysetKey[], after: readonly Bound[]): Sql {
  const bound = (at: number) => param(`>${at}`, keys[at]?.by.kind)
  const [first] = keys
  // One row comparison, if that means the same: databases can use it to start in an index.
  if (keys.every(({ mayBeEmpty, descending }) => !mayBeEmpty && descending === first?.descending)) {
    const beyond = first?.descending ? sql`<` : sql`>`
    return sql`(${join(keys.map((key) => key.sql))}) ${beyond} (${join(keys.map((_, at) => bound(at)))})`
  }
  const same = (key: KeysetKey, at: number) =>
    after[at] === null ? sql`${key.sql} IS NULL` : sql`${key.sql} = ${bound(at)}`
  const ways = keys.flatMap(({ descending, sql: value }, at) => {
    const beyond = isBeyond(value, descending, after[at] ?? null, bound(at))
    return beyond === undefined ? [] : [and([...keys.slice(0, at).map(same), beyond])]
  })
  if (ways.length === 0) return sql`1 = 0`
  const anyWay = sql`(${join(
    ways.map((way) => sql`(${way})`),
    sql` OR `,
  )})`
  // Repeats the condition on the first key alone, so that databases can start in an index. Not if `null` comes after
  // it: that would be a second place to start.
  if (first === undefined || keys.length === 1 || after[0] === null) return anyWay
  if (!first.descending) return sql`${first.sql} >= ${bound(0)} AND ${anyWay}`
  return first.mayBeEmpty ? anyWay : sql`${first.sql} <= ${bound(0)} AND ${anyWay}`
}

function isBeyond(column: Sql, descending: boolean, value: Bound, bound: Sql): Sql | undefined {
  if (value === null) return descending ? undefined : sql`${column} IS NOT NULL`
  return descending ? sql`(${column} < ${bound} OR ${column} IS NULL)` : sql`${column} > ${bound}`
}
