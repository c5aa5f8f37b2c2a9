import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'
import type { FeedOperation, FeedPage } from '../journal/feed.ts'
import { laterOf, type Position, positionParts } from '../journal/position.ts'
import { type Delivery, deliveriesOf } from './delivery.ts'
import type { EventReader } from './event-reader.ts'
import type { OperationEvents } from './events.ts'
import type { ReadLanes } from './read-lanes.ts'
import type { CallerId, Subscription } from './subscription.ts'

/** Gets changes as they come. */
export interface Listener {
  readonly subscription: Subscription
  readonly callerId: CallerId
  /** Everything up to here was delivered. */
  position: Position
  /** Whether nothing may be delivered any more. */
  readonly isOver: boolean
  deliver(delivery: Delivery): void
  /** Called about once a second. */
  tick(): void
  /** Called when nothing more can be delivered. */
  end(): void
}

/** What all groups share. */
export interface GroupParts {
  readonly eventReader: EventReader
  readonly lanes: ReadLanes
  /** Called when more waits after a delivery. */
  onMore(): void
}

/** How many operations are read together. */
export const OPERATIONS_AT_ONCE = 100
/** After so many failed reads in a row, the listeners of a group end. */
const FAILURES_MAX = 5
/** The average pause after the first of these failures. It doubles each time. */
const PAUSE_MS = 1000

/**
 * The listeners of one subscription. Their events are read once for all of them. Each group goes at its own pace: a
 * filter that takes long, or cannot be evaluated, does not affect the others.
 */
export class Group {
  readonly subscription: Subscription
  readonly #shared: GroupParts
  readonly #members = new Map<CallerId, Set<Listener>>()
  /** Operations that are not delivered yet. */
  #waiting: FeedOperation[] = []
  /** The journal was read up to here. */
  #read: Position
  #delivering: Promise<void> | undefined
  #failures = 0
  #pausedUntil = 0
  /** How long the last read took, or may take if it is the first. */
  #lastMs: number

  constructor(subscription: Subscription, shared: GroupParts, read: Position) {
    this.subscription = subscription
    this.#shared = shared
    this.#read = read
    const looksFurther = subscription.types.some(({ plan }) => plan.dependencies.length > 0)
    this.#lastMs = looksFurther ? budget.feedDeliveryMs : 0
  }

  add(listener: Listener): void {
    const alike = this.#members.get(listener.callerId) ?? new Set()
    this.#members.set(listener.callerId, alike.add(listener))
  }

  remove(listener: Listener): void {
    const alike = this.#members.get(listener.callerId)
    alike?.delete(listener)
    if (alike?.size === 0) this.#members.delete(listener.callerId)
  }

  get isEmpty(): boolean {
    return this.#members.size === 0
  }

  /** Whether it still works on what came before, or has more to do. */
  get isBehind(): boolean {
    return this.#delivering !== undefined || this.#waiting.length > 0
  }

  *listeners(): Generator<Listener> {
    for (const alike of [...this.#members.values()]) yield* [...alike]
  }

  /** Adds a page of the journal. Resolves once it is delivered or, if the group is behind, at once. */
  async take({ operations, next }: FeedPage): Promise<void> {
    const { entities } = this.subscription
    const concerning = operations.filter(
      ({ changes, rest }) => rest !== null || changes.some(({ entity }) => entities.includes(entity)),
    )
    this.#waiting.push(...concerning)
    this.#read = next
    const changes = this.#waiting.reduce((sum, one) => sum + one.changes.length, 0)
    if (changes > budget.feedWaiting) return this.#end()
    const isPaused = performance.now() < this.#pausedUntil
    if (isPaused || this.#delivering !== undefined || this.#waiting.length === 0) return
    this.#delivering = this.#deliverNext().finally(() => {
      this.#delivering = undefined
    })
    await this.#delivering
  }

  /** Also advances listeners that see nothing of what has changed. */
  tick(): void {
    for (const listener of this.listeners()) {
      if (!this.isBehind) listener.position = laterOf(listener.position, this.#read)
      listener.tick()
    }
  }

  /** Delivers the next operations. If the database does not answer in time, they wait. */
  async #deliverNext(): Promise<void> {
    const operations = this.#waiting.slice(0, OPERATIONS_AT_ONCE)
    const { lanes, onMore } = this.#shared
    try {
      const events = await lanes.run(this.#lastMs, () => this.#readEvents(operations))
      this.#waiting = this.#waiting.slice(operations.length)
      this.#failures = 0
      for (const [callerId, delivery] of deliveriesOf(events)) this.#deliver(callerId, delivery)
      if (this.#waiting.length > 0) onMore()
    } catch (error) {
      this.#failures++
      if (!(error instanceof Failure) || this.#failures >= FAILURES_MAX) return this.#end()
      // Pauses are random, so that groups that failed together do not try again together.
      this.#pausedUntil = performance.now() + PAUSE_MS * 2 ** (this.#failures - 1) * (0.5 + Math.random())
    }
  }

  async #readEvents(operations: readonly FeedOperation[]): Promise<OperationEvents[]> {
    const { subscription } = this
    const callerIds = [...this.#members.keys()]
    const began = performance.now()
    try {
      return await this.#shared.eventReader.read({ subscription, callerIds, operations })
    } finally {
      this.#lastMs = performance.now() - began
    }
  }

  #deliver(callerId: CallerId, delivery: Delivery): void {
    for (const listener of [...(this.#members.get(callerId) ?? [])]) {
      // A listener that has caught up by itself already has some of it.
      const fresh = freshFor(listener, delivery)
      if (fresh === undefined) continue
      listener.position = fresh.position
      listener.deliver(fresh)
    }
  }

  /** Ends all listeners. Their clients connect again and catch up. */
  #end(): void {
    this.#waiting = []
    for (const listener of this.listeners()) listener.end()
  }
}

function freshFor({ position }: Listener, delivery: Delivery): Delivery | undefined {
  const { seq } = positionParts(position)
  const isFresh = (one: { readonly position: Position }) => positionParts(one.position).seq > seq
  if (delivery.operations.every(isFresh)) return delivery
  const operations = delivery.operations.filter(isFresh)
  return operations.length === 0 ? undefined : { ...delivery, operations }
}
