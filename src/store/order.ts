import { type Sql, sql } from './sql.ts'

/** The columns that a table itself keeps from being empty. */
const NEVER_EMPTY = new Set(['id', 'version', 'created_at', 'updated_at'])

/**
 * A column in an order. Of what always has a value nothing is said about `null`: not every database knows that an index
 * will do then. So a sort and the index that is to serve it are both said by this.
 */
export function ordered(
  column: Sql,
  name: string,
  descending: boolean,
  nulls: (descending: boolean) => Sql = nullsIn,
): Sql {
  const empty = NEVER_EMPTY.has(name) ? sql`` : nulls(descending)
  return descending ? sql`${column} DESC${empty}` : sql`${column} ASC${empty}`
}

/** `null` is less than any value, on every database. */
export function nullsIn(descending: boolean): Sql {
  return descending ? sql` NULLS LAST` : sql` NULLS FIRST`
}
