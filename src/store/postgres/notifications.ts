import { randomBytes } from 'node:crypto'
import type { SQL } from 'bun'
import { compile, param, sql } from '../sql.ts'
import { dialect } from './dialect.ts'
import type { Pool } from './pool.ts'

const CHANNEL = 'takeback_journal'
/** The application name of listening connections, followed by a name of their process. */
const LISTENER = 'takeback listener '
/** How long a notification waits for more commits to share it. */
const GATHER_MS = 20

const NOTIFY = compile(sql`SELECT pg_notify(${param('$channel')}, '')`, dialect.placeholder)
const OTHERS = compile(
  sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
    AND starts_with(application_name, ${param('$prefix')}) AND application_name <> ${param('$own')} LIMIT 1`,
  dialect.placeholder,
)

/**
 * Tells other instances about commits, and hears about theirs. A notification is sent after the commit: inside of it,
 * commits would wait for each other. It is sent only while other instances listen, which is checked once in a while.
 * All of this may fail, and behind some poolers always does, so listeners also look without a notification.
 */
export class Notifications {
  readonly #pool: Pool
  readonly #own = LISTENER + randomBytes(6).toString('hex')
  readonly #listeners = new Set<() => void>()
  #open: { readonly sql: SQL; readonly url: string } | undefined
  #opening = false
  #othersListen = false
  #timer: Timer | undefined
  #closed = false

  constructor(pool: Pool) {
    this.#pool = pool
  }

  add(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.checkListeners().catch(() => {})
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#disconnect()
    }
  }

  /** To be called after a commit of this process. */
  committed(): void {
    if (this.#listeners.size > 0) this.#notifyListeners()
    if (!this.#othersListen || this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#pool.query(NOTIFY, { $channel: CHANNEL }).catch(() => {})
    }, GATHER_MS)
    this.#timer.unref()
  }

  /** Checks who listens, and whether our own connection leads to the right host. */
  async checkListeners(): Promise<void> {
    if (this.#listeners.size > 0) await this.#listen()
    const rows = await this.#pool.query(OTHERS, { $prefix: LISTENER, $own: this.#own })
    this.#othersListen = rows.length > 0
  }

  async #listen(): Promise<void> {
    if (this.#opening || this.#closed) return
    this.#opening = true
    try {
      if (this.#open !== undefined && this.#open.url === (await this.#pool.url())) return
      this.#disconnect()
      const opened = await this.#pool.client(this.#own)
      this.#open = opened
      await opened.sql.listen(CHANNEL, () => this.#notifyListeners())
      if (this.#listeners.size === 0 || this.#closed) this.#disconnect()
    } catch (error) {
      this.#disconnect()
      throw error
    } finally {
      this.#opening = false
    }
  }

  #notifyListeners(): void {
    for (const listener of this.#listeners) listener()
  }

  #disconnect(): void {
    this.#open?.sql.close({ timeout: 0 }).catch(() => {})
    this.#open = undefined
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#listeners.clear()
    this.#disconnect()
  }
}
