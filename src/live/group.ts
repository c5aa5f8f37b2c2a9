import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'
import type { FeedOperation, FeedPage } from '../journal/feed.ts'
import { laterOf, type Position, positionParts } from '../journal/position.ts'
import { type Delivery, deliveriesOf } from './delivery.ts'
import type { EventReader } from './event-reader.ts'
import type { OperationEvents } from './events.ts'
import type { ReadLanes } from './read-lanes.ts'
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

/** What all groups share. */
export interface GroupParts {
  readonly eventReader: EventReader
  readonly lanes: ReadLanes
  /** Called when there is more to tell after what was told. */
  onMore(): void
}

/** Operations that are looked at together. */
export const OPERATIONS_AT_ONCE = 100
/** So often in a row what a group is told cannot be worked out, until its listeners end. */
const FAILURES_MAX = 5
/** The pause after the first of these failures. It doubles each time. */
const PAUSE_MS = 500

/**
 * Those who follow the same. What they are told is worked out once for all of them. Each group goes at its own pace: a
 * filter that takes long, or cannot be evaluated, is no concern of the others.
 */
export class Group {
  readonly subscription: Subscription
  readonly #shared: GroupParts
  readonly #members = new Map<CallerId, Set<Listener>>()
  /** What the group was not told yet. */
  #waiting: FeedOperation[] = []
  /** Where the journal was read up to. */
  #read: Position
  #telling: Promise<void> | undefined
  #failures = 0
  #pausedUntil = 0
  /** How long the last read took, or may take if it is the first. */
  #lastMs: number

  constructor(subscription: Subscription, shared: GroupParts, read: Position) {
    this.subscription = subscription
    this.#shared = shared
    this.#read = read
    const looksFurther = subscription.types.some(({ plan }) => plan.dependencies.length > 0)
    this.#lastMs = looksFurther ? budget.feedTellMs : 0
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
    return this.#telling !== undefined || this.#waiting.length > 0
  }

  *listeners(): Generator<Listener> {
    for (const alike of [...this.#members.values()]) yield* [...alike]
  }

  /** Takes in a page of the journal. Done once the listeners were told of it, unless the group is behind. */
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
    if (isPaused || this.#telling !== undefined || this.#waiting.length === 0) return
    this.#telling = this.#tell().finally(() => {
      this.#telling = undefined
    })
    await this.#telling
  }

  /** Listeners that see nothing of what has changed come along. */
  tick(): void {
    for (const listener of this.listeners()) {
      if (!this.isBehind) listener.position = laterOf(listener.position, this.#read)
      listener.tick()
    }
  }

  /** Tells the next operations. If the database does not answer in time, they wait. */
  async #tell(): Promise<void> {
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
      // Not the same for all groups: a slow one may have been in the way of the others.
      this.#pausedUntil = performance.now() + PAUSE_MS * 2 ** this.#failures * (0.5 + Math.random())
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
      // One that has caught up by itself was told some of it before.
      const fresh = freshFor(listener, delivery)
      if (fresh === undefined) continue
      listener.position = fresh.position
      listener.deliver(fresh)
    }
  }

  /** They come back, and catch up by themselves. */
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
