import { SKEW_MS } from '../clock.ts'
import { type Job, Postponed } from './job.ts'
import { type Instance, type Lease, Leases } from './leases.ts'
import { clockTime, reasonOf, textOfTime } from './record.ts'
import {
  compileRecurring,
  type DueTime,
  dueTimeOf,
  type RecurringState,
  type RecurringStatements,
  recurringState,
  takenRow,
} from './recurring-statements.ts'
import { firstTime, longestPause, longestWait, nextTime, pauseAfter, type Schedule } from './schedule.ts'

/**
 * Recurring work, on one instance at a time: `every` so many milliseconds, or at its own `next` time. The database has
 * the last run and the last error, so a restart neither forgets nor repeats a run. However many runs were missed, one
 * makes up for them.
 */
export type Recurring = Schedule & {
  readonly name: string
  run(job: Job): Promise<void>
}

/** All recurring work of an instance. */
export class Timetable {
  readonly #instance: Instance
  readonly #statements: RecurringStatements
  readonly #leases: Leases
  readonly #work = new Map<string, Recurring>()
  readonly #running = new Set<string>()

  constructor(instance: Instance) {
    this.#instance = instance
    this.#statements = compileRecurring(instance.store.dialect, instance.leaseMs)
    this.#leases = new Leases(instance, this.#statements.leases)
  }

  add(work: Recurring): void {
    if (this.#work.has(work.name)) throw new Error(`There are two works called ${work.name}.`)
    this.#work.set(work.name, work)
  }

  /** Starts due work; returns the milliseconds until the next one is due. */
  async look(): Promise<number> {
    if (this.#work.size === 0) return Number.POSITIVE_INFINITY
    const rows = await this.#instance.store.read(this.#statements.look, {})
    const clock = clockTime(rows.find(([name]) => name === '')?.[1])
    const entries = new Map(rows.map((row) => [String(row[0]), dueTimeOf(row)]))
    const idle = [...this.#work.values()].filter(({ name }) => !this.#running.has(name))
    const waits = idle.map((work) => this.#consider(work, entries.get(work.name), clock))
    return Math.min(...(await Promise.all(waits)))
  }

  async #consider(work: Recurring, entry: DueTime | undefined, clock: number): Promise<number> {
    const { store, leaseMs } = this.#instance
    if (entry === undefined) {
      const first = firstTime(work, clock)
      await store.write(this.#statements.register, { $lease_key: work.name, $next: textOfTime(first) })
      return first - clock
    }
    const wait = entry.next - clock
    if (wait <= 0) return this.#take(work, entry.failures)
    const longest = entry.held ? leaseMs : longestWait(work, entry.failures, clock)
    if (wait <= longest + SKEW_MS) return wait
    await store.write(this.#statements.hasten, {
      $lease_key: work.name,
      $lease_fence: entry.fence,
      $next: textOfTime(clock + longest),
    })
    return longest
  }

  async #take(work: Recurring, failures: number): Promise<number> {
    const { store, me } = this.#instance
    const params = { $lease_key: work.name, $lease_holder: me }
    const [row] = (await store.write(this.#statements.take, params)).rows
    // Without a row, another instance was faster.
    if (row !== undefined) this.#run(work, { ...takenRow(row), failures })
    return Number.POSITIVE_INFINITY
  }

  #run(work: Recurring, run: { fence: number; clock: number; failures: number }): void {
    const { name } = work
    this.#running.add(name)
    this.#leases
      .work({
        name,
        key: name,
        fence: run.fence,
        run: async (lease) => {
          await work.run(lease)
        },
        finish: (lease, error) => this.#finish(work, { ...run, lease, error }),
      })
      .finally(() => this.#running.delete(name))
  }

  async #finish(
    work: Recurring,
    {
      clock,
      failures: before,
      lease,
      error,
    }: { clock: number; failures: number; lease: Lease; error: unknown },
  ): Promise<boolean> {
    const { store, observer } = this.#instance
    const ms = performance.now() - lease.began
    const failures = error === undefined || error instanceof Postponed ? 0 : before + 1
    const regular = nextTime(work, clock, clock + ms)
    const retry = clock + ms + pauseAfter(failures, longestPause(regular - clock))
    const { done } = await store.write(this.#statements.end, {
      ...lease.params,
      $next: textOfTime(failures === 0 ? regular : retry),
      $failures: failures,
      $error: error === undefined ? null : reasonOf(error),
    })
    if (done && error === undefined) observer.emit({ kind: 'work_done', work: work.name, ms })
    if (done && failures > 0) observer.emit({ kind: 'work_failed', work: work.name, error })
    return done
  }

  /** Makes work due now, unless it is running. */
  async bringForward(name: string): Promise<void> {
    await this.#instance.store.write(this.#statements.bringForward, { $lease_key: name })
    this.#instance.wake()
  }

  /** The state of all recurring work, by name. */
  async state(): Promise<Readonly<Record<string, RecurringState>>> {
    const rows = await this.#instance.store.read(this.#statements.state, {})
    const known = rows.filter(([name]) => this.#work.has(String(name)))
    return Object.fromEntries(known.map((row) => [String(row[0]), recurringState(row)]))
  }

  interrupt(): void {
    this.#leases.interrupt()
  }

  end(): Promise<void> {
    return this.#leases.end()
  }
}
