import { type ReservedSQL, SQL } from 'bun'
import type { Bound, Params, Row } from '../dialect.ts'
import type { Limits } from '../location.ts'
import type { SlowStatements } from '../slow-statements.ts'
import type { Statement } from '../sql.ts'
import { unavailable } from './errors.ts'

/** Rows, and the number of changed rows. */
export interface Result extends ReadonlyArray<Row> {
  readonly changed: number
}

/** How to connect. */
export interface ConnectionOptions {
  readonly limits: Limits
  /** Settings of every connection. */
  readonly settings: Readonly<Record<string, string | number>>
  /** Records how long statements take. */
  readonly slow?: SlowStatements | undefined
}

/** How much longer than the server's own limit we wait for the server to report that it was reached. */
export const GRACE_MS = 1000

/** Identifies a server process across servers and time: pids alone are reused. */
export const BACKEND = `a.pid::text || ' ' || extract(epoch FROM a.backend_start)::text`
/** A standby is read-only too. A new backend plans this function faster than the view `pg_stat_activity` over it. */
const OPENED = `SELECT ${BACKEND}, current_setting('transaction_read_only') FROM pg_stat_get_activity(pg_backend_pid()) a`

/** How long it may take to find the right host and connect to it. */
export function openingMs({ limits }: ConnectionOptions): number {
  return 2 * (limits.connectMs + GRACE_MS)
}

/** The events that the pool handles. */
export interface PoolEvents {
  onClose?(): void
  onError?(error: unknown): void
  /** Everything is answered, and nobody was waiting for that. */
  onIdle?(): void
}

/** A statement that was sent and has no answer yet. */
interface PendingStatement {
  /** How long the server may take for it, once the statements before it are done. */
  readonly timeoutMs: number
  /** When its caller stops waiting, whatever happens to it. */
  readonly until: number
  fail(error: unknown): void
}

/**
 * One connection. Statements are sent at once, without waiting for earlier answers; the server answers in order. The
 * driver never reconnects it silently: once it is closed, it stays closed.
 */
export class PooledConnection {
  /** Whether a transaction has it for itself, or waits for that. */
  held = false
  /** Whether nothing new may use it. */
  isRetired = false
  #url: string | undefined
  #backend: string | undefined
  #takesWrites = false
  #sql: SQL | undefined
  #handle: ReservedSQL | undefined
  #closed = false
  readonly #pending: PendingStatement[] = []
  /** Since when the server works on the first statement. */
  #since = 0
  readonly #options: ConnectionOptions
  readonly #events: PoolEvents
  /** The transaction that waits for all earlier answers. */
  #next: { readonly until: number; take(): void; fail(error: unknown): void } | undefined

  constructor(options: ConnectionOptions, events: PoolEvents = {}) {
    this.#options = options
    this.#events = events
  }

  /** The host that it is connected to; undefined before it is opened. */
  get url(): string | undefined {
    return this.#url
  }

  /** Whether the host took writes when it was opened: a standby does not. */
  get takesWrites(): boolean {
    return this.#takesWrites
  }

  /** The server process; undefined if it never connected. */
  get backend(): string | undefined {
    return this.#backend
  }

  /** The number of statements without an answer. */
  get load(): number {
    return this.#pending.length
  }

  /** How long the server has worked on the current statement. */
  busyFor(now: number): number {
    return this.#pending.length === 0 ? 0 : now - this.#since
  }

  get isClosed(): boolean {
    return this.#closed
  }

