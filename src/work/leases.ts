import { budget } from '../budget.ts'
import { isInTime } from '../in-time.ts'
import type { Observer } from '../observe/observer.ts'
import type { Params } from '../store/dialect.ts'
import type { Step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import { fencedStore } from './fenced-store.ts'
import { Interrupted, type Job, LeaseLost } from './job.ts'

/** The pause between two steps of a job, for other work. */
const PAUSE_MS = 20

/** The instance that does background work. */
export interface Instance {
  readonly store: Store
  readonly observer: Observer
  /** Its name, for other instances and for people. */
  readonly me: string
  /** How long a lease lasts unless it is renewed. */
  readonly leaseMs: number
  /** Says that something may be due now. */
  wake(): void
}

/** Rows that are held by one instance at a time. `$lease_key`, `$lease_holder` and `$lease_fence` name a lease on one. */
export interface LeaseTable {
  /** Extends the leases of `$lease_holder` on `$keys`; returns the key and the fencing token of each. */
  readonly renew: readonly Step[]
  /** Ends a lease whose work is not done: the row is due at once. */
  readonly release: readonly Step[]
  /** Finds the row while it is held, and locks it until the transaction ends. */
  readonly fence: Step
}

/** The work on a row that was just taken. */
export interface LeasedWork {
  /** The name, for people. */
  readonly name: string
  readonly key: string | number
  /** The fencing token: it counts how often the row was taken, so each holder has a greater one than those before. */
  readonly fence: number
  run(lease: Lease): Promise<void>
  /** Records the outcome and ends the lease; false if the lease was lost. `error` is undefined after a success. */
  finish(lease: Lease, error: unknown): Promise<boolean>
}

/** The right of this instance to work on one row. */
export class Lease implements Job {
  /** The parameters that identify the lease in a statement. */
  readonly params: Params
  readonly store: Store
  readonly began = performance.now()
  renewedAt = this.began
  readonly #name: string
  readonly #observer: Observer
  readonly #abort = new AbortController()
  readonly #lost = new AbortController()

  constructor(
    { store, observer, me }: Instance,
    { fence: step }: LeaseTable,
    { name, key, fence }: LeasedWork,
  ) {
    this.params = { $lease_key: key, $lease_fence: fence, $lease_holder: me }
    this.#name = name
    this.#observer = observer
    this.store = fencedStore(store, { step, params: this.params, lost: () => this.lose() })
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  get isLost(): boolean {
    return this.lost.aborted
  }

  /** A property instead of a method, so that `{ pause }` can be destructured from a job. */
  readonly pause = async (): Promise<void> => {
    await Bun.sleep(PAUSE_MS)
    this.signal.throwIfAborted()
  }

  /** Another instance has the lease: tells the work here to stop. */
  lose(): Error {
    if (!this.isLost) this.#observer.emit({ kind: 'lease_lost', work: this.#name })
    const lost = new LeaseLost(this.#name)
    this.#abort.abort(lost)
    this.#lost.abort(lost)
    return lost
  }

  interrupt(): void {
    this.#abort.abort(new Interrupted())
  }
}

/** The leases of this instance on the rows of a table. They are renewed while the work runs. */
export class Leases {
  readonly #instance: Instance
  readonly #table: LeaseTable
  readonly #held = new Map<string, { readonly lease: Lease; readonly fence: number }>()
  readonly #running = new Set<Promise<void>>()
  #timer: Timer | undefined
  #renewing = false
  #stopped = false

  constructor(instance: Instance, table: LeaseTable) {
    this.#instance = instance
    this.#table = table
  }

  /** Runs the work on a row that was just taken. Never rejects: failures are recorded and emitted. */
  work(piece: LeasedWork): Promise<void> {
    const lease = new Lease(this.#instance, this.#table, piece)
    if (this.#stopped) lease.interrupt()
    this.#hold(piece, lease)
    const running = this.#work(piece, lease).finally(() => {
      this.#running.delete(running)
      this.#instance.wake()
    })
    this.#running.add(running)
    return running
  }

  async #work(piece: LeasedWork, lease: Lease): Promise<void> {
    const { store, observer } = this.#instance
    try {
      const error = await attempt(piece, lease)
      this.#drop(piece, lease)
      if (lease.isLost) return
      if (error instanceof Interrupted) await store.write(this.#table.release, lease.params)
      else if (!(await piece.finish(lease, error))) lease.lose()
    } catch (error) {
      // The outcome could not be recorded: the work starts again when the lease has expired.
      if (!this.#stopped) observer.emit({ kind: 'work_failed', work: piece.name, error })
    }
  }

  #hold({ key, fence }: LeasedWork, lease: Lease): void {
    this.#held.set(String(key), { lease, fence })
    this.#timer ??= setInterval(() => this.#renew(), this.#instance.leaseMs / budget.leaseRenewals)
    this.#timer.unref()
  }

  #drop({ key }: LeasedWork, lease: Lease): void {
    if (this.#held.get(String(key))?.lease === lease) this.#held.delete(String(key))
    if (this.#held.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #renew(): Promise<void> {
    if (this.#renewing) return
    this.#renewing = true
    const leases = [...this.#held]
    const began = performance.now()
    try {
      const kept = await this.#renewed(leases.map(([key]) => key))
      for (const [key, { lease, fence }] of leases)
        if (kept.get(key) === fence) lease.renewedAt = began
        else if (this.#held.get(key)?.lease === lease) lease.lose()
    } catch {
      // The database does not answer. Until a lease has expired, no other instance can have taken it.
      for (const [, { lease }] of leases) if (began - lease.renewedAt > this.#instance.leaseMs) lease.lose()
    } finally {
      this.#renewing = false
    }
  }

  async #renewed(keys: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { store, me } = this.#instance
    const { rows } = await store.write(this.#table.renew, { $lease_holder: me, $keys: JSON.stringify(keys) })
    return new Map(rows.map(([key, fence]) => [String(key), Number(fence)]))
  }

  /** Tells all running work to end, and everything that is taken from now on. */
  interrupt(): void {
    this.#stopped = true
    for (const { lease } of this.#held.values()) lease.interrupt()
  }

  /** Waits until all work has ended. Work that takes too long loses its lease, and can no longer write. */
  async end(): Promise<void> {
    await isInTime(budget.workStopMs, Promise.all(this.#running))
    clearInterval(this.#timer)
    const left = [...this.#held.values()]
    this.#held.clear()
    await Promise.all(left.map(({ lease }) => this.#instance.store.write(this.#table.release, lease.params)))
  }
}

/** Runs the work; returns its error, or undefined after a success. */
async function attempt(piece: LeasedWork, lease: Lease): Promise<unknown> {
  try {
    lease.signal.throwIfAborted()
    await piece.run(lease)
    return undefined
  } catch (error) {
    // If it was told to end, that is the error, whatever it threw.
    return lease.signal.aborted ? lease.signal.reason : (error ?? new Error('It failed without an error.'))
  }
}
