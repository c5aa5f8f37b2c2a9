import { SQL } from 'bun'
import { Failure } from '../../errors.ts'
import type { Params } from '../dialect.ts'
import type { Limits } from '../location.ts'
import type { SlowStatements } from '../slow-statements.ts'
import type { Statement } from '../sql.ts'
import { parseAddress } from './address.ts'
import { sqlStateOf, unavailable } from './errors.ts'
import { Hosts } from './hosts.ts'
import { Lookout } from './lookout.ts'
import { GRACE_MS, type Manner, openingMs, PooledConnection, type Result } from './pooled-connection.ts'

/** A connection within a transaction. What is asked of it before an answer has come goes out at once. */
export interface Connection {
  query(statement: Statement, params: Params): Promise<Result>
}

/** What a transaction comes to, and whether it is to be kept. */
export interface Ending<T> {
  readonly result: T
  readonly commit: boolean
}

/** What kind of connection, and when it comes too late. */
interface Wish {
  readonly exclusive: boolean
  readonly until: number
}

/** Somebody who waits for a connection. */
interface Waiter extends Wish {
  take(connection: PooledConnection): void
  fail(error: unknown): void
}

/** How many may wait for each connection; past that, the answer would come too late anyway. */
const WAITING_MAX = 200
/** How often answers are looked for that did not come in time. */
const SWEEP_MS = 100
const LONG_MS = 20
/** After an attempt to connect that failed while others are open, or are being opened. */
const PAUSE_MS = 1000
/** PostgreSQL's code for a write to a standby. */
const READ_ONLY = '25006'
const PING: Statement = { text: 'SELECT 1', paramNames: [] }

/**
 * Connections to one database. Statements share them, several under way on each, so that those which are sent together
 * share a round trip; a transaction has one for itself. One that does not answer in time is given up, and counts for as
 * long as the server holds it (`lookout.ts`): the server never has more of ours than the pool may have.
 */
export class Pool {
  readonly #limits: Limits
  readonly #manner: Manner
  readonly #hosts: Hosts
  readonly #connections = new Set<PooledConnection>()
  readonly #lookout: Lookout
  #queue: Waiter[] = []
  readonly #opening = new Set<PooledConnection>()
  #pausedUntil = 0
  #renewedAt = Number.NEGATIVE_INFINITY
  #waiting = 0
  #sweep: Timer | undefined
  #sweptAt = 0
  #closed = false

  /** `settings` are those of every connection. */
  constructor(
    url: string,
    limits: Limits,
    settings: Readonly<Record<string, string | number>>,
    slow?: SlowStatements,
  ) {
    this.#limits = limits
    this.#manner = { limits, settings, slow }
    this.#hosts = new Hosts(parseAddress(url), this.#manner)
    this.#lookout = new Lookout(this.#hosts, this.#manner, () => this.#serveWaiting())
  }

  get figures(): { readonly pool: number; readonly waiting: number; readonly given_up: number } {
    return { pool: this.#limits.pool, waiting: this.#waiting, given_up: this.#lookout.size }
  }

  /** A client for one more connection, beside those of the pool: to the host that takes writes. */
  async client(application: string): Promise<{ readonly sql: SQL; readonly url: string }> {
    const url = await this.#hosts.url()
    const connection = { ...this.#manner.settings, application_name: application }
    const connectionTimeout = this.#limits.connectMs / 1000
    return { sql: new SQL({ url, max: 1, connectionTimeout, connection }), url }
  }

  /** The host that it would lead to. */
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

  /** All of it, or nothing. `patience` is how long each of its statements may take. */
  transaction<T>(
    work: (connection: Connection) => Promise<Ending<T>>,
    patience = this.#limits.statementMs,
  ): Promise<T> {
    const until = performance.now() + this.#limits.statementMs
    return this.#with({ exclusive: true, until }, async (connection) => {
      try {
        await connection.idle(until)
        return await this.#transact(connection, work, patience)
      } finally {
        connection.held = false
        this.#letGo(connection)
      }
    })
  }

