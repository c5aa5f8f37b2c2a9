import type { Hosts } from './hosts.ts'
import {
  BACKEND,
  type ConnectionOptions,
  GRACE_MS,
  openingMs,
  PooledConnection,
  within,
} from './pooled-connection.ts'

/** The pause between two looks. */
const CHECK_MS = 250

/**
 * Terminates the abandoned connections that still exist, and returns them. A commit that waits for a standby is left
 * alone: if it were terminated, it would become visible without being on a standby.
 */
const END = {
  text: `SELECT ${BACKEND}, CASE WHEN a.wait_event IS DISTINCT FROM 'SyncRep' THEN pg_terminate_backend(a.pid) END
    FROM pg_stat_activity a WHERE ${BACKEND} = ANY ($1::text[])`,
  paramNames: ['backends'],
}

/**
 * Watches abandoned connections. The server may keep them for as long as it likes, so they count until it says that
 * they are gone, and it is told to end them. That takes one extra connection, for just that long. It is also the only
 * one that tries to connect after an attempt got no answer.
 */
export class ServerMonitor {
  readonly #hosts: Hosts
  readonly #options: ConnectionOptions
  readonly #onChange: () => void
  readonly #held = new Set<string>()
  /** The monitor's own abandoned connections. Nothing waits for them, but they are ended with the others. */
  readonly #own = new Set<string>()
  #away = false
  #running = false
  #stopped = false
  #connection: PooledConnection | undefined

  constructor(hosts: Hosts, options: ConnectionOptions, onChange: () => void) {
    this.#hosts = hosts
    this.#options = options
    this.#onChange = onChange
  }

  /** The number of abandoned connections that the server still has, as far as we know. */
  get size(): number {
    return this.#held.size
  }

  /** Whether the last attempt to connect got no answer. */
  get isAway(): boolean {
    return this.#away
  }

  /** Watches an abandoned connection, which the server may still be serving. */
  watch(backend: string): void {
    this.#held.add(backend)
    this.#start()
  }

  /** Waits for a server that did not answer. */
  waitForServer(): void {
    this.#away = true
    this.#start()
  }

  #start(): void {
    if (this.#running || this.#stopped) return
    this.#running = true
    this.#run().finally(() => {
      this.#running = false
    })
  }

  async #run(): Promise<void> {
    while ((this.#held.size > 0 || this.#away) && !this.#stopped) {
      await this.#check().catch(() => this.#giveUp())
      this.#onChange()
      await new Promise((resolve) => setTimeout(resolve, CHECK_MS).unref())
    }
    await this.#connection?.close()
    this.#connection = undefined
  }

  async #check(): Promise<void> {
    const connection = await this.#connect()
    const backends = [...this.#held, ...this.#own]
    const running = connection.run(END, { backends: `{${backends.map((one) => `"${one}"`).join(',')}}` })
    const rows = await within(this.#options.limits.statementMs + GRACE_MS, running)
    const there = new Set(rows.map(([backend]) => String(backend)))
    for (const backend of backends)
      if (!there.has(backend)) for (const all of [this.#held, this.#own]) all.delete(backend)
    this.#away = false
  }

  async #connect(): Promise<PooledConnection> {
    if (this.#connection?.isClosed === false) return this.#connection
    this.#connection = new PooledConnection(this.#options)
    await within(openingMs(this.#options), this.#hosts.connect(this.#connection))
    return this.#connection
  }

  #giveUp(): void {
    const backend = this.#connection?.backend
    if (backend !== undefined) this.#own.add(backend)
    this.#connection?.giveUp()
    this.#connection = undefined
  }

  async close(): Promise<void> {
    this.#stopped = true
    await this.#connection?.close()
  }
}
