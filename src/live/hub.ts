import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'
import type { Feed, FeedPage } from '../journal/feed.ts'
import { type Position, positionParts } from '../journal/position.ts'
import type { Waker } from '../work/waker.ts'
import { type Delivery, deliveriesOf } from './delivery.ts'
import type { EventReader } from './event-reader.ts'
import { Semaphore } from './semaphore.ts'
import type { CallerId, Subscription } from './subscription.ts'

/** Somebody who is told of changes as they come. */
export interface Listener {
  readonly subscription: Subscription
  readonly callerId: CallerId
  /** Everything up to here was told. */
  position: Position
  /** Whether it is not to be told anything any more. */
  readonly isOver: boolean
  deliver(delivery: Delivery): void
  /** About once a second. */
  tick(): void
  /** Nothing more can be told. */
  end(): void
}

/** How a listener is told what it has missed. */
export interface Missed {
  /** Tells it one page; returns whether there is more. */
  page(): Promise<boolean>
  /** Until it has read most of that. Nobody else waits for it. */
  read(): Promise<void>
}

/** Those who follow the same, by the id of the caller. */
interface Group {
  readonly subscription: Subscription
  readonly members: Map<CallerId, Set<Listener>>
}

/** Operations that are looked at together. */
const OPERATIONS = 100
const TICK_MS = 1000
/** After so many attempts, a listener is told a page while the others wait. */
const ATTEMPTS = 3

/**
 * Reads the journal once for all listeners of this instance, and works out once for each group what it is told. Listeners
 * first catch up by themselves, then join.
 */
export class Hub {
  readonly #feed: Feed
  readonly #eventReader: EventReader
  readonly #waker: Waker
  readonly #groups = new Map<string, Group>()
  /** Everything up to here was told to all; undefined while there are none. */
  #head: Position | undefined
  readonly #semaphore = new Semaphore(budget.catchUps)
  #turn: Promise<unknown> = Promise.resolve()
  #tickedAt = 0
  #stopFollowing: (() => void) | undefined

  constructor(feed: Feed, eventReader: EventReader, waker: Waker) {
    this.#feed = feed
    this.#eventReader = eventReader
    this.#waker = waker
  }

  /** Where those who want nothing but what comes from now on begin. */
  async now(): Promise<Position> {
    return this.#head ?? this.#feed.now()
  }

  /** Takes in a listener that wants nothing but what comes from now on: once this is done, it misses nothing. */
  joinNow(listener: Listener): Promise<void> {
    return this.#exclusively(async () => {
      listener.position = await this.now()
      if (!listener.isOver) this.#add(listener)
    })
  }

  /** Takes in a listener that has been told everything up to its position, once it has caught up. */
  async join(listener: Listener, missed: Missed): Promise<void> {
    for (let attempt = 0, isIn = false; !isIn && !listener.isOver; attempt++) {
      if (attempt > 0) await this.#catchUp(listener, missed)
      isIn = await this.#exclusively(async () => {
        if (this.#isBehind(listener) && attempt >= ATTEMPTS) await missed.page()
        const isFirst = this.#head === undefined && attempt === 0
        const isReady = !listener.isOver && !isFirst && !this.#isBehind(listener)
        if (isReady) this.#add(listener)
        return isReady
      })
    }
  }

  /** A slow listener reads outside of the gate: otherwise a few of them would keep all others from catching up. */
  async #catchUp(listener: Listener, { page, read }: Missed): Promise<void> {
    for (let more = true; more && !listener.isOver; ) {
      more = await this.#semaphore.run(page)
      await read()
    }
  }

  leave(listener: Listener): void {
    const { subscription, callerId } = listener
    const group = this.#groups.get(subscription.key)
    const alike = group?.members.get(callerId)
    alike?.delete(listener)
    if (alike?.size === 0) group?.members.delete(callerId)
    if (group?.members.size === 0) this.#groups.delete(subscription.key)
    if (this.#groups.size > 0) return
    this.#stopFollowing?.()
    this.#stopFollowing = undefined
    this.#head = undefined
  }

  #isBehind({ position }: Listener): boolean {
    return this.#head !== undefined && positionParts(position).seq < positionParts(this.#head).seq
  }

  #add(listener: Listener): void {
    const { subscription, callerId, position } = listener
    const group = this.#groups.get(subscription.key) ?? { subscription, members: new Map() }
    this.#groups.set(subscription.key, group)
    const alike = group.members.get(callerId) ?? new Set()
    group.members.set(callerId, alike.add(listener))
    this.#head ??= position
    this.#stopFollowing ??= this.#waker.follow(() => this.#wake())
  }

  /** One after the other. */
  #exclusively<T>(run: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(run)
    this.#turn = done.catch(() => {})
    return done
  }

  #wake(): Promise<void> {
    const now = performance.now()
    if (now - this.#tickedAt >= TICK_MS) {
      this.#tickedAt = now
      for (const listener of this.#listeners()) listener.tick()
    }
    return this.#moveOn()
  }

  async #moveOn(): Promise<void> {
    try {
      for (let more = true; more; ) more = await this.#exclusively(() => this.#move())
    } catch (error) {
      // If the database does not answer, they wait for the next time.
      if (!(error instanceof Failure)) for (const listener of this.#listeners()) listener.end()
    }
  }

  *#listeners(): Generator<Listener> {
    for (const { members } of [...this.#groups.values()])
      for (const alike of [...members.values()]) yield* [...alike]
  }

  /** One page of the journal; returns whether there is more. */
  async #move(): Promise<boolean> {
    const head = this.#head
    if (head === undefined) return false
    const groups = [...this.#groups.values()]
    const entities = [...new Set(groups.flatMap(({ subscription }) => subscription.entities))]
    const page = await this.#feed.after(head, { limit: OPERATIONS, entities })
    const deliveries = await Promise.all(groups.map((group) => this.#deliveriesFor(group, page)))
    for (const [at, group] of groups.entries()) deliver(group, deliveries[at])
    if (this.#head !== undefined) this.#head = page.next
    if (page.pending) this.#waker.again()
    return page.more
  }

  async #deliveriesFor(
    { subscription, members }: Group,
    { operations }: FeedPage,
  ): Promise<Map<CallerId, Delivery>> {
    const concerning = operations.filter(({ changes, rest }) =>
      rest !== null ? true : changes.some(({ entity }) => subscription.entities.includes(entity)),
    )
    if (concerning.length === 0) return new Map()
    const callerIds = [...members.keys()]
    return deliveriesOf(await this.#eventReader.read({ subscription, callerIds, operations: concerning }))
  }

  /** For `/api/health/details` and tests. */
  get listeners(): number {
    return [...this.#listeners()].length
  }
}

function deliver({ members }: Group, deliveries: ReadonlyMap<CallerId, Delivery> = new Map()): void {
  for (const [callerId, delivery] of deliveries)
    for (const listener of [...(members.get(callerId) ?? [])]) {
      // One that has caught up by itself was told some of it before.
      const fresh = freshFor(listener, delivery)
      if (fresh === undefined) continue
      listener.position = fresh.position
      listener.deliver(fresh)
    }
}

function freshFor({ position }: Listener, delivery: Delivery): Delivery | undefined {
  const { seq } = positionParts(position)
  const isFresh = (one: { readonly position: Position }) => positionParts(one.position).seq > seq
  if (delivery.operations.every(isFresh)) return delivery
  const operations = delivery.operations.filter(isFresh)
  return operations.length === 0 ? undefined : { ...delivery, operations }
}
