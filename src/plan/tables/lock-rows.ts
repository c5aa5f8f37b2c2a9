import { id, type Sql, sql } from '../../store/sql.ts'

/**
 * Locks the rows of a table, called `h`, that meet the condition, in the order of their ids: two transactions that lock
 * the same ones do not wait for each other. Gives how many there are.
 */
export function lockRows(table: string, condition: Sql, lock: Sql): Sql {
  return sql`SELECT count(*) FROM (SELECT 1 FROM ${id(table)} h WHERE ${condition} ORDER BY h."id"${lock}) x`
}
