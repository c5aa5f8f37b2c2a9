import { Failure } from '../errors.ts'
import type { Cursors } from '../journal/cursors.ts'
import type { Feed, FeedOperation } from '../journal/feed.ts'
import { type Position, PositionGone } from '../journal/position.ts'
import type { Observer } from '../observe/observer.ts'
import type { Store } from '../store/store.ts'
import { type Task, taskParams } from '../work/queues.ts'
import type { Runner } from '../work/runner.ts'
import type { Waker } from '../work/waker.ts'

/** What followers of the journal work with. */
export interface Following {
  readonly store: Store
  readonly feed: Feed
  readonly cursors: Cursors
  readonly waker: Waker
  readonly work: Runner
  readonly observer: Observer
}

export interface FollowerOptions {
  /** The name of its cursor. */
  readonly name: string
  /** The queue that its tasks are for. Default: that name. */
  readonly queue?: string
  /** Whether it makes tasks however many are not done: for queues in which one that is stuck does not stop the others. */
  readonly unbounded?: boolean
  /** The types whose changes it follows. */
  readonly entities: readonly string[]
  /** What is to be done because of an operation: tasks of its queue. */
  tasksOf(operation: FeedOperation): Promise<readonly Task[]>
}

/** Operations that are looked at together. */
const OPERATIONS = 100
/** How often the cursor is moved while there is nothing to do: what was read since then is read again after a restart. */
const IDLE_MS = 60_000

/**
 * Makes tasks from the journal: each operation becomes its tasks once, in the order of commits. The cursor moves in the
 * transaction that enqueues them, so instances can follow side by side: whoever is slower finds the cursor moved.
 */
export class Follower {
  readonly #following: Following
  readonly #options: FollowerOptions
  /** Where the cursor is, and how far the journal was read without finding anything to do. */
  #place: { readonly stored: Position; readonly read: Position; readonly since: number } | undefined
  #moving: Promise<void> | undefined
  #again = false
  #failed = false
  #stopFollowing: (() => void) | undefined
  #stopped = false

  constructor(following: Following, options: FollowerOptions) {
    this.#following = following
    this.#options = options
  }

  /** Makes the cursor of a new follower: it is told of everything from here on. */
  async prepare(): Promise<void> {
    await this.#following.cursors.at(this.#options.name)
  }

  start(): void {
    this.#stopFollowing = this.#following.waker.follow(() => this.#wake())
    this.#wake()
  }

  /** Until there are tasks for everything that is in the journal now. */
  async catchUp(): Promise<void> {
    this.#wake()
    await this.#moving
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#stopFollowing?.()
    await this.#moving
  }

  #wake(): void {
    this.#again = true
    this.#moving ??= this.#catchUp().finally(() => {
      this.#moving = undefined
    })
  }

  async #catchUp(): Promise<void> {
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false
        while (!this.#stopped && (await this.#move()));
      }
      this.#failed = false
    } catch (error) {
      this.#place = undefined
      // If the database does not answer, requests report it. It is tried again within a second.
      if (!this.#failed && !this.#stopped && !(error instanceof Failure))
        this.#following.observer.emit({ kind: 'work_failed', work: this.#options.name, error })
      this.#failed = true
    }
  }

  /** Reads one page; returns whether to go on at once. */
  async #move(): Promise<boolean> {
    const { feed, cursors, waker, work } = this.#following
    const { name, queue = name, entities, tasksOf, unbounded = false } = this.#options
    this.#place ??= await this.#known()
    const { stored, read, since } = this.#place
    try {
      const page = await feed.after(read, { limit: OPERATIONS, entities })
      if (page.pending) waker.again()
      if (page.next === read) return false
      const tasks = (await Promise.all(page.operations.map(tasksOf))).flat()
      const isIdle = tasks.length === 0
      if (isIdle && performance.now() - since < IDLE_MS) this.#place = { stored, read: page.next, since }
      else if (!isIdle && !unbounded && !(await work.hasRoom(queue))) return false
      else await this.#enqueue(stored, page.next, tasks)
      return page.more || this.#place === undefined
    } catch (error) {
      if (!(error instanceof PositionGone)) throw error
      this.#following.observer.emit({ kind: 'journal_cut', follower: name })
      this.#place = undefined
      return cursors.move(name, stored, await feed.oldest(entities))
    }
  }

  async #known(): Promise<{ stored: Position; read: Position; since: number }> {
    const stored = await this.#following.cursors.at(this.#options.name)
    return { stored, read: stored, since: performance.now() }
  }

  /** Where another instance was faster, the cursor is read anew. */
  async #enqueue(from: Position, to: Position, tasks: readonly Task[]): Promise<void> {
    const { store, cursors, work } = this.#following
    const { steps, params } = await cursors.moving(this.#options.name, from, to)
    const { done } = await store.write([...steps, work.enqueue], { ...params, ...taskParams(tasks) })
    this.#place = done ? { stored: to, read: to, since: performance.now() } : undefined
    if (done && tasks.length > 0) work.wake()
  }
}
