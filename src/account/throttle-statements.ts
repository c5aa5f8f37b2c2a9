import { budget } from '../budget.ts'
import { SKEW_MS } from '../clock.ts'
import type { Dialect } from '../store/dialect.ts'
import { lockMutexes } from '../store/mutex.ts'
import { compile, intLiteral, param, quoted, type Sql, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'

/** The statements of the throttle. Times use `dialect.clock`, except known places, which use service time. */
export interface ThrottleStatements {
  /** Finds out whether the account has signed in from an address or a device before. */
  readonly known: Statement
  /** Records an attempt and counts the others. */
  readonly begin: readonly Step[]
  readonly fail: readonly Step[]
  /** The same, but does not count for the address: another attempt of the same login does. */
  readonly failBeside: readonly Step[]
  /**
   * Forgets a failure if the same password failed before (`$account`, `$place`). Otherwise remembers the password, and
   * the failure counts, but not for the address.
   */
  readonly settle: readonly Step[]
  readonly pass: readonly Step[]
  /** The same, and remembers the address and the device. */
  readonly remember: readonly Step[]
  readonly withdraw: readonly Step[]
  /** The same, and promises the address a time for its next attempt. */
  readonly give: readonly Step[]
  /** Forgets all failures and waits of an account. */
  readonly forget: readonly Step[]
}

export const SLOTS = ['$slot_1', '$slot_2'] as const

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
/** A check that takes longer has lost its process, and counts as failed. */
const PENDING_MAX = 30_000
/** How long after its end a wait still lets an attempt in. */
const WAIT_KEPT = 60 * MINUTE
const LONGEST_WAIT = budget.loginWaitSeconds * 1000

const time = (name: string) => param(name, 'datetime')
const account = sql`"account" = ${param('$account')}`
const address = sql`"address" = ${param('$address')}`
const mine = sql`"id" = ${param('$attempt')}`

/** Transactions for one account or one address run one at a time, so that each sees the others. */
const mutexes = SLOTS.map((name) => param(name, 'integer'))

export function compileThrottle(dialect: Dialect): ThrottleStatements {
  const steps = (...sources: readonly Sql[]): Step[] =>
    sources.map((source) => step(dialect, 'attempt', 'any', source))
  const lock = dialect.lock === undefined ? [] : [lockMutexes(mutexes, dialect.lock.toChange)]
  const withdraw = sql`DELETE FROM "takeback_attempts" WHERE ${mine}`
  const end = (outcome: 'ok' | 'failed' | 'beside') =>
    sql`UPDATE "takeback_attempts" SET "outcome" = ${quoted(outcome)} WHERE ${mine}`
  return {
    known: compile(
      sql`SELECT "place" FROM "takeback_known_places" WHERE ${account} AND "place" IN (${param('$place')}, ${param('$device')}) AND "at" > ${time('$old')}`,
      dialect.placeholder,
    ),
    begin: steps(
      ...lock,
      ...clearOld(dialect),
      sql`INSERT INTO "takeback_attempts" ("id", "at", "account", "address", "outcome", "place", "elsewhere")
        VALUES (${param('$attempt')}, ${dialect.clock}, ${param('$account')}, ${param('$address')}, 'pending', ${param('$place')}, ${param('$elsewhere', 'integer')})`,
      counts(dialect),
    ),
    fail: steps(end('failed')),
    failBeside: steps(end('beside')),
    settle: steps(
      sql`${withdraw} AND EXISTS (SELECT 1 FROM "takeback_known_places" WHERE ${account} AND "place" = ${param('$place')} AND "at" > ${time('$old')})`,
      end('beside'),
      upsertPlace('$place'),
      forgetPlaces,
    ),
    pass: steps(end('ok')),
    remember: steps(...lock, end('ok'), ...rememberPlaces),
    withdraw: steps(withdraw),
    give: steps(...lock, withdraw, ...give(dialect)),
    forget: steps(
      sql`DELETE FROM "takeback_attempts" WHERE ${account}`,
      sql`DELETE FROM "takeback_waits" WHERE ${account}`,
    ),
  }
}

/** Erases old rows, and rows that a wrong clock dated in the future: these would lock people out until then. */
function clearOld({ clock, shift }: Dialect): Sql[] {
  return [
    sql`DELETE FROM "takeback_attempts" WHERE "at" < ${shift(clock, -DAY)}`,
    sql`DELETE FROM "takeback_attempts" WHERE "at" > ${shift(clock, SKEW_MS)}`,
    sql`DELETE FROM "takeback_waits" WHERE "until" > ${shift(clock, LONGEST_WAIT + SKEW_MS)}`,
  ]
}

/** Selects the rows that `countsIn` reads. */
function counts({ clock, shift }: Dialect): Sql {
  const stale = shift(clock, -PENDING_MAX)
  const failedIn = (outcomes: Sql) =>
    sql`("outcome" IN (${outcomes}) OR ("outcome" = 'pending' AND "at" < ${stale}))`
  const pending = sql`("outcome" = 'pending' AND "at" >= ${stale} AND "id" <> ${param('$attempt')})`
  const of = (name: string, which: Sql, failed = failedIn(sql`'failed', 'beside'`)) =>
    sql`SELECT ${quoted(name)}, count(CASE WHEN ${failed} THEN 1 END), count(CASE WHEN ${pending} THEN 1 END),
      min(CASE WHEN ${failed} THEN "at" END), max(CASE WHEN ${failed} THEN "at" END)
      FROM "takeback_attempts" WHERE ${which}`
  const minute = sql`"at" > ${shift(clock, -MINUTE)}`
  // The first attempt after a wait has ended uses the wait up.
  const used = sql`SELECT 1 FROM "takeback_attempts" a WHERE a.${account} AND a.${address} AND a."at" >= w."until" AND a.${sql`"id" <> ${param('$attempt')}`}`
  return sql`${of('place', sql`${account} AND "place" = ${param('$place')} AND ${minute}`)}
    UNION ALL ${of('address', sql`${address} AND ${minute}`, failedIn(sql`'failed'`))}
    UNION ALL ${of('elsewhere', sql`${account} AND "elsewhere" = 1 AND "at" > ${shift(clock, -DAY)}`)}
    UNION ALL SELECT 'until', 0, 0, w."until", w."until" FROM "takeback_waits" w
      WHERE w.${account} AND w.${address} AND w."until" > ${shift(clock, -WAIT_KEPT)} AND NOT EXISTS (${used})
    UNION ALL SELECT 'now', 0, 0, ${clock}, ${clock}`
}

const upsertPlace = (place: string) =>
  sql`INSERT INTO "takeback_known_places" ("account", "place", "at") VALUES (${param('$account')}, ${param(place)}, ${time('$now')})
    ON CONFLICT ("account", "place") DO UPDATE SET "at" = excluded."at"`

const forgetPlaces = sql`DELETE FROM "takeback_known_places" WHERE ${account} AND "place" NOT IN
    (SELECT "place" FROM "takeback_known_places" WHERE ${account} ORDER BY "at" DESC, "place" LIMIT ${intLiteral(budget.knownPlaces)})`

const rememberPlaces = [
  sql`DELETE FROM "takeback_known_places" WHERE "at" < ${time('$old')}`,
  upsertPlace('$from'),
  upsertPlace('$device'),
  forgetPlaces,
]

function give({ clock, shift }: Dialect): Sql[] {
  return [
    sql`DELETE FROM "takeback_waits" WHERE "until" < ${shift(clock, -WAIT_KEPT)}`,
    sql`DELETE FROM "takeback_waits" WHERE ${account} AND ${address}`,
    sql`INSERT INTO "takeback_waits" ("account", "address", "until")
      SELECT ${param('$account')}, ${param('$address')}, ${time('$until')}
      WHERE (SELECT count(*) FROM "takeback_waits" WHERE ${account}) < ${intLiteral(budget.loginWaits)}`,
  ]
}
