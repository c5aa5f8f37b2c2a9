import { budget } from '../budget.ts'
import type { Params } from '../store/dialect.ts'
import type { Statement } from '../store/sql.ts'
import type { Step } from '../store/step.ts'
import { claim } from './claim.ts'
import { type Job, PermanentFailure } from './job.ts'
import { type Instance, type Lease, Leases } from './leases.ts'
import { compileOrphans, ORPHANED } from './orphans.ts'
import { clockTime, reasonOf, textOfTime } from './record.ts'
import { pauseAfter } from './schedule.ts'
import {
  type AsideState,
  asideStateOf,
  asideTaskColumns,
  compileTasks,
  type QueueState,
  queueStateOf,
  type Taken,
  type TaskFilter,
  type TaskState,
  type TaskStatements,
  taskKey,
  taskStateOf,
} from './task-statements.ts'

/** Something to do once, soon, outside of the request that caused it. */
export interface Task {
  readonly queue: string
  /** Tasks with the same key run one after another, in the order in which they were enqueued. */
  readonly key?: string
  /** Any JSON. It says what to do, but must not contain values of Entities: a purge does not look here. */
  readonly payload: unknown
}

/** How to run the tasks of a queue. */
export interface Queue {
  readonly name: string
  /** How many tasks run at once on each instance. */
  readonly atOnce?: number
  /**
   * Runs a task, possibly more than once: a crash can come before its end is recorded. If it throws, the task is
   * retried after a pause.
   */
  run(job: TaskJob): Promise<void>
}

export interface TaskJob extends Job {
  readonly id: number
  readonly key: string | null
  readonly payload: unknown
  /** Which attempt this is, from 1. */
  readonly attempt: number
}

/** A task that is no longer retried, with its payload. */
export interface AsideTask {
  readonly id: number
  readonly payload: unknown
  readonly since: string
  readonly attempts: number
  readonly error: string | null
}

/** How often to look for tasks that a wrong clock has delayed, or that no server can run. */
const CHECK_MS = 60_000

/** A queue, and the number of its tasks that run here. */
interface ActiveQueue {
  readonly queue: Queue
  running: number
}

/** All queues of an instance. */
export class Queues {
  readonly #instance: Instance
  readonly #statements: TaskStatements
  readonly #leases: Leases
  readonly #active = new Map<string, ActiveQueue>()
  #due: Statement | undefined
  #checkedAt = Number.NEGATIVE_INFINITY
  /** Whether this instance has all queues of the declaration. A command that runs one job has none. */
  all = false

  constructor(instance: Instance) {
    this.#instance = instance
    this.#statements = compileTasks(instance.store.dialect, instance.leaseMs)
    this.#leases = new Leases(instance, this.#statements.leases)
  }

  /** Adds the tasks from `taskParams`. Append it to the steps that cause them. */
  get enqueue(): Step {
    return this.#statements.enqueue
  }

