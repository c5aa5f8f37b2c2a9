import type { Dialect, Row } from '../store/dialect.ts'
import { compile, id, param, type Sql, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { LeaseTable } from './leases.ts'
import { clockTime } from './record.ts'

const WORK = id('takeback_work')

/**
 * Recurring work in the database: one row each. `next_at`: when it is due; while it is held, when the lease ends. So
 * any due row may be taken, whether its time has come or its holder is gone.
 */
export interface RecurringStatements {
  /** All rows: name, next time, holder, fencing token, failures; and one without a name, whose time is the clock. */
  readonly look: Statement
  /** All rows for display: name, last run, next time, holder, error, since when. */
  readonly state: Statement
  /** Adds `$lease_key`, due at `$next`, unless it exists. */
  readonly register: readonly Step[]
  /** Takes `$lease_key` for `$lease_holder`, if it is due. Returns the fencing token and the clock. */
  readonly take: readonly Step[]
  /** Ends the lease; due again at `$next`, with `$error` and `$failures`. Refused if the lease is lost. */
  readonly end: readonly Step[]
  /** Brings it forward to `$next`, if nothing has happened to it since `$lease_fence`. */
  readonly hasten: readonly Step[]
  /** Makes it due now, unless it is running. */
  readonly bringForward: readonly Step[]
  readonly leases: LeaseTable
}

/** When work is due. */
export interface DueTime {
  readonly next: number
  readonly held: boolean
  readonly fence: number
  readonly failures: number
}

/** The state of recurring work, for display. */
export interface RecurringState {
  readonly status: 'ok' | 'failed'
  /** Since when it is in this state; null if it never ran. */
  readonly since: string | null
  readonly last: string | null
  readonly message: string | null
  /** When it runs next; null while it runs. */
  readonly next: string | null
  /** The instance that is running it. */
  readonly holder: string | null
}

const named = sql`"name" = ${param('$lease_key')}`
const unchanged = sql`${named} AND "fence" = ${param('$lease_fence', 'integer')}`
const mine = sql`${unchanged} AND "holder" = ${param('$lease_holder')}`
const next = param('$next', 'datetime')

export function compileRecurring(dialect: Dialect, leaseMs: number): RecurringStatements {
  const until = dialect.shift(dialect.clock, leaseMs)
  return { ...compileTimes(dialect), ...compileRuns(dialect, until), leases: leasesOf(dialect, until) }
}

/** The statements about due times. */
function compileTimes(
  dialect: Dialect,
): Pick<RecurringStatements, 'look' | 'state' | 'register' | 'hasten' | 'bringForward'> {
  const { clock, placeholder } = dialect
  const any = (source: Sql) => [step(dialect, 'time', 'any', source)]
  const read = (source: Sql) => compile(source, placeholder, true)
  return {
    look: read(
      sql`SELECT "name", "next_at", "holder", "fence", "failures" FROM ${WORK} UNION ALL SELECT '', ${clock}, NULL, 0, 0`,
    ),
    state: read(sql`SELECT "name", "ran_at", "next_at", "holder", "error", "since" FROM ${WORK}`),
    register: any(
      sql`INSERT INTO ${WORK} ("name", "next_at", "fence", "failures") VALUES (${param('$lease_key')}, ${next}, 0, 0) ON CONFLICT ("name") DO NOTHING`,
    ),
    hasten: any(sql`UPDATE ${WORK} SET "next_at" = ${next} WHERE ${unchanged} AND "next_at" > ${next}`),
    bringForward: any(
      sql`UPDATE ${WORK} SET "next_at" = ${clock} WHERE ${named} AND "holder" IS NULL AND "next_at" > ${clock}`,
    ),
  }
}

function compileRuns(dialect: Dialect, until: Sql): Pick<RecurringStatements, 'take' | 'end'> {
  const { clock } = dialect
  const error = param('$error')
  return {
    take: [
      step(
        dialect,
        'take',
        'any',
        sql`UPDATE ${WORK} SET "holder" = ${param('$lease_holder')}, "fence" = "fence" + 1, "ran_at" = ${clock}, "next_at" = ${until}
          WHERE ${named} AND "next_at" <= ${clock} RETURNING "fence", ${clock}`,
      ),
    ],
    end: [
      step(
        dialect,
        'end',
        'some',
        sql`UPDATE ${WORK} SET "holder" = NULL, "next_at" = ${next}, "error" = ${error}, "failures" = ${param('$failures', 'integer')},
          "since" = CASE WHEN "since" IS NULL OR ("error" IS NULL) <> (${error} IS NULL) THEN ${clock} ELSE "since" END WHERE ${mine}`,
      ),
    ],
  }
}

function leasesOf(dialect: Dialect, until: Sql): LeaseTable {
  const any = (source: Sql) => [step(dialect, 'lease', 'any', source)]
  return {
    renew: any(
      sql`UPDATE ${WORK} SET "next_at" = ${until} WHERE "holder" = ${param('$lease_holder')} RETURNING "name", "fence"`,
    ),
    release: any(
      sql`UPDATE ${WORK} SET "holder" = NULL, "fence" = "fence" + 1, "next_at" = ${dialect.clock} WHERE ${mine}`,
    ),
    fence: step(
      dialect,
      'lease',
      'some',
      sql`SELECT 1 FROM ${WORK} WHERE ${mine}${dialect.lock?.toStay ?? sql``}`,
    ),
  }
}

/** Reads a row of `look`. */
export function dueTimeOf([, next, holder, fence, failures]: Row): DueTime {
  return {
    next: clockTime(next),
    held: holder !== null,
    fence: Number(fence),
    failures: Number(failures),
  }
}

/** Reads a row of `take`. */
export function takenRow([fence, clock]: Row): { readonly fence: number; readonly clock: number } {
  return { fence: Number(fence), clock: clockTime(clock) }
}

/** Reads a row of `state`. */
export function recurringState([, ran, next, holder, error, since]: Row): RecurringState {
  const textOf = (value: unknown) => (value == null ? null : String(value))
  return {
    status: error == null ? 'ok' : 'failed',
    since: textOf(since),
    last: textOf(ran),
    message: textOf(error),
    next: holder == null ? textOf(next) : null,
    holder: textOf(holder),
  }
}
