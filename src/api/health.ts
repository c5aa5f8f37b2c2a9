import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'
import { Observer } from '../observe/observer.ts'
import type { Store } from '../store/store.ts'

const RETRY_SOON = { 'Retry-After': '1' }

/** The status of one part of the server: since when, and what went wrong. */
interface PartHealth {
  readonly status: 'ok' | 'failed'
  readonly since: string
  readonly last: string
  readonly message: string | null
}

type AboutRelease = Readonly<Record<string, string | number>>

export type HealthPart = 'database' | 'retention'

/** Whether this server should get requests, and the details for admins. */
export class Health {
  readonly #store: Store
  readonly #about: AboutRelease
  readonly #observer: Observer
  readonly #checks = new Map<HealthPart, PartHealth>()
  #stopping = false
  #probe: Promise<void> = Promise.resolve()
  #probedAt = Number.NEGATIVE_INFINITY

  /** `about` is part of the details. */
  constructor(
    store: Store,
    { about = {}, observer = new Observer() }: { about?: AboutRelease; observer?: Observer } = {},
  ) {
    this.#store = store
    this.#about = about
    this.#observer = observer
  }

  /** From now on it is unhealthy, but still serves requests. */
  stop(): void {
    this.#stopping = true
  }

  /** Throws if requests should go to another server. */
  async check(): Promise<void> {
    if (this.#stopping) throw new Failure('stopping', { headers: RETRY_SOON })
    await this.#database()
  }

  /** Records the outcome of a part's work; `error` if it failed. */
  note(part: HealthPart, error?: unknown): void {
    const status = error === undefined ? 'ok' : 'failed'
    const before = this.#checks.get(part)
    const last = new Date().toISOString()
    const since = before?.status === status ? before.since : last
    const message = error === undefined ? null : causeText(error)
    this.#checks.set(part, { status, since, last, message })
    if ((before?.status ?? 'ok') !== status)
      this.#observer.emit({ kind: 'check_changed', part, status, message })
  }

  /** For admins: the status of every part, and the figures of the database. */
  async details(): Promise<object> {
    await this.#database().catch(() => {})
    const figures = await this.#store.figures().catch(() => null)
    const checks = Object.fromEntries(this.#checks)
    const failed = Object.values(checks).some(({ status }) => status === 'failed')
    const status = this.#stopping ? 'stopping' : failed ? 'failed' : 'ok'
    return { status, ...this.#about, checks, store: figures }
  }

  /** Probes the database at most once in `healthMs`, and never twice at the same time. */
  #database(): Promise<void> {
    if (performance.now() - this.#probedAt < budget.healthMs) return this.#probe
    this.#probedAt = Number.POSITIVE_INFINITY
    this.#probe = this.#ping().finally(() => {
      this.#probedAt = performance.now()
    })
    this.#probe.catch(() => {})
    return this.#probe
  }

  async #ping(): Promise<void> {
    try {
      await this.#store.ping()
      this.note('database')
    } catch (error) {
      this.note('database', error)
      const known = error instanceof Failure && (error.code === 'unavailable' || error.code === 'outdated')
      throw known ? error : new Failure('unavailable', { cause: error, headers: RETRY_SOON })
    }
  }
}

/** The message of the cause. */
function causeText(error: unknown): string {
  const cause = error instanceof Failure ? (error.cause ?? error) : error
  return cause instanceof Error ? cause.message : String(cause)
}
