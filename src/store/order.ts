import { type Sql, sql } from './sql.ts'

/** Columns that the table itself declares NOT NULL. */
const NEVER_EMPTY = new Set(['id', 'version', 'created_at', 'updated_at'])

/**
 * A column in an ORDER BY or an index. Nothing is said about `null` for columns that always have a value: otherwise
 * some databases would not use the index. So sorts and their indexes must both be written by this function.
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

/** Sorts `null` before any value, on every database. */
export function nullsIn(descending: boolean): Sql {
  return descending ? sql` NULLS LAST` : sql` NULLS FIRST`
}
