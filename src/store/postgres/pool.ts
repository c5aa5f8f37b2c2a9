import { type ReservedSQL, SQL } from 'bun'
import { Failure } from '../../errors.ts'
import type { Bound, Params, Row } from '../dialect.ts'
import type { Limits } from '../location.ts'
import type { Statement } from '../sql.ts'
import { unavailable } from './errors.ts'

/** Rows, and how many were changed. */
export interface Result extends ReadonlyArray<Row> {
  readonly changed: number
}

/** A connection within a transaction. What is asked of it before an answer has come goes out at once. */
export interface Connection {
  query(statement: Statement, params: Params): Promise<Result>
}

/** What a transaction comes to, and whether it is to be kept. */
export interface Ending<T> {
  readonly result: T
  readonly commit: boolean
}

/** How much longer than the server's own limit we wait for its word that it was reached. */
const GRACE_MS = 1000
/** How many may wait for each connection; past that, the answer would come too late anyway. */
const WAITING_MAX = 200
/** So many answers that did not come, one soon after the other, while others did: a connection is stuck. */
const MISSED_MAX = 3
const MISSED_MS = 60_000
/** What a user or a database may have been given other defaults for, and what we say depends on. */
const SETTINGS = {
  default_transaction_isolation: 'read committed',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
}
/** A transaction of a server that is frozen or cut off must not keep its locks: others wait for them. */
const IDLE_MS = 5000

/**
 * Connections to one database. Statements share them, several under way on each, so that those which are sent together
 * share a round trip. What is cut off never says so: once answers fail to come, all connections are given up for new ones.
 */
export class Pool {
  readonly #url: string
  readonly #limits: Limits
  readonly #more: Readonly<Record<string, string>>
  #sql: SQL
  #waiting = 0
  #answeredAt = Date.now()
  #missed = 0
  #missedAt = 0

  /** `more` are settings of every connection. */
  constructor(url: string, limits: Limits, more: Readonly<Record<string, string>> = {}) {
    this.#url = url
    this.#limits = limits
    this.#more = more
    this.#sql = this.#connect()
  }

