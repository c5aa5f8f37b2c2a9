import { SQL } from 'bun'
import { Failure } from '../../errors.ts'
import type { Params } from '../dialect.ts'
import type { Limits } from '../location.ts'
import type { SlowStatements } from '../slow-statements.ts'
import type { Statement } from '../sql.ts'
import { parseAddress } from './address.ts'
import { sqlStateOf, unavailable } from './errors.ts'
import { Hosts } from './hosts.ts'
import {
  type ConnectionOptions,
  GRACE_MS,
  openingMs,
  PooledConnection,
  type Result,
} from './pooled-connection.ts'
import { ServerMonitor } from './server-monitor.ts'

/** A connection inside of a transaction. Statements are sent at once, without waiting for earlier answers. */
export interface Connection {
  query(statement: Statement, params: Params): Promise<Result>
}

/** The result of a transaction, and whether to commit it. */
export interface TransactionResult<T> {
  readonly result: T
  readonly commit: boolean
}

/** The kind of connection that is needed, and until when. */
interface ConnectionRequest {
  readonly exclusive: boolean
  readonly until: number
}

/** A caller who waits for a connection. */
interface Waiter extends ConnectionRequest {
  take(connection: PooledConnection): void
  fail(error: unknown): void
}

/** The maximum number of waiting callers per connection. Beyond it, answers would come too late anyway. */
const WAITING_MAX = 200
/** How often to look for answers that are overdue. */
const SWEEP_MS = 100
const LONG_MS = 20
/** The pause after a failed attempt to connect while others are open or being opened. */
const PAUSE_MS = 1000
/** PostgreSQL's code for a write to a standby. */
const READ_ONLY = '25006'
const PING: Statement = { text: 'SELECT 1', paramNames: [] }

/**
 * Connections to one database. Statements share them, several at a time on each, so that statements sent together share
 * a round trip. A transaction has a connection for itself. A connection that does not answer in time is abandoned, but
 * counts for as long as the server holds it (`server-monitor.ts`): the server never has more of ours than the limit.
 */
export class Pool {
  readonly #limits: Limits
  readonly #options: ConnectionOptions
  readonly #hosts: Hosts
  readonly #connections = new Set<PooledConnection>()
  readonly #monitor: ServerMonitor
  #queue: Waiter[] = []
  readonly #opening = new Set<PooledConnection>()
  #pausedUntil = 0
  #renewedAt = Number.NEGATIVE_INFINITY
  #waiting = 0
  #sweep: Timer | undefined
  #sweptAt = 0
  #closed = false

  /** `settings`: those of every connection. */
  constructor(
    url: string,
    limits: Limits,
    settings: Readonly<Record<string, string | number>>,
    slow?: SlowStatements,
  ) {
    this.#limits = limits
    this.#options = { limits, settings, slow }
    this.#hosts = new Hosts(parseAddress(url), this.#options)
    this.#monitor = new ServerMonitor(this.#hosts, this.#options, () => this.#serveWaiting())
  }

