import { Failure, outdated, StartError } from '../../errors.ts'
import { nextTurn, refuseAbandoned } from '../abandoned.ts'
import { NOTHING, type SingleRequest, type StoreAct, type StoreRequest } from '../act.ts'
import type { Params, Row } from '../dialect.ts'
import { hidePassword, type Limits } from '../location.ts'
import type { Structure } from '../migration/structure.ts'
import { newSecret } from '../secret.ts'
import { SlowStatements } from '../slow-statements.ts'
import { compile, param, type Sql, type Statement, sql } from '../sql.ts'
import { LATE, type Outcome, type Step } from '../step.ts'
import type { Store } from '../store.ts'
import { ddlOf } from './ddl.ts'
import { dialect, notedAs } from './dialect.ts'
import { meaningOf, unavailable } from './errors.ts'
import { Horizon } from './horizon.ts'
import { Notifications } from './notifications.ts'
import { type Connection, Pool } from './pool.ts'
import type { Result } from './pooled-connection.ts'
import {
  ABOUT,
  APPLICATION,
  aboutOf,
  migrationLimits,
  type ServerAbout,
  sessionSettings,
  stricter,
} from './session-settings.ts'
import { Statistics } from './statistics.ts'
import { reason, structureOf } from './structure.ts'

/** The maximum number of attempts of a transaction that conflicts with others. */
const TRIES = 10
const WATCH_MS = 1000

/** Many connections, each of which sees only what others have committed. Rows that must not change are locked. */
export class PostgresStore implements Store {
  readonly dialect = dialect
  readonly slow: SlowStatements
  readonly structure: Structure
  /** Commits of others are not reported, so caches must not rely on this for long. */
  readonly others = 0
  readonly #pool: Pool
  #outdated = false
  #generation = Number.MAX_SAFE_INTEGER
  readonly #statistics: Statistics
  readonly #horizon: Horizon
  readonly #notifications: Notifications
  #recent: number | undefined
  #watch: Timer | undefined

  private constructor(pool: Pool, place: string, { version, theirs }: ServerAbout, slow: SlowStatements) {
    this.slow = slow
    this.#pool = pool
    this.#statistics = new Statistics(pool)
    this.#horizon = new Horizon(pool)
    this.#notifications = new Notifications(pool)
    const ddl = ddlOf({ bytewise: /CockroachDB/.test(version) })
    this.structure = structureOf({ pool, place, ddl, limits: migrationLimits(theirs) })
  }

  static async open({ url, ...limits }: { readonly url: string } & Limits): Promise<PostgresStore> {
    const place = hidePassword(url)
    try {
      const about = await lookAt(url, limits)
      const { encoding, theirs } = about
      if (encoding !== 'UTF8') throw new StartError(`its encoding is ${encoding}, but must be UTF8`)
      const statementMs = stricter(limits.statementMs, theirs.statement)
      const slow = new SlowStatements()
      const pool = new Pool(url, { ...limits, statementMs }, sessionSettings(limits, about), slow)
      return new PostgresStore(pool, place, about, slow)
    } catch (error) {
      throw new StartError(`The database ${place} cannot be used: ${reason(error)}`)
    }
  }

  serve(generation: number): void {
    this.#generation = generation
    clearInterval(this.#watch)
    // Errors are ignored: if the database is away, requests report it.
    const watch = () => {
      this.#look().catch(() => {})
      this.#statistics.refresh().catch(() => {})
      this.#notifications.checkListeners().catch(() => {})
      this.#settle().catch(() => {})
    }
    this.#watch = setInterval(watch, WATCH_MS)
    this.#watch.unref()
    this.#settle().catch(() => {})
  }

  get recent(): number | undefined {
    return this.#recent
  }

  /** Updates `recent`. */
  async #settle(): Promise<void> {
    const [row] = await this.#pool.query(statement(LAST), {})
    const settled = await this.#horizon.settled(Number(row?.[0] ?? 0))
    if (settled !== undefined) this.#recent = settled
  }

  onCommit(heard: () => void): () => void {
    return this.#notifications.add(heard)
  }