  #connect(): SQL {
    const { pool, statementMs, connectMs } = this.#limits
    return new SQL({
      url: this.#url,
      max: pool,
      connectionTimeout: connectMs / 1000,
      connection: {
        application_name: 'takeback',
        statement_timeout: statementMs,
        idle_in_transaction_session_timeout: IDLE_MS,
        ...SETTINGS,
        ...this.#more,
      },
    })
  }

  get figures(): { readonly pool: number; readonly waiting: number } {
    return { pool: this.#limits.pool, waiting: this.#waiting }
  }

  query(statement: Statement, params: Params): Promise<Result> {
    const sql = this.#sql
    return this.#inTime(sql, this.#limits.statementMs, () => run(sql, statement, params))
  }

  /** All of it, or nothing. `patience` is how long each of its statements may take. */
  async transaction<T>(
    work: (connection: Connection) => Promise<Ending<T>>,
    patience = this.#limits.statementMs,
  ): Promise<T> {
    const sql = this.#sql
    const signal = AbortSignal.timeout(this.#limits.statementMs)
    const held = await this.#inTime(sql, this.#limits.statementMs, () => reserve(sql, signal))
    try {
      // Whatever the database's default is: what was locked must be looked at as it is by then, not as it was before.
      // Not awaited: it goes out together with the first statement, whose own answer tells whether it went wrong.
      held`BEGIN ISOLATION LEVEL READ COMMITTED`.catch(() => {})
      // Each has its time from when the one before was answered: they are sent together, but run one by one.
      let before: Promise<unknown> = Promise.resolve()
      const { result, commit } = await work({
        query: (statement, params) => {
          const answer = run(held, statement, params)
          answer.catch(() => {})
          const turn = before
          const inTurn = turn.then(() => this.#inTime(sql, patience, () => answer))
          before = inTurn.catch((error) => {
            if (error instanceof Failure) throw error
          })
          before.catch(() => {})
          return inTurn
        },
      })
      await this.#inTime(sql, patience, () => end(held, commit))
      return result
    } catch (error) {
      // Nothing of it stays, whatever it was; and where that cannot be said any more, the connection is not used again.
      await this.#inTime(sql, GRACE_MS, () => end(held, false)).catch(() => {})
      throw error
    } finally {
      await held.release().catch(() => {})
    }
  }

  async #inTime<T>(sql: SQL, patience: number, ask: () => PromiseLike<T>): Promise<T> {
    if (this.#waiting >= this.#limits.pool * WAITING_MAX) throw unavailable(new Error('too many wait'))
    this.#waiting++
    let timer: Timer | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#miss()
        this.#giveUpCutOff(sql)
        reject(unavailable(new Error(`no answer from the database within ${patience + GRACE_MS} ms`)))
      }, patience + GRACE_MS)
    })
    try {
      const answer = await Promise.race([ask(), late])
      this.#answeredAt = Date.now()
      return answer
    } finally {
      this.#waiting--
      clearTimeout(timer)
    }
  }

  #miss(): void {
    const now = Date.now()
    if (now - this.#missedAt > MISSED_MS) this.#missed = 0
    this.#missed++
    this.#missedAt = now
  }

  #giveUpCutOff(sql: SQL): void {
    const silent = Date.now() - this.#answeredAt > this.#limits.statementMs
    if (this.#sql !== sql || !(silent || this.#missed >= MISSED_MAX)) return
    this.#missed = 0
    this.#sql = this.#connect()
    sql.close({ timeout: 0 }).catch(() => {})
  }

  async close(): Promise<void> {
    await this.#sql.close({ timeout: GRACE_MS / 1000 }).catch(() => {})
  }
}

/** All connections may be taken for longer than anybody wants to wait. */
async function reserve(sql: SQL, signal: AbortSignal): Promise<ReservedSQL> {
  try {
    return await sql.reserve({ signal })
  } catch (error) {
    throw signal.aborted ? unavailable(error) : error
  }
}

/** A transaction that failed in between ends without an error, but not as it was told to. */
async function end(held: ReservedSQL, commit: boolean): Promise<void> {
  const { command } = (await (commit ? held`COMMIT` : held`ROLLBACK`)) as { command?: string }
  if (commit && command !== 'COMMIT') throw unavailable(new Error(`the transaction ended with ${command}`))
}

async function run(sql: SQL | ReservedSQL, { text, paramNames }: Statement, params: Params): Promise<Result> {
  const values = paramNames.map((name) => textOf(params[name] ?? null))
  // With nothing to bind, `unsafe` would not prepare it: it would be planned anew each time.
  const asked = values.length === 0 ? sql(templateOf(text)) : sql.unsafe(text, values)
  const found = (await asked.values()) as unknown as Rows
  const rows: Row[] = []
  for (const row of found) rows.push(decode(row))
  return Object.assign(rows, { changed: found.count })
}

const TEMPLATES_MAX = 1000
const templates = new Map<string, TemplateStringsArray>()

/** A text as if it stood in the source. */
function templateOf(text: string): TemplateStringsArray {
  const known = templates.get(text)
  if (known !== undefined) return known
  if (templates.size >= TEMPLATES_MAX) templates.clear()
  const made = Object.defineProperty([text], 'raw', { value: [text] }) as unknown as TemplateStringsArray
  templates.set(text, made)
  return made
}

type Rows = unknown[][] & { readonly count: number }

/** One type for everything that is bound: so there is one prepared statement for each text. */
function textOf(value: Bound): string | null {
  return value === null ? null : String(value)
}

/** In place: the row is ours. */
function decode(row: unknown[]): Row {
  for (const [at, value] of row.entries()) if (value instanceof Date) row[at] = value.toISOString()
  return row as Bound[]
}
