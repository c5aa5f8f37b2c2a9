import { budget } from '../budget.ts'
import type { Position } from '../journal/position.ts'
import type { Delivery } from './delivery.ts'
import type { Listener } from './group.ts'
import type { Hub } from './hub.ts'
import { type EventStream, RETRY_MS } from './stream.ts'
import type { CallerId, Subscription } from './subscription.ts'

/** What a stream follows, and for whom. */
export interface Streaming {
  readonly hub: Hub
  readonly subscription: Subscription
  readonly callerId: CallerId
  /** Undefined: from now on. */
  readonly from: Position | undefined
  /** The name of its events, if the stream follows several lists. */
  readonly name?: string
  /** A position as it is sent. */
  textOf(position: Position): string
  /** What comes after a position, a page at a time, until nothing does. */
  pageAfter(
    position: Position,
  ): Promise<{ readonly delivery: Delivery | undefined; readonly next: Position; readonly more: boolean }>
  /** Whether the caller may still listen. */
  isAlive(): Promise<boolean>
}

/** Before it is known where a list begins. */
const START = '' as Position
const encoder = new TextEncoder()
/** Many listeners are sent the same bytes: by delivery and by the name of the events. */
const framed = new WeakMap<Delivery, Map<string, Uint8Array>>()

/** The changes of one list on a stream: each is an event; the last one of an operation has the position as its id. */
export class FollowedList implements Listener {
  readonly subscription: Subscription
  readonly callerId: CallerId
  position: Position = START
  readonly #stream: EventStream
  readonly #following: Streaming
  /** The line that names the list in each event. */
  readonly #named: string
  #sentAt = 0
  #sending: Promise<void> = Promise.resolve()

  constructor(stream: EventStream, following: Streaming) {
    this.#stream = stream
    this.#following = following
    this.subscription = following.subscription
    this.callerId = following.callerId
    this.#named = following.name === undefined ? '' : `event: ${following.name}\n`
    if (following.from !== undefined) this.position = following.from
    stream.onEnd(() => following.hub.leave(this))
  }

  get isOver(): boolean {
    return this.#stream.isOver
  }

  /** Tells the client where the list begins. After that, nothing is missed. */
  async begin(): Promise<void> {
    const { hub, from } = this.#following
    if (from === undefined) await hub.joinNow(this)
    this.#send(`${this.#named}retry: ${RETRY_MS}\nid: ${this.#at}\n\n`)
  }

  /** Sends what the client has missed, and then what comes. */
  async catchUp(): Promise<void> {
    const { hub, from } = this.#following
    if (from === undefined) return
    await hub.join(this, { page: () => this.#page(), read: () => this.#stream.drain() })
  }

  get #at(): string {
    return this.#following.textOf(this.position)
  }

  async #page(): Promise<boolean> {
    const { delivery, next, more } = await this.#following.pageAfter(this.position)
    // A client may take its time to catch up, and the token may have ended meanwhile.
    if (!(await this.#following.isAlive())) this.end()
    this.position = next
    if (delivery !== undefined) this.#send(this.#frameOf(delivery))
    return more
  }

  deliver(delivery: Delivery): void {
    this.#whileAlive(() => this.#send(this.#frameOf(delivery)))
  }

  tick(): void {
    if (performance.now() - this.#sentAt < budget.heartbeatMs) return
    this.#sentAt = performance.now()
    // Without data no event comes of it, but a client that comes back continues from there. What is delivered until it is
    // sent comes after it.
    const at = this.#at
    this.#whileAlive(() => this.#send(`:\n${this.#named}id: ${at}\n\n`))
  }

  /** One after the other, for as long as the caller may listen. */
  #whileAlive(run: () => void): void {
    const next = async () => {
      if (this.isOver) return
      if (await this.#following.isAlive()) run()
      else this.end()
    }
    // If the database does not answer, the client comes back to where it was.
    this.#sending = this.#sending.then(next).catch(() => this.end())
  }

  #send(frame: string | Uint8Array): void {
    this.#sentAt = performance.now()
    this.#stream.send(frame)
  }

  #frameOf(delivery: Delivery): Uint8Array {
    const known = framed.get(delivery) ?? new Map<string, Uint8Array>()
    const frame = known.get(this.#named) ?? frameOf(delivery, this.#named, this.#following.textOf)
    framed.set(delivery, known.set(this.#named, frame))
    return frame
  }

  end(): void {
    this.#stream.end()
  }
}

function frameOf(delivery: Delivery, named: string, textOf: (position: Position) => string): Uint8Array {
  let text = ''
  for (const { position, events } of delivery.operations)
    for (const [at, event] of events.entries())
      text += `${named}${at === events.length - 1 ? `id: ${textOf(position)}\n` : ''}data: ${event}\n\n`
  return encoder.encode(text)
}
