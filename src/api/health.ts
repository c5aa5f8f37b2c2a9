import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'
import { Observer } from '../observe/observer.ts'
import type { Store } from '../store/store.ts'
import type { Runner } from '../work/runner.ts'

const RETRY_SOON = { 'Retry-After': '1' }

/** The status of the database: since when, and what went wrong. */
interface DatabaseHealth {
  readonly status: 'ok' | 'failed'
  readonly since: string
  readonly last: string
  readonly message: string | null
}

type AboutRelease = Readonly<Record<string, string | number>>

interface Known {
  /** About the running release. Part of the details. */
  readonly about?: AboutRelease
  readonly observer?: Observer
  readonly work?: Runner
}

/** Knows whether this server should get requests, and has the details for admins. */
export class Health {
  readonly #store: Store
  readonly #about: AboutRelease
  readonly #observer: Observer
  readonly #work: Runner | undefined
  #check: DatabaseHealth | undefined
  #stopping = false
  #probe: Promise<void> = Promise.resolve()
  #probedAt = Number.NEGATIVE_INFINITY

  constructor(store: Store, { about = {}, observer = new Observer(), work }: Known = {}) {
    this.#store = store
    this.#about = about
    this.#observer = observer
    this.#work = work
  }

  /** Makes the server unhealthy. It still serves requests. */
  stop(): void {
    this.#stopping = true
  }

  /** Throws if requests should go to another server. */
  async check(): Promise<void> {
    if (this.#stopping) throw new Failure('stopping', { headers: RETRY_SOON })
    await this.#database()
  }

  /** Records the outcome of a probe. */
  #record(message: string | null): void {
    const status = message === null ? 'ok' : 'failed'
    const before = this.#check
    const last = new Date().toISOString()
    this.#check = { status, since: before?.status === status ? before.since : last, last, message }
    if (status === (before?.status ?? 'ok')) return
    this.#observer.emit(message === null ? { kind: 'database_back' } : { kind: 'database_away', message })
  }

  /** For admins: the status of the database and of all background work, and the figures of the database. */
  async details(): Promise<object> {
    await this.#database().catch(() => {})
    const [figures, work] = await Promise.all([
      this.#store.figures().catch(() => null),
      this.#work?.state().catch(() => undefined),
    ])
    const checks = { database: this.#check, ...work?.recurring }
    const { queues = {}, aside = [] } = work ?? {}
    const failed = Object.values(checks).some((check) => check?.status === 'failed')
    const status = this.#stopping ? 'stopping' : failed ? 'failed' : 'ok'
    return { status, ...this.#about, checks, queues, aside, store: figures }
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
      this.#record(null)
    } catch (error) {
      this.#record(causeText(error))
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