  get figures(): { readonly pool: number; readonly waiting: number; readonly given_up: number } {
    return { pool: this.#limits.pool, waiting: this.#waiting, given_up: this.#monitor.size }
  }

  /** A client for one extra connection beside the pool, to the host that takes writes. */
  async client(application: string): Promise<{ readonly sql: SQL; readonly url: string }> {
    const url = await this.#hosts.url()
    const connection = { ...this.#options.settings, application_name: application }
    const connectionTimeout = this.#limits.connectMs / 1000
    return { sql: new SQL({ url, max: 1, connectionTimeout, connection }), url }
  }

  /** The host that a new connection would lead to. */
  url(): Promise<string> {
    return this.#hosts.url()
  }

  query(statement: Statement, params: Params): Promise<Result> {
    const { statementMs } = this.#limits
    const until = performance.now() + statementMs + GRACE_MS
    return this.#with({ exclusive: false, until }, (connection) =>
      connection.ask(statementMs, () => connection.run(statement, params), until, statement.text),
    )
  }

  /** Runs a transaction: all of it or nothing. `timeoutMs`: how long each of its statements may take. */
  transaction<T>(
    work: (connection: Connection) => Promise<TransactionResult<T>>,
    timeoutMs = this.#limits.statementMs,
  ): Promise<T> {
    const until = performance.now() + this.#limits.statementMs
    return this.#with({ exclusive: true, until }, async (connection) => {
      try {
        await connection.idle(until)
        return await this.#transact(connection, work, timeoutMs)
      } finally {
        connection.held = false
        this.#letGo(connection)
      }
    })
  }

  async #transact<T>(
    connection: PooledConnection,
    work: (connection: Connection) => Promise<TransactionResult<T>>,
    timeoutMs: number,
  ): Promise<T> {
    const ask = <R>(send: () => Promise<R>) => connection.ask(timeoutMs, send)
    try {
      // Whatever the default: after waiting for a lock, a statement must see the latest rows, not those from before.
      // Not awaited: it is sent together with the first statement, whose answer shows whether it failed.
      ask(() => connection.command('BEGIN ISOLATION LEVEL READ COMMITTED')).catch(() => {})
      const { result, commit } = await work({
        query: (statement, params) =>
          connection.ask(timeoutMs, () => connection.run(statement, params), undefined, statement.text),
      })
      await ask(() => end(connection, commit))
      return result
    } catch (error) {
      // Rolls back. If that fails too, the connection is not used again.
      await connection.ask(0, () => end(connection, false)).catch(() => this.#giveUp(connection))
      throw error
    }
  }

  /** Uses a connection, at once if there is one. An exclusive one is then reserved. */
  async #with<T>(request: ConnectionRequest, use: (connection: PooledConnection) => Promise<T>): Promise<T> {
    if (this.#waiting >= this.#limits.pool * WAITING_MAX) throw unavailable(new Error('too many wait'))
    if (this.#sweep === undefined) this.#startSweeping()
    this.#waiting++
    try {
      const connection = this.#find(request)
      return await (connection === undefined ? this.#wait(request, use) : use(connection))
    } finally {
      this.#waiting--
    }
  }

  #find({ exclusive }: ConnectionRequest): PooledConnection | undefined {
    const now = performance.now()
    let [best, least]: [PooledConnection | undefined, number] = [undefined, Number.POSITIVE_INFINITY]
    for (const one of this.#connections) {
      if (one.held || one.isRetired || one.load >= least) continue
      // A slow statement may be waiting for a lock, and everything sent behind it waits too.
      const load = one.busyFor(now) > LONG_MS ? one.load + WAITING_MAX : one.load
      if (load < least) [best, least] = [one, load]
    }
    if (least > 0) this.#grow()
    if (best === undefined || (least > 0 && this.#opening.size > 0)) return undefined
    best.held = exclusive
    return best
  }

  #wait<T>(request: ConnectionRequest, use: (connection: PooledConnection) => Promise<T>): Promise<T> {
    if (this.#connections.size + this.#opening.size === 0) throw unavailable(this.#whyNone())
    return new Promise((resolve, fail) => {
      const take = (connection: PooledConnection) => void use(connection).then(resolve, fail)
      this.#queue.push({ ...request, take, fail })
    })
  }

  #whyNone(): Error {
    if (this.#closed) return new Error('the pool is closed')
    return this.#monitor.size > 0
      ? new Error(`the database does not answer on ${this.#monitor.size} connections`)
      : new Error('no answer from the database')
  }

  /** Opens one more connection, if there is room. */
  #grow(): void {
    const used = this.#connections.size + this.#opening.size + this.#monitor.size
    if (used >= this.#limits.pool || this.#monitor.isAway || this.#closed) return
    if (this.#connections.size + this.#opening.size > 0 && performance.now() < this.#pausedUntil) return
    this.#open().catch(() => {})
  }

  async #open(): Promise<void> {
    const connection = new PooledConnection(this.#options, {
      onClose: () => this.#remove(connection),
      onError: (error) => {
        if (sqlStateOf(error) === READ_ONLY) this.renew()
      },
      onIdle: () => {
        // Not while it opens: those who wait for it would get another one.
        if (this.#connections.has(connection)) this.#letGo(connection)
      },
    })
    this.#opening.add(connection)
    try {
      await connection.ask(openingMs(this.#options), () => this.#hosts.connect(connection))
      if (this.#closed) throw new Error('the pool is closed')
      this.#connections.add(connection)
      for (const other of this.#connections) if (other.url !== connection.url) this.#retire(other)
    } catch (error) {
      this.#pausedUntil = performance.now() + PAUSE_MS
      if (this.#hosts.mustTakeWrites || isTimeout(error)) this.#monitor.waitForServer()
      this.#abandon(connection)
      if (this.#connections.size + this.#opening.size === 1) this.#failWaiting(error)
    } finally {
      this.#opening.delete(connection)
      this.#serveWaiting()
    }
  }

  /** The connection is free: closes it if it is retired, and serves those who wait. */
  #letGo(connection: PooledConnection): void {
    if (connection.isRetired && this.#connections.delete(connection)) connection.close().catch(() => {})
    this.#serveWaiting()
  }

  /** Closes the connection once nobody uses it. */
  #retire(connection: PooledConnection): void {
    connection.isRetired = true
    if (connection.load === 0 && !connection.held) this.#letGo(connection)
  }

  /** The server no longer takes writes: new connections may lead to one that does. */
  renew(): void {
    const now = performance.now()
    if (now < this.#renewedAt + PAUSE_MS) return
    this.#renewedAt = now
    for (const connection of this.#connections) {
      this.#hosts.doubt(connection.url)
      this.#retire(connection)
    }
  }

  #serveWaiting(): void {
    for (;;) {
      const [first] = this.#queue
      if (first === undefined) return
      const connection = this.#find(first)
      if (connection === undefined) break
      this.#queue.shift()
      first.take(connection)
    }
    if (this.#connections.size + this.#opening.size === 0) this.#failWaiting(unavailable(this.#whyNone()))
  }

  #failWaiting(error: unknown): void {
    const waiting = this.#queue
    this.#queue = []
    for (const { fail } of waiting) fail(error)
  }

  /** Called when the server has closed the connection. */
  #remove(connection: PooledConnection): void {
    this.#hosts.doubt(connection.url)
    if (this.#connections.delete(connection)) this.#serveWaiting()
  }

  /** Abandons a connection that did not answer. The others may be cut off too, so idle ones are pinged. */
  #giveUp(connection: PooledConnection): void {
    if (!this.#connections.delete(connection)) return
    this.#abandon(connection)
    this.#hosts.doubt(connection.url)
    for (const other of this.#connections)
      if (other.load === 0 && !other.held) other.ask(0, () => other.run(PING, {})).catch(() => {})
    this.#serveWaiting()
  }

  #abandon(connection: PooledConnection): void {
    const { isClosed, backend } = connection
    if (!isClosed && backend !== undefined) this.#monitor.watch(backend)
    connection.giveUp()
  }

  #startSweeping(): void {
    this.#sweptAt = performance.now()
    this.#sweep = setInterval(() => this.#sweepLate(), SWEEP_MS)
    this.#sweep.unref()
  }

  #sweepLate(): void {
    const now = performance.now()
    // This process was held up itself. Answers that have arrived meanwhile are handled first.
    const heldUp = now - this.#sweptAt > 5 * SWEEP_MS
    this.#sweptAt = now
    if (heldUp) return
    for (const connection of this.#opening) if (connection.isStuck(now)) connection.giveUp()
    for (const connection of this.#connections) if (connection.isStuck(now)) this.#giveUp(connection)
    const late = this.#queue.filter(({ until }) => now > until)
    if (late.length === 0) return
    this.#queue = this.#queue.filter(({ until }) => now <= until)
    for (const { fail } of late) fail(unavailable(new Error('no connection was free in time')))
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweep)
    const open = [...this.#connections]
    this.#connections.clear()
    this.#failWaiting(unavailable(this.#whyNone()))
    await Promise.all([...open.map((connection) => connection.close()), this.#monitor.close()])
  }
}

/** Whether nobody answered an attempt to connect. The server may have accepted it all the same. */
function isTimeout(error: unknown): boolean {
  return error instanceof Failure || (error as { code?: string }).code === 'ERR_POSTGRES_CONNECTION_TIMEOUT'
}

/** Commits or rolls back. A transaction that failed before ends without an error, but is not committed. */
async function end(connection: PooledConnection, commit: boolean): Promise<void> {
  const command = await connection.command(commit ? 'COMMIT' : 'ROLLBACK')
  if (commit && command !== 'COMMIT') throw unavailable(new Error(`the transaction ended with ${command}`))
}
