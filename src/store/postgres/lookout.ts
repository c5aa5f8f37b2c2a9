import type { Hosts } from './hosts.ts'
import { BACKEND, GRACE_MS, type Manner, openingMs, PooledConnection, within } from './pooled-connection.ts'

/** How long after the last look it looks again. */
const LOOK_MS = 250

/**
 * Ends those of them that are still there, and tells which those are. A commit that waits for a standby is left alone:
 * ended, it would show what no standby has.
 */
const END = {
  text: `SELECT ${BACKEND}, CASE WHEN a.wait_event IS DISTINCT FROM 'SyncRep' THEN pg_terminate_backend(a.pid) END
    FROM pg_stat_activity a WHERE ${BACKEND} = ANY ($1::text[])`,
  paramNames: ['backends'],
}

/**
 * Looks after connections that were given up. The server may hold them for as long as it likes: they count until it
 * says that they are gone, and it is told to end them. For that there is one connection more, and only for that long.
 * It is also the only one that tries to connect where an attempt was not even answered.
 */
export class Lookout {
  readonly #hosts: Hosts
  readonly #manner: Manner
  readonly #onChange: () => void
  readonly #held = new Set<string>()
  /** Of the lookout itself: nothing waits for those, but they are ended with the others. */
  readonly #own = new Set<string>()
  #away = false
  #running = false
  #stopped = false
  #connection: PooledConnection | undefined

  constructor(hosts: Hosts, manner: Manner, onChange: () => void) {
    this.#hosts = hosts
    this.#manner = manner
    this.#onChange = onChange
  }

  /** How many connections the server still has, for all that we know. */
  get size(): number {
    return this.#held.size
  }

  /** Whether the last attempt to connect got no answer. */
  get isAway(): boolean {
    return this.#away
  }

  /** It was given up, and may be served still. */
  watch(backend: string): void {
    this.#held.add(backend)
    this.#start()
  }

  /** The server did not answer. */
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
      await this.#look().catch(() => this.#giveUp())
      this.#onChange()
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS).unref())
    }
    await this.#connection?.close()
    this.#connection = undefined
  }

  async #look(): Promise<void> {
    const connection = await this.#connect()
    const backends = [...this.#held, ...this.#own]
    const asked = connection.run(END, { backends: `{${backends.map((one) => `"${one}"`).join(',')}}` })
    const rows = await within(this.#manner.limits.statementMs + GRACE_MS, asked)
    const there = new Set(rows.map(([backend]) => String(backend)))
    for (const backend of backends)
      if (!there.has(backend)) for (const all of [this.#held, this.#own]) all.delete(backend)
    this.#away = false
  }

  async #connect(): Promise<PooledConnection> {
    if (this.#connection?.isClosed === false) return this.#connection
    this.#connection = new PooledConnection(this.#manner)
    await within(openingMs(this.#manner), this.#hosts.connect(this.#connection))
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
