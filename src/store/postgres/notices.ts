import { randomBytes } from 'node:crypto'
import type { SQL } from 'bun'
import { compile, param, sql } from '../sql.ts'
import { dialect } from './dialect.ts'
import type { Pool } from './pool.ts'

const CHANNEL = 'takeback_journal'
/** What connections that listen are called, followed by a name of their process. */
const LISTENER = 'takeback listener '
/** How long a notice waits for more commits: those of that time share it. */
const GATHER_MS = 20

const NOTIFY = compile(sql`SELECT pg_notify(${param('$channel')}, '')`, dialect.placeholder)
const OTHERS = compile(
  sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
    AND starts_with(application_name, ${param('$prefix')}) AND application_name <> ${param('$own')} LIMIT 1`,
  dialect.placeholder,
)

/**
 * Tells other instances that something was committed, and hears it from them. A notice is sent after the commit: within
 * it, commits would wait for each other. It is sent only while some other instance listens, which is looked at once in a
 * while. All of it may fail, behind some poolers always: whoever listens also looks without a notice.
 */
export class Notices {
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

  add(heard: () => void): () => void {
    this.#listeners.add(heard)
    this.look().catch(() => {})
    return () => {
      this.#listeners.delete(heard)
      if (this.#listeners.size === 0) this.#hangUp()
    }
  }

  /** This process has committed something. */
  committed(): void {
    if (this.#listeners.size > 0) this.#tell()
    if (!this.#othersListen || this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#pool.query(NOTIFY, { $channel: CHANNEL }).catch(() => {})
    }, GATHER_MS)
    this.#timer.unref()
  }

  /** Who listens, and whether our own connection leads to where it should. */
  async look(): Promise<void> {
    if (this.#listeners.size > 0) await this.#listen()
    const rows = await this.#pool.query(OTHERS, { $prefix: LISTENER, $own: this.#own })
    this.#othersListen = rows.length > 0
  }

  async #listen(): Promise<void> {
    if (this.#opening || this.#closed) return
    this.#opening = true
    try {
      if (this.#open !== undefined && this.#open.url === (await this.#pool.url())) return
      this.#hangUp()
      const opened = await this.#pool.client(this.#own)
      this.#open = opened
      await opened.sql.listen(CHANNEL, () => this.#tell())
      if (this.#listeners.size === 0 || this.#closed) this.#hangUp()
    } catch (error) {
      this.#hangUp()
      throw error
    } finally {
      this.#opening = false
    }
  }

  #tell(): void {
    for (const heard of this.#listeners) heard()
  }

  #hangUp(): void {
    this.#open?.sql.close({ timeout: 0 }).catch(() => {})
    this.#open = undefined
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#listeners.clear()
    this.#hangUp()
  }
}
