import { createHash } from 'node:crypto'
import { Failure } from '../errors.ts'
import type { Bag, Row } from '../store/dialect.ts'
import { count, param, type Sql, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import { slotOf } from '../store/turns.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
/** Failures before 429: of one e-mail from one address and of one address in a minute, of one account in a row in a day. */
const LIMITS = [
  { failures: 5, window: MINUTE },
  { failures: 30, window: MINUTE },
  { failures: 100, window: DAY },
] as const
/** A check that has not ended by then never will: its process is gone, and it counts as failed. */
const PENDING_MAX = 30_000
const PATIENCE = 10_000

/**
 * Counts failed attempts in the database, so that neither a restart nor a second instance forgets them. An attempt is
 * written down before the password is looked at: many at once cannot slip through between the look and the count.
 */
export class Throttle {
  readonly #store: Store
  readonly #begin: readonly Step[]
  readonly #end: readonly Step[]
  readonly #withdraw: readonly Step[]

  constructor(store: Store) {
    const { dialect } = store
    const steps = (...sources: readonly Sql[]): Step[] =>
      sources.map((source) => step(dialect, 'attempt', 'any', source))
    const mine = sql`"id" = ${param('$attempt')}`
    this.#store = store
    this.#begin = steps(
      ...(dialect.lock === undefined ? [] : [inTurn(dialect.lock.toChange)]),
      sql`DELETE FROM "takeback_attempts" WHERE "at" < ${day}`,
      sql`INSERT INTO "takeback_attempts" ("id", "at", "account", "address", "outcome")
        VALUES (${param('$attempt')}, ${param('$now', 'datetime')}, ${param('$account')}, ${param('$address')}, 'pending')`,
      counts,
    )
    this.#end = steps(sql`UPDATE "takeback_attempts" SET "outcome" = ${param('$outcome')} WHERE ${mine}`)
    this.#withdraw = steps(sql`DELETE FROM "takeback_attempts" WHERE ${mine}`)
  }

  /** Runs a check of a password for an account, unless there were too many that failed. */
  async attempt<T>(
    account: string,
    address: string,
    check: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const bag = await this.#enter(account, address)
    let outcome = 'failed'
    try {
      const found = await check()
      if (found !== undefined) outcome = 'ok'
      return found
    } catch (error) {
      outcome = ''
      throw error
    } finally {
      await this.#store.write(outcome === '' ? this.#withdraw : this.#end, { ...bag, $outcome: outcome })
    }
  }

  /** Waits where attempts that are still under way decide whether this one may be. */
  async #enter(account: string, address: string): Promise<Bag> {
    const until = Date.now() + PATIENCE
    for (;;) {
      const now = Date.now()
      const bag: Bag = {
        $attempt: Bun.randomUUIDv7(),
        $account: digest(account),
        $now: new Date(now).toISOString(),
        $address: address,
        $minute: new Date(now - MINUTE).toISOString(),
        $day: new Date(now - DAY).toISOString(),
        $stale: new Date(now - PENDING_MAX).toISOString(),
        [slots[0]]: slotOf(account),
        [slots[1]]: slotOf(address),
      }
      const outcome = await this.#store.write(this.#begin, bag)
      const verdict = judge(outcome.rows, now)
      if (verdict === 'free') return bag
      await this.#store.write(this.#withdraw, bag)
      if (verdict !== 'wait') throw tooMany(verdict.seconds)
      if (now > until) throw new Failure('unavailable', { headers: { 'Retry-After': '1' } })
      await Bun.sleep(20 + Math.random() * 80)
    }
  }
}

const day = param('$day', 'datetime')
const stale = param('$stale', 'datetime')
const slots = ['$slot_1', '$slot_2'] as const

/** Where transactions run side by side, those of one account or one address go one by one: each must see the others. */
function inTurn(lock: Sql): Sql {
  const [one, two] = slots.map((name) => param(name, 'integer'))
  return sql`SELECT "slot" FROM "takeback_turns" WHERE "slot" IN (${one ?? sql``}, ${two ?? sql``}) ORDER BY "slot"${lock}`
}

/** For each limit: its place, failures, attempts under way, the oldest failure. */
const counts = (() => {
  const failed = sql`("outcome" = 'failed' OR ("outcome" = 'pending' AND "at" < ${stale}))`
  const pending = sql`("outcome" = 'pending' AND "at" >= ${stale} AND "id" <> ${param('$attempt')})`
  const of = (limit: number, which: Sql) =>
    sql`SELECT ${count(limit)}, count(CASE WHEN ${failed} THEN 1 END), count(CASE WHEN ${pending} THEN 1 END), min(CASE WHEN ${failed} THEN "at" END)
      FROM "takeback_attempts" WHERE ${which}`
  const account = sql`"account" = ${param('$account')}`
  const address = sql`"address" = ${param('$address')}`
  const minute = sql`"at" > ${param('$minute', 'datetime')}`
  const inARow = sql`"at" > coalesce((SELECT max("at") FROM "takeback_attempts" WHERE ${account} AND "outcome" = 'ok'), ${day})`
  return sql`${of(0, sql`${account} AND ${address} AND ${minute}`)} UNION ALL ${of(1, sql`${address} AND ${minute}`)}
    UNION ALL ${of(2, sql`${account} AND "at" > ${day} AND ${inARow}`)}`
})()

function judge(rows: readonly Row[], now: number): 'free' | 'wait' | { seconds: number } {
  let wait = false
  for (const [at, { failures, window }] of LIMITS.entries()) {
    const [, failed, pending, oldest] = rows.find(([limit]) => Number(limit) === at) ?? []
    if (Number(failed) >= failures) {
      const free = new Date(String(oldest)).getTime() + window
      return { seconds: Math.max(1, Math.ceil((free - now) / 1000)) }
    }
    if (Number(failed) + Number(pending) >= failures) wait = true
  }
  return wait ? 'wait' : 'free'
}

function tooMany(seconds: number): Failure {
  return new Failure('too_many_attempts', { headers: { 'Retry-After': String(seconds) } })
}

/** What is typed into the e-mail field may be anything, a password by mistake too: it is not kept. */
function digest(account: string): string {
  return createHash('sha256').update(account).digest('base64url')
}
