import type { Dialect } from '../../store/dialect.ts'
import { namedColumns } from '../../store/named-columns.ts'
import { compile, param, type Statement, sql } from '../../store/sql.ts'
import { JOURNAL } from './journal.ts'

const isVia = sql`j."via" = ${param('$via')}`
const last = sql`FROM ${JOURNAL} l WHERE l."via" = ${param('$via')} ORDER BY l."at" DESC, l."operation" DESC LIMIT 1`

/** A summary of the operations by a key. */
export const doneColumns = namedColumns({
  operations: sql`count(DISTINCT j."operation")`,
  changes: sql`count(*)`,
  deletes: sql`count(CASE WHEN j."kind" IN ('delete', 'purge') THEN 1 END)`,
  operation: sql`(SELECT l."operation" ${last})`,
  at: sql`(SELECT l."at" ${last})`,
})

/** By `$via`: `doneColumns`. */
export function compileDoneVia(dialect: Dialect): Statement {
  return compile(sql`SELECT ${doneColumns.sql} FROM ${JOURNAL} j WHERE ${isVia}`, dialect.placeholder)
}