  async open(url: string): Promise<void> {
    if (this.#closed) throw closed()
    this.#url = url
    this.#sql = this.#client(url)
    this.#handle = await this.#sql.reserve()
    const [row = []] = await this.run({ text: OPENED, paramNames: [] }, {})
    const [backend, readOnly] = row
    this.#backend = String(backend)
    this.#takesWrites = readOnly === 'off'
  }

  #client(url: string): SQL {
    const { limits, settings } = this.#options
    return new SQL({
      url,
      max: 1,
      connectionTimeout: limits.connectMs / 1000,
      connection: { ...settings },
      onclose: () => {
        if (this.#closed) return
        this.#closed = true
        this.#next?.fail(closed())
        this.#events.onClose?.()
      },
    })
  }

  run(statement: Statement, params: Params): Promise<Result> {
    return this.#handle === undefined ? Promise.reject(closed()) : run(this.#handle, statement, params)
  }

  /** Runs a statement without rows; returns what the server reports as done. */
  async command(text: string): Promise<string | undefined> {
    if (this.#handle === undefined) throw closed()
    const { command } = (await this.#handle(templateOf(text))) as { command?: string }
    return command
  }

  /** `text`: that of the statement, if it is to be reported when it is slow. */
  ask<T>(
    timeoutMs: number,
    send: () => Promise<T>,
    until = Number.POSITIVE_INFINITY,
    text?: string,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const began = performance.now()
      const pending: PendingStatement = { timeoutMs, until, fail: reject }
      if (this.#pending.length === 0) this.#since = began
      this.#pending.push(pending)
      const landed = () => {
        this.#since = performance.now()
        if (text !== undefined) this.#options.slow?.took(text, this.#since - began)
        this.#pending.splice(this.#pending.indexOf(pending), 1)
        if (this.#pending.length > 0) return
        if (this.#next === undefined) this.#events.onIdle?.()
        else this.#next.take()
      }
      send().then(
        (answer) => {
          landed()
          resolve(answer)
        },
        (error) => {
          landed()
          this.#events.onError?.(error)
          reject(error)
        },
      )
    })
  }

  /** Waits until everything sent before is answered. */
  async idle(until: number): Promise<void> {
    if (this.#closed) throw closed()
    if (this.#pending.length === 0) return
    try {
      await new Promise<void>((take, fail) => {
        this.#next = { until, take, fail }
      })
    } finally {
      this.#next = undefined
    }
  }

  /** Fails callers who have waited long enough. True if the server should have answered long ago. */
  isStuck(now: number): boolean {
    const waiting = this.#next === undefined ? this.#pending : [...this.#pending, this.#next]
    for (const { until, fail } of waiting)
      if (now > until) fail(unavailable(new Error('no answer from the database in time')))
    const [first] = this.#pending
    return first !== undefined && this.busyFor(now) > first.timeoutMs + GRACE_MS
  }

  /** Drops the connection without telling the server, which may go on with its work. */
  giveUp(): void {
    this.#closed = true
    const error = unavailable(new Error('no answer from the database in time, its connection was given up'))
    for (const { fail } of this.#pending) fail(error)
    this.#next?.fail(error)
    this.#sql?.close({ timeout: 0 }).catch(() => {})
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#handle?.release().catch(() => {})
    await this.#sql?.close({ timeout: GRACE_MS / 1000 }).catch(() => {})
  }
}

export async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: Timer | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

function closed(): Error {
  return unavailable(new Error('the connection is closed'))
}

async function run(sql: ReservedSQL, { text, paramNames }: Statement, params: Params): Promise<Result> {
  const values = paramNames.map((name) => textOf(params[name] ?? null))
  // Without values, `unsafe` would not prepare it, and the server would plan it each time.
  const query = values.length === 0 ? sql(templateOf(text)) : sql.unsafe(text, values)
  const found = (await query.values()) as unknown as Rows
  const rows: Row[] = []
  for (const row of found) rows.push(decode(row))
  return Object.assign(rows, { changed: found.count })
}

const TEMPLATES_MAX = 1000
const templates = new Map<string, TemplateStringsArray>()

/** A text in the form of a template literal. */
function templateOf(text: string): TemplateStringsArray {
  const known = templates.get(text)
  if (known !== undefined) return known
  if (templates.size >= TEMPLATES_MAX) templates.clear()
  const made = Object.defineProperty([text], 'raw', { value: [text] }) as unknown as TemplateStringsArray
  templates.set(text, made)
  return made
}

type Rows = unknown[][] & { readonly count: number }

/** Sends every value as text, so that there is one prepared statement per SQL text. */
function textOf(value: Bound): string | null {
  return value === null ? null : String(value)
}

/** Decodes the values of a row in place. */
function decode(row: unknown[]): Row {
  for (const [at, value] of row.entries()) if (value instanceof Date) row[at] = value.toISOString()
  return row as Bound[]
}