  async #transact<T>(
    connection: PooledConnection,
    work: (connection: Connection) => Promise<Ending<T>>,
    patience: number,
  ): Promise<T> {
    const ask = <R>(send: () => Promise<R>) => connection.ask(patience, send)
    try {
      // Whatever the database's default is: what was locked must be looked at as it is by then, not as it was before.
      // Not awaited: it goes out together with the first statement, whose own answer tells whether it went wrong.
      ask(() => connection.command('BEGIN ISOLATION LEVEL READ COMMITTED')).catch(() => {})
      const { result, commit } = await work({
        query: (statement, params) =>
          connection.ask(patience, () => connection.run(statement, params), undefined, statement.text),
      })
      await ask(() => end(connection, commit))
      return result
    } catch (error) {
      // Nothing of it stays, whatever it was; and where that cannot be said any more, the connection is not used again.
      await connection.ask(0, () => end(connection, false)).catch(() => this.#giveUp(connection))
      throw error
    }
  }

  /** Uses a connection, at once where there is one. An exclusive one is nobody else's from here on. */
  async #with<T>(wish: Wish, use: (connection: PooledConnection) => Promise<T>): Promise<T> {
    if (this.#waiting >= this.#limits.pool * WAITING_MAX) throw unavailable(new Error('too many wait'))
    if (this.#sweep === undefined) this.#startSweeping()
    this.#waiting++
    try {
      const connection = this.#find(wish)
      return await (connection === undefined ? this.#wait(wish, use) : use(connection))
    } finally {
      this.#waiting--
    }
  }

  #find({ exclusive }: Wish): PooledConnection | undefined {
    const now = performance.now()
    let [best, least]: [PooledConnection | undefined, number] = [undefined, Number.POSITIVE_INFINITY]
    for (const one of this.#connections) {
      if (one.held || one.isRetired || one.load >= least) continue
      // What has taken long may wait for a lock, and all that is sent behind it waits along.
      const load = one.busyFor(now) > LONG_MS ? one.load + WAITING_MAX : one.load
      if (load < least) [best, least] = [one, load]
    }
    if (least > 0) this.#grow()
    if (best === undefined || (least > 0 && this.#opening.size > 0)) return undefined
    best.held = exclusive
    return best
  }

  #wait<T>(wish: Wish, use: (connection: PooledConnection) => Promise<T>): Promise<T> {
    if (this.#connections.size + this.#opening.size === 0) throw unavailable(this.#whyNone())
    return new Promise((resolve, fail) => {
      const take = (connection: PooledConnection) => void use(connection).then(resolve, fail)
      this.#queue.push({ ...wish, take, fail })
    })
  }

  #whyNone(): Error {
    if (this.#closed) return new Error('the pool is closed')
    return this.#lookout.size > 0
      ? new Error(`the database does not answer on ${this.#lookout.size} connections`)
      : new Error('no answer from the database')
  }

  /** One more connection, where there is room for it. */
  #grow(): void {
    const used = this.#connections.size + this.#opening.size + this.#lookout.size
    if (used >= this.#limits.pool || this.#lookout.isAway || this.#closed) return
    if (this.#connections.size + this.#opening.size > 0 && performance.now() < this.#pausedUntil) return
    this.#open().catch(() => {})
  }

  async #open(): Promise<void> {
    const connection = new PooledConnection(this.#manner, {
      onClose: () => this.#remove(connection),
      onError: (error) => {
        if (sqlStateOf(error) === READ_ONLY) this.renew()
      },
      onIdle: () => {
        // Not while it opens: whoever waits for it would be given one more.
        if (this.#connections.has(connection)) this.#letGo(connection)
      },
    })
    this.#opening.add(connection)
    try {
      await connection.ask(openingMs(this.#manner), () => this.#hosts.connect(connection))
      if (this.#closed) throw new Error('the pool is closed')
      this.#connections.add(connection)
      for (const other of this.#connections) if (other.url !== connection.url) this.#retire(other)
    } catch (error) {
      this.#pausedUntil = performance.now() + PAUSE_MS
      if (this.#hosts.mustTakeWrites || isTimeout(error)) this.#lookout.waitForServer()
      this.#abandon(connection)
      if (this.#connections.size + this.#opening.size === 1) this.#failWaiting(error)
    } finally {
      this.#opening.delete(connection)
      this.#serveWaiting()
    }
  }

  /** Nobody uses it just now. */
  #letGo(connection: PooledConnection): void {
    if (connection.isRetired && this.#connections.delete(connection)) connection.close().catch(() => {})
    this.#serveWaiting()
  }

  /** It is closed once nobody uses it. */
  #retire(connection: PooledConnection): void {
    connection.isRetired = true
    if (connection.load === 0 && !connection.held) this.#letGo(connection)
  }

  /** The server takes no writes any more: whoever connects anew may be led to one that does. */
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

  /** The server has closed it. */
  #remove(connection: PooledConnection): void {
    this.#hosts.doubt(connection.url)
    if (this.#connections.delete(connection)) this.#serveWaiting()
  }

  /** It did not answer. The others may be cut off too: those that have nothing to do are asked. */
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
    if (!isClosed && backend !== undefined) this.#lookout.watch(backend)
    connection.giveUp()
  }

  #startSweeping(): void {
    this.#sweptAt = performance.now()
    this.#sweep = setInterval(() => this.#sweepLate(), SWEEP_MS)
    this.#sweep.unref()
  }

  #sweepLate(): void {
    const now = performance.now()
    // We were held up ourselves: answers may have come meanwhile, and are taken first.
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
    await Promise.all([...open.map((connection) => connection.close()), this.#lookout.close()])
  }
}

/** An attempt to connect that nobody answered; whether a server has taken it up cannot be known. */
function isTimeout(error: unknown): boolean {
  return error instanceof Failure || (error as { code?: string }).code === 'ERR_POSTGRES_CONNECTION_TIMEOUT'
}

/** A transaction that failed in between ends without an error, but not as it was told to. */
async function end(connection: PooledConnection, commit: boolean): Promise<void> {
  const command = await connection.command(commit ? 'COMMIT' : 'ROLLBACK')
  if (commit && command !== 'COMMIT') throw unavailable(new Error(`the transaction ended with ${command}`))
}