  add(queue: Queue): void {
    if (this.#active.has(queue.name)) throw new Error(`There are two queues called ${queue.name}.`)
    this.#active.set(queue.name, { queue, running: 0 })
    this.#due = undefined
  }

  /** Starts due tasks; returns the milliseconds until the next one is due. */
  async look(): Promise<number> {
    await this.#checkWaiting()
    if (this.#active.size === 0) return Number.POSITIVE_INFINITY
    this.#due ??= this.#statements.due([...this.#active.keys()])
    const rows = await this.#instance.store.read(this.#due, {})
    const clock = clockTime(rows.find(([name]) => name === '')?.[1])
    const waits = rows.map(async ([name, next]) => {
      const active = this.#active.get(String(name))
      if (active === undefined || next == null) return Number.POSITIVE_INFINITY
      const wait = clockTime(next) - clock
      return wait > 0 ? wait : this.#fill(active)
    })
    return Math.min(...(await Promise.all(waits)))
  }

  async #checkWaiting(): Promise<void> {
    if (performance.now() - this.#checkedAt < CHECK_MS) return
    await this.#instance.store.write(this.#statements.hasten, {})
    if (this.all) await this.#setOrphansAside()
    this.#checkedAt = performance.now()
  }

  async #setOrphansAside(): Promise<void> {
    const { store, observer } = this.#instance
    const steps = compileOrphans(store.dialect, [...this.#active.keys()])
    if (steps.length === 0) return
    const { rows } = await store.write(steps, {})
    for (const [id, queue, key, attempts] of rows)
      observer.emit({
        kind: 'task_set_aside',
        queue: String(queue),
        id: Number(id),
        key: taskKey(key),
        attempts: Number(attempts),
        error: new Error(ORPHANED),
      })
  }

  /** Starts as many tasks as may run at once. When one of them ends, the Runner looks again. */
  async #fill(active: ActiveQueue): Promise<number> {
    const { store, me } = this.#instance
    const { name, atOnce = budget.tasksAtOnce } = active.queue
    const most = atOnce - active.running
    if (most <= 0) return Number.POSITIVE_INFINITY
    const { taken, parked } = await store.transact(() => claim(this.#statements, { queue: name, most, me }))
    for (const task of taken) this.#run(active, task)
    // Others may be due after the parked ones.
    return parked > 0 && taken.length < most ? 0 : Number.POSITIVE_INFINITY
  }

  #run(active: ActiveQueue, task: Taken): void {
    const { queue } = active
    const { id, attempts, fence } = task
    active.running++
    this.#leases
      .work({
        name: `task ${id} of ${queue.name}`,
        key: id,
        fence,
        async run(lease) {
          if (attempts > budget.taskAttempts) throw new Error('It was started too often and never finished.')
          await queue.run(jobOf(task, lease))
        },
        finish: (lease, error) => this.#finish(queue, task, lease, error),
      })
      .finally(() => {
        active.running--
      })
  }

  async #finish(queue: Queue, task: Taken, lease: Lease, error: unknown): Promise<boolean> {
    const { store, observer } = this.#instance
    const { id, key, attempts, clock } = task
    const ms = performance.now() - lease.began
    const params: Params = { ...lease.params, $queue: queue.name }
    if (error === undefined) {
      const { done } = await store.write(this.#statements.done, params)
      if (done) observer.emit({ kind: 'task_done', queue: queue.name, id, ms })
      return done
    }
    const failure = { queue: queue.name, id, key, attempts, error }
    params.$error = reasonOf(error)
    if (attempts >= budget.taskAttempts || error instanceof PermanentFailure) {
      const { done } = await store.write(this.#statements.setAside, params)
      if (done) observer.emit({ kind: 'task_set_aside', ...failure })
      return done
    }
    const pauseMs = pauseAfter(attempts)
    params.$next = textOfTime(clock + ms + pauseMs)
    const { done } = await store.write(this.#statements.retry, params)
    if (done) observer.emit({ kind: 'task_failed', ...failure, pauseMs })
    return done
  }

  /** All queues by name, whether or not they run here; and the tasks that were set aside last. */
  async state(): Promise<{ queues: Readonly<Record<string, QueueState>>; aside: readonly AsideState[] }> {
    const { store } = this.#instance
    const [rows, aside] = await Promise.all([
      store.read(this.#statements.state, {}),
      store.read(this.#statements.aside, {}),
    ])
    const found = new Map(rows.map((row) => [String(row[0]), queueStateOf(row)]))
    for (const name of this.#active.keys()) if (!found.has(name)) found.set(name, EMPTY_QUEUE)
    return { queues: Object.fromEntries(found), aside: aside.map(asideStateOf) }
  }

  /** Whether a queue has so few unfinished tasks that more can be made from the journal. */
  async hasRoom(queue: string): Promise<boolean> {
    const [row = []] = await this.#instance.store.read(this.#statements.ahead, { $queue: queue })
    const [tasks] = row
    return Number(tasks) < budget.followedTasks
  }

  /** Enqueues set-aside tasks of a queue again, after all others: all of them, or those with this payload. */
  async retryAside(queue: string, payload?: unknown): Promise<number> {
    const $payload = payload === undefined ? null : JSON.stringify(payload)
    const { rows } = await this.#instance.store.write(this.#statements.retryAside, {
      $queue: queue,
      $payload,
      $task: null,
    })
    this.#instance.wake()
    return rows.length
  }

  /** A page of all tasks, the newest first. */
  async page({ queue, state, before, task, most }: TaskFilter): Promise<readonly TaskState[]> {
    const rows = await this.#instance.store.read(this.#statements.page, {
      $queue: queue ?? null,
      $state: state ?? null,
      $before: before ?? null,
      $task: task ?? null,
      $most: most,
    })
    return rows.map(taskStateOf)
  }

  /** Makes a task due now; a set-aside task is enqueued again. Returns the number of retried tasks: 1 or 0. */
  async retry({ id, queue, state }: Pick<TaskState, 'id' | 'queue' | 'state'>): Promise<number> {
    const steps = state === 'aside' ? this.#statements.retryAside : this.#statements.hurry
    const { rows } = await this.#instance.store.write(steps, { $queue: queue, $payload: null, $task: id })
    this.#instance.wake()
    return rows.length
  }

  /** The tasks of a queue that were set aside. */
  async aside(queue: string): Promise<readonly AsideTask[]> {
    const rows = await this.#instance.store.read(this.#statements.asideOf, { $queue: queue })
    return rows.map(asideTaskColumns.read).map(({ id, payload, since, attempts, error }) => ({
      id: Number(id),
      payload: JSON.parse(String(payload)),
      since: String(since),
      attempts: Number(attempts),
      error: error == null ? null : String(error),
    }))
  }

  interrupt(): void {
    this.#leases.interrupt()
  }

  end(): Promise<void> {
    return this.#leases.end()
  }
}

/** The parameters of `enqueue`. */
export function taskParams(tasks: readonly Task[]): Params {
  const rows = tasks.map(({ queue, key = null, payload }) => [queue, key, JSON.stringify(payload)])
  return { $tasks: JSON.stringify(rows) }
}

function jobOf({ id, key, payload, attempts }: Taken, lease: Lease): TaskJob {
  return {
    id,
    key,
    payload: JSON.parse(payload),
    attempt: attempts,
    store: lease.store,
    signal: lease.signal,
    lost: lease.lost,
    pause: () => lease.pause(),
  }
}

const EMPTY_QUEUE: QueueState = { waiting: 0, running: 0, aside: 0, oldest: null }
