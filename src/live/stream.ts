import { budget } from '../budget.ts'
import type { Position } from '../journal/position.ts'
import type { Delivery } from './delivery.ts'
import type { Hub, Listener } from './hub.ts'
import type { Eyes, Subscription } from './subscription.ts'

/** What a stream is made of. */
export interface Streaming {
  readonly hub: Hub
  readonly subscription: Subscription
  readonly eyes: Eyes
  /** Undefined: from now on. */
  readonly from: Position | undefined
  /** A position as it is sent. */
  textOf(position: Position): string
  /** What comes behind a position, a page at a time, until nothing does. */
  pageAfter(
    position: Position,
  ): Promise<{ readonly delivery: Delivery | undefined; readonly next: Position; readonly more: boolean }>
  /** Whether the caller may still listen. */
  isAlive(): Promise<boolean>
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal
  /** Closes the connection to a client that does not read. */
  hangUp(): void
  /** The stream has ended, however it did. */
  over(): void
}

/** How long clients wait before they connect again, in milliseconds. */
const RETRY_MS = 2000
/** Before it is known where a stream begins. */
const START = '' as Position
const encoder = new TextEncoder()
/** Many listeners are sent the same bytes. */
const framed = new WeakMap<Delivery, Uint8Array>()

/** Server-sent events: each change is one; the last one of an operation has the position as its id. */
export class EventStream implements Listener {
  readonly subscription: Subscription
  readonly eyes: Eyes
  position: Position = START
  readonly #streaming: Streaming
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #sentAt = 0
  #isOver = false
  #sending: Promise<void> = Promise.resolve()
  #drained: (() => void) | undefined
  readonly #begun = Promise.withResolvers<void>()

  constructor(streaming: Streaming) {
    this.#streaming = streaming
    this.subscription = streaming.subscription
    this.eyes = streaming.eyes
    if (streaming.from !== undefined) this.position = streaming.from
  }

  /** The bytes. A client that does not read them is cut off before they pile up. */
  open(): ReadableStream<Uint8Array> {
    const { stopping } = this.#streaming
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
          stopping.addEventListener('abort', this.#stop)
          if (stopping.aborted) return this.#stop()
          this.#run().catch(() => this.end())
        },
        pull: () => this.#drained?.(),
        cancel: () => this.#close(),
      },
      { highWaterMark: budget.streamBytes, size: (chunk) => chunk?.byteLength ?? 0 },
    )
  }

  /** Once this is done, nothing is missed. */
  get begun(): Promise<void> {
    return this.#begun.promise
  }

  get isOver(): boolean {
    return this.#isOver
  }

  get #at(): string {
    return this.#streaming.textOf(this.position)
  }

  async #run(): Promise<void> {
    const { hub, from } = this.#streaming
    if (from === undefined) await hub.joinNow(this)
    this.#send(`retry: ${RETRY_MS}\nid: ${this.#at}\n\n`)
    this.#begun.resolve()
    if (from !== undefined) await hub.join(this, { page: () => this.#page(), read: () => this.#read() })
  }

  async #page(): Promise<boolean> {
    const { delivery, next, more } = await this.#streaming.pageAfter(this.position)
    // A client may take its time to catch up, and the token may have ended meanwhile.
    if (!(await this.#streaming.isAlive())) this.end()
    this.position = next
    if (delivery !== undefined) this.#send(frameOf(delivery, this.#streaming.textOf))
    return more
  }

  /** Until the client has read most of what was sent. */
  async #read(): Promise<void> {
    if (this.#isOver || (this.#controller?.desiredSize ?? 0) > 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const late = AbortSignal.timeout(budget.streamStallMs)
    this.#drained = resolve
    late.addEventListener('abort', () => {
      if (this.#drained === resolve) this.#giveUp()
      resolve()
    })
    await promise
    this.#drained = undefined
  }

  deliver(delivery: Delivery): void {
    this.#sending = this.#sending.then(async () => {
      if (this.#isOver) return
      if (await this.#streaming.isAlive()) this.#send(frameOf(delivery, this.#streaming.textOf))
      else this.end()
    })
  }

  tick(): void {
    if (performance.now() - this.#sentAt < budget.heartbeatMs) return
    this.#sentAt = performance.now()
    this.#sending = this.#sending.then(async () => {
      if (this.#isOver) return
      // Without data no event comes of it, but a client that comes back goes on from there.
      if (await this.#streaming.isAlive()) this.#send(`:\nid: ${this.#at}\n\n`)
      else this.end()
    })
  }

  #send(frame: string | Uint8Array): void {
    if (this.#isOver || this.#controller === undefined) return
    this.#sentAt = performance.now()
    this.#controller.enqueue(typeof frame === 'string' ? encoder.encode(frame) : frame)
    if ((this.#controller.desiredSize ?? 0) < -budget.streamBytes) this.#giveUp()
  }

  /** The server stops. Clients come back spread over some time. */
  readonly #stop = () => {
    this.#send(`retry: ${Math.round(RETRY_MS * (0.5 + Math.random()))}\n\n`)
    this.end()
  }

  #giveUp(): void {
    this.end()
    this.#streaming.hangUp()
  }

  end(): void {
    if (this.#isOver) return
    this.#close()
    this.#controller?.close()
  }

  #close(): void {
    this.#isOver = true
    this.#begun.resolve()
    this.#drained?.()
    this.#streaming.stopping.removeEventListener('abort', this.#stop)
    this.#streaming.hub.leave(this)
    this.#streaming.over()
  }
}

function frameOf(delivery: Delivery, textOf: (position: Position) => string): Uint8Array {
  const known = framed.get(delivery)
  if (known !== undefined) return known
  let text = ''
  for (const { position, events } of delivery.operations)
    for (const [at, event] of events.entries())
      text += `${at === events.length - 1 ? `id: ${textOf(position)}\n` : ''}data: ${event}\n\n`
  const made = encoder.encode(text)
  framed.set(delivery, made)
  return made
}
