import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'
import { isInTime } from '../in-time.ts'
import { Observer } from '../observe/observer.ts'
import type { Step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import type { Instance } from './leases.ts'
import { type AsideTask, type Queue, Queues } from './queues.ts'
import { type Recurring, Timetable } from './recurring.ts'
import type { RecurringState } from './recurring-statements.ts'
import type { AsideState, QueueState, TaskFilter, TaskState } from './task-statements.ts'

interface Settings {
  readonly observer?: Observer
  readonly leaseMs?: number
  readonly lookMs?: number
}

/** The state of background work. */
export interface WorkState {
  readonly recurring: Readonly<Record<string, RecurringState>>
  readonly queues: Readonly<Record<string, QueueState>>
  readonly aside: readonly AsideState[]
}

/**
 * Runs the background work of an instance. It looks for due work about once a second, with one read for all recurring
 * work and one for all queues, and at once after something was enqueued here. It writes nothing unless something is due.
 */
export class Runner {
  /** The name of this instance, as in leases. */
  readonly instance: string
  readonly #timetable: Timetable
  readonly #queues: Queues
  readonly #observer: Observer
  readonly #lookMs: number
  #timer: Timer | undefined
  #looking: Promise<void> | undefined
  #again = false
  #started = false
  #stopping: Promise<void> | undefined
  /** Whether the last look failed: only the first failure in a row is emitted. */
  #failed = false

  constructor(
    store: Store,
    { observer = new Observer(), leaseMs = budget.leaseMs, lookMs = budget.workLookMs }: Settings = {},
  ) {
    const me = `${hostname()} ${process.pid} ${randomBytes(4).toString('hex')}`
    this.instance = me
    const instance: Instance = { store, observer, me, leaseMs, wake: () => this.wake() }
    this.#timetable = new Timetable(instance)
    this.#queues = new Queues(instance)
    this.#observer = observer
    this.#lookMs = lookMs
  }

  /** Adds the tasks from `taskParams`. Append it to the steps of the write that causes them, then call `wake`. */
  get enqueue(): Step {
    return this.#queues.enqueue
  }

  /** Adds recurring work. Work and queues can be added at any time. */
  add(work: Recurring): void {
    this.#timetable.add(work)
    this.wake()
  }

  /** Adds a queue whose tasks run here. */
  handle(queue: Queue): void {
    this.#queues.add(queue)
    this.wake()
  }

  /** `all`: whether this instance has all queues of the declaration. Only then can it tell which tasks are orphans. */
  start({ all = false } = {}): void {
    this.#started = true
    this.#queues.all = all
    this.wake()
  }

  /** Says that something may be due: looks for it in the next turn of the event loop. */
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
      // If the database does not answer, requests report it.
      if (!this.#failed && !(error instanceof Failure))
        this.#observer.emit({ kind: 'work_failed', work: 'looking for work', error })
      this.#failed = true
    }
    this.#looking = undefined
    // Instances should not all look at the same time.
    if (this.#stopping === undefined) this.#lookIn(this.#again ? 0 : wait * (1 + Math.random() / 10))
  }

  /** Whether more tasks can be made for a queue in advance. */
  hasRoom(queue: string): Promise<boolean> {
    return this.#queues.hasRoom(queue)
  }

  /** Retries set-aside tasks of a queue: all of them, or those with this payload. Returns their number. */
  retryAside(queue: string, payload?: unknown): Promise<number> {
    return this.#queues.retryAside(queue, payload)
  }

  /** A page of all tasks, the newest first. */
  tasks(filter: TaskFilter): Promise<readonly TaskState[]> {
    return this.#queues.page(filter)
  }

  /** Retries a task now. Returns the number of retried tasks: 1 or 0. */
  retry(task: Pick<TaskState, 'id' | 'queue' | 'state'>): Promise<number> {
    return this.#queues.retry(task)
  }

  /** Makes recurring work due now. */
  bringForward(name: string): Promise<void> {
    return this.#timetable.bringForward(name)
  }

  /** The tasks of a queue that were set aside. */
  aside(queue: string): Promise<readonly AsideTask[]> {
    return this.#queues.aside(queue)
  }

  async state(): Promise<WorkState> {
    const [recurring, tasks] = await Promise.all([this.#timetable.state(), this.#queues.state()])
    return { recurring, ...tasks }
  }

  /** Starts nothing more, interrupts running work and ends its leases: other instances take over at once. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timetable.interrupt()
    this.#queues.interrupt()
    if (this.#looking !== undefined) await isInTime(budget.workStopMs, this.#looking)
    // If the database does not answer, the leases expire.
    await Promise.allSettled([this.#timetable.end(), this.#queues.end()])
  }
}
