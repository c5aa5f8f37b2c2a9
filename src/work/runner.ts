import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'
import { Observer } from '../observe/observer.ts'
import type { Step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { Instance } from './leases.ts'
import { type Queue, Queues } from './queues.ts'
import { type Recurring, Timetable } from './recurring.ts'
import type { RecurringState } from './recurring-statements.ts'
import type { AsideState, QueueState } from './task-statements.ts'

interface Settings {
  readonly observer?: Observer
  readonly leaseMs?: number
  readonly lookMs?: number
}

/** How background work is. */
export interface WorkState {
  readonly recurring: Readonly<Record<string, RecurringState>>
  readonly queues: Readonly<Record<string, QueueState>>
  readonly aside: readonly AsideState[]
}

/**
 * What an instance does beside requests. It looks for work about once a second, with one read for all recurring work and
 * one for all queues, and at once where something was enqueued here. Nothing is written unless something is due.
 */
export class Runner {
  readonly #timetable: Timetable
  readonly #queues: Queues
  readonly #observer: Observer
  readonly #lookMs: number
  #timer: Timer | undefined
  #looking: Promise<void> | undefined
  #again = false
  #started = false
  #stopping: Promise<void> | undefined
  /** So that a look that fails each second is told once. */
  #failed = false

  constructor(
    store: Store,
    { observer = new Observer(), leaseMs = budget.leaseMs, lookMs = budget.workLookMs }: Settings = {},
  ) {
    const me = `${hostname()} ${process.pid} ${randomBytes(4).toString('hex')}`
    const instance: Instance = { store, observer, me, leaseMs, wake: () => this.wake() }
    this.#timetable = new Timetable(instance)
    this.#queues = new Queues(instance)
    this.#observer = observer
    this.#lookMs = lookMs
  }

  /** Adds tasks, as `taskParams` makes them: a step of the transaction that causes them. Then call `wake`. */
  get enqueue(): Step {
    return this.#queues.enqueue
  }

  /** Work that recurs. May be added at any time, as may a queue. */
  add(work: Recurring): void {
    this.#timetable.add(work)
    this.wake()
  }

  /** A queue whose tasks are done here. */
  handle(queue: Queue): void {
    this.#queues.add(queue)
    this.wake()
  }

  start(): void {
    this.#started = true
    this.wake()
  }

  /** There may be something to do: it is looked for as soon as what runs now has had its turn. */
  wake(): void {
    if (!this.#started || this.#stopping !== undefined) return
    if (this.#looking !== undefined) this.#again = true
    else this.#lookIn(0)
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#looking = this.#look()
    }, ms)
    this.#timer.unref()
  }

  async #look(): Promise<void> {
    this.#again = false
    let wait = this.#lookMs
    try {
      wait = Math.min(wait, ...(await Promise.all([this.#timetable.look(), this.#queues.look()])))
      this.#failed = false
    } catch (error) {
      // Where the database is away, requests say so.
      if (!this.#failed && !(error instanceof Failure))
        this.#observer.emit({ kind: 'work_failed', work: 'looking for work', error })
      this.#failed = true
    }
    this.#looking = undefined
    // Not all instances at once.
    if (this.#stopping === undefined) this.#lookIn(this.#again ? 0 : wait * (1 + Math.random() / 10))
  }

  /** Has recurring work done as soon as may be. */
  bringForward(name: string): Promise<void> {
    return this.#timetable.bringForward(name)
  }

  async state(): Promise<WorkState> {
    const [recurring, tasks] = await Promise.all([this.#timetable.state(), this.#queues.state()])
    return { recurring, ...tasks }
  }

  /** Begins nothing more, interrupts what runs, and gives back what is not done: other instances go on with it at once. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timetable.interrupt()
    this.#queues.interrupt()
    const late = Bun.sleep(budget.workStopMs)
    await Promise.race([this.#looking, late])
    // Where the database is away nothing can be given back: the leases run out.
    await Promise.allSettled([this.#timetable.end(), this.#queues.end()])
  }
}
