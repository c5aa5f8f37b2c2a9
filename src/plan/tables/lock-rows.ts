import { id, type Sql, sql } from '../../store/sql.ts'

/**
 * Locks the rows of a table, called `h`, that meet the condition, in the order of their ids. So two transactions that
 * lock the same rows cannot deadlock. Returns their number.
 */
export function lockRows(table: string, condition: Sql, lock: Sql): Sql {
  return sql`SELECT count(*) FROM (SELECT 1 FROM ${id(table)} h WHERE ${condition} ORDER BY h."id"${lock}) x`
}
