import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'
import { isInTime } from '../in-time.ts'
import type { Feed } from '../journal/feed.ts'
import { type Position, positionParts } from '../journal/position.ts'
import type { Waker } from '../work/waker.ts'
import type { EventReader } from './event-reader.ts'
import { Group, type GroupParts, type Listener, OPERATIONS_AT_ONCE } from './group.ts'
import { ReadLanes } from './read-lanes.ts'
import { Semaphore } from './semaphore.ts'

/** How a listener gets what it has missed. */
export interface Missed {
  /** Delivers one page; returns whether there is more. */
  page(): Promise<boolean>
  /** Resolves once the client has read most of that. Nobody else waits for it. */
  read(): Promise<void>
}

const TICK_MS = 1000
/** After so many attempts, a listener gets a page while the others wait. */
const ATTEMPTS = 3

/** Reads the journal once for all listeners of this instance. Listeners first catch up by themselves, then join. */
export class Hub {
  readonly #feed: Feed
  readonly #groupParts: GroupParts
  readonly #waker: Waker
  readonly #groups = new Map<string, Group>()
  /** Everything up to here was handed to all groups; undefined while there are none. */
  #head: Position | undefined
  readonly #semaphore = new Semaphore(budget.catchUps)
  #turn: Promise<unknown> = Promise.resolve()
  #tickedAt = 0
  #stopFollowing: (() => void) | undefined

  constructor(feed: Feed, eventReader: EventReader, waker: Waker) {
    this.#feed = feed
    this.#groupParts = { eventReader, lanes: new ReadLanes(), onMore: () => waker.again() }
    this.#waker = waker
  }

  /** The position of listeners that want only new changes. */
  async now(): Promise<Position> {
    return this.#head ?? this.#feed.now()
  }

  /** Adds a listener that wants only new changes. Once this resolves, it misses none. */
  joinNow(listener: Listener): Promise<void> {
    return this.#exclusively(async () => {
      listener.position = await this.now()
      if (!listener.isOver) this.#add(listener)
    })
  }

  /** Adds a listener that has everything up to its position, once it has caught up. */
  async join(listener: Listener, missed: Missed): Promise<void> {
    for (let attempt = 0, isIn = false; !isIn && !listener.isOver; attempt++) {
      if (attempt > 0) await this.#catchUp(listener, missed)
      isIn = await this.#exclusively(async () => {
        if (this.#isBehind(listener) && attempt >= ATTEMPTS) await this.#page(listener, missed)
        const isFirst = this.#head === undefined && attempt === 0
        const isReady = !listener.isOver && !isFirst && !this.#isBehind(listener)
        if (isReady) this.#add(listener)
        return isReady
      })
    }
  }

  /** A slow listener reads outside of the semaphore: otherwise a few of them would keep all others from catching up. */
  async #catchUp(listener: Listener, { page, read }: Missed): Promise<void> {
    for (let more = true; more && !listener.isOver; ) {
      more = await this.#semaphore.run(page)
      await read()
    }
  }

  /** Delivers one page, while the others wait. If it takes long, the listener ends. */
  async #page(listener: Listener, { page }: Missed): Promise<void> {
    if (!(await isInTime(budget.feedDeliveryMs, page()))) listener.end()
  }

  leave(listener: Listener): void {
    const { key } = listener.subscription
    const group = this.#groups.get(key)
    group?.remove(listener)
    if (group?.isEmpty) this.#groups.delete(key)
    if (this.#groups.size > 0) return
    this.#stopFollowing?.()
    this.#stopFollowing = undefined
    this.#head = undefined
  }

  #isBehind({ position }: Listener): boolean {
    return this.#head !== undefined && positionParts(position).seq < positionParts(this.#head).seq
  }

  #add(listener: Listener): void {
    const { subscription, position } = listener
    this.#head ??= position
    const group = this.#groups.get(subscription.key) ?? new Group(subscription, this.#groupParts, this.#head)
    this.#groups.set(subscription.key, group)
    group.add(listener)
    this.#stopFollowing ??= this.#waker.follow(() => this.#wake())
  }

  /** Runs one function after the other. */
  #exclusively<T>(run: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(run)
    this.#turn = done.catch(() => {})
    return done
  }

  #wake(): Promise<void> {
    const now = performance.now()
    if (now - this.#tickedAt >= TICK_MS) {
      this.#tickedAt = now
      for (const group of [...this.#groups.values()]) group.tick()
    }
    return this.#moveOn()
  }

  async #moveOn(): Promise<void> {
    try {
      for (let more = true; more; ) more = await this.#exclusively(() => this.#move())
    } catch (error) {
      // If the database does not answer, listeners wait for the next time.
      if (!(error instanceof Failure)) for (const listener of this.#listeners()) listener.end()
    }
  }

  *#listeners(): Generator<Listener> {
    for (const group of [...this.#groups.values()]) yield* group.listeners()
  }

  /** Hands one page of the journal to all groups; returns whether there is more. */
  async #move(): Promise<boolean> {
    const head = this.#head
    if (head === undefined) return false
    const groups = [...this.#groups.values()]
    const entities = [...new Set(groups.flatMap(({ subscription }) => subscription.entities))]
    const page = await this.#feed.after(head, { limit: OPERATIONS_AT_ONCE, entities })
    if (this.#head !== undefined) this.#head = page.next
    // Nobody waits for a group that is behind, and nobody waits long for one that falls behind.
    const waited = groups.filter(({ isBehind }) => !isBehind)
    const taken = new Map(groups.map((group) => [group, group.take(page)]))
    await isInTime(budget.feedDeliveryMs, Promise.all(waited.map((group) => taken.get(group))))
    if (page.pending) this.#waker.again()
    return page.more
  }

  /** For `/api/health/details` and tests. */
  get listeners(): number {
    return [...this.#listeners()].length
  }
}