  /** Checks whether another server has migrated the data. */
  async #look(connection: Connection = this.#pool): Promise<void> {
    const [row] = await connection.query(statement(SINCE), {})
    this.#outdated = Number(row?.[0] ?? 0) > this.#generation
  }

  async secret(): Promise<string | undefined> {
    const [made] = await this.#pool.query(statement(HAS_META), {})
    if (made === undefined) return undefined
    const [row] = await this.#pool.query(statement(SECRET), {})
    return row === undefined ? undefined : String(row[0])
  }

  async keepSecret(given = newSecret()): Promise<string> {
    const [row] = await this.#pool.query(statement(KEEP_SECRET), { $value: given })
    return String(row?.[0])
  }

  async read(statement: Statement, params: Params): Promise<readonly Row[]> {
    this.#refuseOutdated()
    for (let tries = 1; ; tries++)
      try {
        return await this.#pool.query(statement, params)
      } catch (error) {
        if (meaningOf(error).kind !== 'again' || tries === TRIES) throw failureOf(error)
      }
  }

  async write(steps: readonly Step[], params: Params, signal?: AbortSignal): Promise<Outcome> {
    this.#refuseOutdated()
    if (signal !== undefined) await nextTurn()
    for (let tries = 1; ; tries++) {
      try {
        refuseAbandoned(signal)
        const outcome = await this.#attempt(steps, { ...params, $generation: this.#generation }, signal)
        if (outcome.done) {
          this.#notifications.committed()
          return outcome
        }
        // The fence may be the reason for the refusal.
        await this.#look()
        this.#refuseOutdated()
        if (outcome.step !== LATE || tries === TRIES) return outcome
      } catch (error) {
        const { kind } = meaningOf(error)
        if (kind === 'unique') return { done: false, step: 'unique', rows: [] }
        if (kind !== 'again') throw failureOf(error)
        if (tries === TRIES) throw new Failure('busy', { cause: error })
      }
      await Bun.sleep(Math.random() * 2 ** tries)
    }
  }

  #attempt(steps: readonly Step[], params: Params, signal: AbortSignal | undefined): Promise<Outcome> {
    const [only, ...more] = steps
    if (only !== undefined && more.length === 0)
      return this.#pool.query(only.statement, params).then((result) => outcomeOf(only, result))
    return this.#pool.transaction<Outcome>(async (connection) => {
      const result = await runAll(steps, params, connection)
      refuseAbandoned(signal)
      return { result, commit: result.done }
    })
  }

  async transact<T>(make: () => StoreAct<T>, signal?: AbortSignal): Promise<T> {
    this.#refuseOutdated()
    if (signal !== undefined) await nextTurn()
    for (let tries = 1; ; tries++) {
      try {
        refuseAbandoned(signal)
        const done = await this.#pool.transaction(async (connection) => {
          const result = await this.#drive(make(), connection)
          refuseAbandoned(signal)
          return { result, commit: true }
        })
        this.#notifications.committed()
        return done
      } catch (error) {
        if (meaningOf(error).kind !== 'again') throw failureOf(error)
        if (tries === TRIES) throw new Failure('busy', { cause: error })
      }
      await Bun.sleep(Math.random() * 2 ** tries)
    }
  }

  async #drive<T>(work: StoreAct<T>, connection: Connection): Promise<T> {
    let next = work.next()
    while (!next.done) next = work.next(await this.#reply(next.value, connection))
    return next.value
  }

  async #reply(request: StoreRequest, connection: Connection): Promise<Outcome> {
    if (request.kind === 'read')
      return { done: true, rows: await connection.query(request.statement, request.params) }
    if (request.kind === 'together') {
      request.outcomes.push(...(await this.#replyTogether(request.requests, connection)))
      return NOTHING
    }
    for (let tries = 1; ; tries++) {
      const params = { ...request.params, $generation: this.#generation }
      const outcome = await runWithin(request.steps, params, connection)
      if (outcome.done) return outcome
      // On this same connection: all others may be taken by callers that wait as we would.
      await this.#look(connection)
      this.#refuseOutdated()
      if (outcome.step !== LATE || tries === TRIES) return outcome
    }
  }

  /** Sends all before the first answer. If one fails, they run again one by one to find out which. */
  async #replyTogether(requests: readonly SingleRequest[], connection: Connection): Promise<Outcome[]> {
    const more = { $generation: this.#generation }
    const sent = requests.map((request) => onlyStepOf(request, more))
    const outcomes = sent.every((one) => one !== undefined) ? await sendTogether(sent, connection) : undefined
    if (outcomes !== undefined) return outcomes
    const inTurn: Outcome[] = []
    for (const request of requests) inTurn.push(await this.#reply(request, connection))
    return inTurn
  }

  #refuseOutdated(): void {
    if (this.#outdated) throw outdated()
  }

  async settled(last: number): Promise<number | undefined> {
    try {
      return await this.#horizon.settled(last)
    } catch (error) {
      throw failureOf(error)
    }
  }

  /** Nothing to do: PostgreSQL manages its own files. */
  async scrub(): Promise<void> {}

  async vacuum(): Promise<void> {
    throw new StartError('PostgreSQL removes erased data on its own. To do it at once, run VACUUM in psql.')
  }

  async ping(): Promise<void> {
    this.#refuseOutdated()
    try {
      const [row] = await this.#pool.query(statement(WRITABLE), {})
      if (row?.[0] !== 'on') return
      this.#pool.renew()
      throw unavailable(new Error('the database takes no writes: it is read-only, or a standby'))
    } catch (error) {
      throw failureOf(error)
    }
  }

  async figures(): Promise<Record<string, string | number>> {
    const [row] = await this.#pool.query(statement(sql`SELECT pg_database_size(current_database())`), {})
    return { kind: 'postgres', size_bytes: Number(row?.[0]), ...this.#pool.figures }
  }

  async close(): Promise<void> {
    clearInterval(this.#watch)
    await this.#notifications.close()
    await this.#pool.close()
  }
}

/** Asks the server over a connection without our settings. */
async function lookAt(url: string, limits: Limits): Promise<ServerAbout> {
  const pool = new Pool(url, limits, APPLICATION)
  try {
    const [row] = await pool.query(statement(ABOUT), {})
    return aboutOf(row)
  } finally {
    await pool.close()
  }
}

async function runAll(steps: readonly Step[], params: Params, connection: Connection): Promise<Outcome> {
  let last: Outcome = { done: true, rows: [] }
  for (const roundTrip of roundTripsOf(steps)) {
    // All statements of a round trip are sent before the first answer. The first error counts.
    const answers = await Promise.allSettled(
      roundTrip.map(({ statement }) => connection.query(statement, params)),
    )
    for (const [at, answer] of answers.entries()) {
      const step = roundTrip[at]
      if (step === undefined) continue
      if (answer.status === 'rejected') throw answer.reason
      if (step.notes) for (const [type, ids] of answer.value) params[notedAs(type)] = ids ?? null
      last = outcomeOf(step, answer.value)
      if (!last.done) return last
    }
  }
  return last
}

/** Runs steps as part of a transaction that goes on even if they are refused. */
async function runWithin(steps: readonly Step[], params: Params, connection: Connection): Promise<Outcome> {
  // Not awaited: it is sent together with the first statement, whose answer shows whether it failed.
  connection.query(BEGIN_PART, {}).catch(() => {})
  const outcome = await runAll(steps, params, connection).catch((error): Outcome => {
    if (meaningOf(error).kind === 'unique') return { done: false, step: 'unique', rows: [] }
    throw error
  })
  if (!outcome.done) await connection.query(BACK_TO_PART, {})
  connection.query(END_PART, {}).catch(() => {})
  return outcome
}

interface SentStep {
  readonly step: Step
  readonly params: Params
}

/** The request as one step, if it is a single statement. */
function onlyStepOf(request: SingleRequest, more: Params): SentStep | undefined {
  if (request.kind === 'read')
    return { step: { name: 'read', statement: request.statement, expect: 'any' }, params: request.params }
  const [step, ...others] = request.steps
  return step === undefined || others.length > 0
    ? undefined
    : { step, params: { ...request.params, ...more } }
}

/** Undefined if one of them is refused. Then none of them has an effect. */
async function sendTogether(
  sent: readonly SentStep[],
  connection: Connection,
): Promise<Outcome[] | undefined> {
  connection.query(BEGIN_PART, {}).catch(() => {})
  const answers = await Promise.allSettled(
    sent.map(({ step, params }) => connection.query(step.statement, params)),
  )
  const failed = answers.find((answer) => answer.status === 'rejected')
  if (failed !== undefined && meaningOf(failed.reason).kind !== 'unique') throw failed.reason
  const outcomes = answers.flatMap((answer, at) => {
    const one = sent[at]
    return one === undefined || answer.status === 'rejected' ? [] : [outcomeOf(one.step, answer.value)]
  })
  const done = outcomes.length === sent.length && outcomes.every((outcome) => outcome.done)
  if (!done) await connection.query(BACK_TO_PART, {})
  connection.query(END_PART, {}).catch(() => {})
  return done ? outcomes : undefined
}

/** Groups steps that need not wait for each other: only notes must exist before they are bound. */
function roundTripsOf(steps: readonly Step[]): Step[][] {
  const roundTrips: Step[][] = [[]]
  for (const step of steps) {
    roundTrips.at(-1)?.push(step)
    if (step.notes) roundTrips.push([])
  }
  return roundTrips.filter((roundTrip) => roundTrip.length > 0)
}

function outcomeOf({ name, expect }: Step, result: Result): Outcome {
  const any = result.length > 0 || result.changed > 0
  return expect === 'any' || any === (expect === 'some')
    ? { done: true, rows: result }
    : { done: false, step: name, rows: result }
}

function failureOf(error: unknown): unknown {
  const meaning = meaningOf(error)
  return meaning.kind === 'failure' ? meaning.failure : error
}

function statement(source: Sql): Statement {
  return compile(source, dialect.placeholder)
}

/** Also on in a standby. */
const WRITABLE = sql`SELECT current_setting('transaction_read_only')`
const BEGIN_PART = statement(sql`SAVEPOINT "takeback_part"`)
const BACK_TO_PART = statement(sql`ROLLBACK TO SAVEPOINT "takeback_part"`)
const END_PART = statement(sql`RELEASE SAVEPOINT "takeback_part"`)
const LAST = sql`SELECT max("seq") FROM "takeback_journal"`
const SINCE = sql`SELECT "value" FROM "takeback_meta" WHERE "key" = 'since'`
const HAS_META = sql`SELECT 1 WHERE to_regclass('"takeback_meta"') IS NOT NULL`
const SECRET = sql`SELECT "value" FROM "takeback_meta" WHERE "key" = 'secret'`
const KEEP_SECRET = sql`INSERT INTO "takeback_meta" ("key", "value") VALUES ('secret', ${param('$value')})
  ON CONFLICT ("key") DO UPDATE SET "value" = "takeback_meta"."value" RETURNING "value"`
