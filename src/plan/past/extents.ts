import type { Dialect } from '../../store/dialect.ts'
import { namedColumns } from '../../store/named-columns.ts'
import { compile, param, type Sql, type Statement, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import { JOURNAL } from './journal.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

/** The changes of a key within some time. */
interface Window {
  /** The number of changes by `$via`, counted up to `$most`. */
  readonly count: Statement
  /** For the change number `$place` by `$via`, oldest first: milliseconds until it no longer counts. */
  readonly leaves: Statement
}

/** How much a key has changed, according to the journal. Read in the transaction that changes more. */
export interface ExtentsPlan {
  /** Until this transaction ends, other writes by the key `$key` wait. Refused if the key has ended. */
  readonly hold: readonly Step[]
  /** By `$operation`: `extentColumns`. */
  readonly operation: Statement
  readonly changesPerHour: Window
  readonly deletesPerDay: Window
}

const DELETES = sql`j."kind" IN ('delete', 'purge')`

/** The size of an operation. */
export const extentColumns = namedColumns({
  changes: sql`count(*)`,
  deletes: sql`count(CASE WHEN ${DELETES} THEN 1 END)`,
})

export function compileExtents(dialect: Dialect): ExtentsPlan {
  const statement = (source: Sql) => compile(source, dialect.placeholder)
  const isIt = sql`k."id" = ${param('$key', 'integer')} AND k."ended_at" IS NULL`
  const within = (ms: number, more: Sql): Window => {
    const since = dialect.shift(dialect.clock, -ms)
    const rows = sql`FROM ${JOURNAL} j WHERE j."via" = ${param('$via')} AND j."at" > ${since}${more}`
    return {
      count: statement(sql`SELECT count(*) FROM (SELECT 1 ${rows} LIMIT ${param('$most', 'integer')}) x`),
      leaves: statement(
        sql`SELECT ${dialect.milliseconds(sql`j."at"`)} - ${dialect.milliseconds(since)} ${rows}
          ORDER BY j."at" LIMIT 1 OFFSET ${param('$place', 'integer')}`,
      ),
    }
  }
  return {
    hold: [
      step(
        dialect,
        'key',
        'some',
        sql`SELECT 1 FROM "takeback_keys" k WHERE ${isIt}${dialect.lock?.toChange ?? sql``}`,
      ),
    ],
    operation: statement(
      sql`SELECT ${extentColumns.sql} FROM ${JOURNAL} j WHERE j."operation" = ${param('$operation')}`,
    ),
    changesPerHour: within(HOUR_MS, sql``),
    deletesPerDay: within(DAY_MS, sql` AND ${DELETES}`),
  }
}
