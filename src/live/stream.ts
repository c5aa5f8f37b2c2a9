import { budget } from '../budget.ts'

/** How a stream ends, and what it can hold until then. */
interface StreamEnd {
  /** How many lists it has: an operation may be told to all of them at once. */
  readonly lists: number
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal
  /** Closes the connection to a client that does not read. */
  hangUp(): void
}

/** How long clients wait before they connect again, in milliseconds. */
export const RETRY_MS = 2000
const encoder = new TextEncoder()

/** A stream of server-sent events to one client. A client that does not read is cut off before its events pile up. */
export class EventStream {
  readonly #end: StreamEnd
  readonly #leaving = new Set<() => void>()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #isOver = false
  #drained: (() => void) | undefined

  constructor(end: StreamEnd) {
    this.#end = end
  }

  /** The bytes. */
  open(): ReadableStream<Uint8Array> {
    const { stopping } = this.#end
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
          stopping.addEventListener('abort', this.#stop)
          if (stopping.aborted) this.#stop()
        },
        pull: () => this.#drained?.(),
        cancel: () => this.#close(),
      },
      { highWaterMark: budget.streamBytes, size: (chunk) => chunk?.byteLength ?? 0 },
    )
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** `leave` is called when the stream ends, however it does. */
  onEnd(leave: () => void): void {
    if (this.#isOver) leave()
    else this.#leaving.add(leave)
  }

  send(frame: string | Uint8Array): void {
    if (this.#isOver || this.#controller === undefined) return
    // Before the frame: one that is large, such as a page, says nothing of the client.
    const isFull = (this.#controller.desiredSize ?? 0) < -budget.streamBytes * this.#end.lists
    this.#controller.enqueue(typeof frame === 'string' ? encoder.encode(frame) : frame)
    if (isFull) this.#giveUp()
  }

  /** Until the client has read most of what was sent. One waits for it at a time. */
  async drain(): Promise<void> {
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

  end(): void {
    if (this.#isOver) return
    this.#close()
    this.#controller?.close()
  }

  /** The server stops. Clients come back spread over some time. Nobody waits for those that do not read. */
  readonly #stop = () => {
    this.send(`retry: ${Math.round(RETRY_MS * (0.5 + Math.random()))}\n\n`)
    this.#giveUp()
  }

  #giveUp(): void {
    this.end()
    this.#end.hangUp()
  }

  #close(): void {
    this.#isOver = true
    this.#drained?.()
    this.#end.stopping.removeEventListener('abort', this.#stop)
    for (const leave of this.#leaving) leave()
  }
}
