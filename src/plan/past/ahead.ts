import { SKEW_MS } from '../../clock.ts'
import type { Dialect } from '../../store/dialect.ts'
import { AHEAD } from '../../store/migration/metadata.ts'
import { compile, param, quoted, type Sql, type Statement, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import { JOURNAL } from './journal.ts'

const META = sql`"takeback_meta"`
const KEY = quoted(AHEAD)

/** Times in the journal that are ahead of the clock: the clock was wrong when they were written, or is wrong now. */
export interface AheadPlan {
  /** The newest time in the journal (null if it is empty), and how far it is ahead, in milliseconds. */
  readonly find: Statement
  /** Records that there were times up to `$until`. */
  readonly note: readonly Step[]
}

export function compileAhead(dialect: Dialect): AheadPlan {
  const newest = sql`(SELECT max(j."at") FROM ${JOURNAL} j)`
  const ahead = sql`${dialect.milliseconds(sql`n."at"`)} - ${dialect.milliseconds(dialect.clock)}`
  return {
    find: compile(sql`SELECT n."at", ${ahead} FROM (SELECT ${newest} AS "at") n`, dialect.placeholder),
    note: [
      step(
        dialect,
        'ahead',
        'any',
        sql`INSERT INTO ${META} ("key", "value") VALUES (${KEY}, ${param('$until')}) ON CONFLICT ("key") DO UPDATE
          SET "value" = excluded."value" WHERE ${META}."value" < excluded."value"`,
      ),
    ],
  }
}

/**
 * The latest time in the journal that is or was ahead of the clock; null if there is none. Up to that time, an Entity
 * may have versions older than its own creation.
 */
export function timesAhead(dialect: Dialect): Sql {
  const known = dialect.literal(sql`m."value"`, 'datetime')
  return sql`(SELECT max(a."at") FROM (SELECT ${known} AS "at" FROM ${META} m WHERE m."key" = ${KEY}
    UNION ALL SELECT max(f."at") FROM ${JOURNAL} f WHERE f."at" > ${dialect.shift(dialect.clock, SKEW_MS)}) a)`
}
