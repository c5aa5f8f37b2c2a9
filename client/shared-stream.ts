import { errorOf } from './errors.ts'
import { followFeed } from './feed.ts'
import type { ListStream, StreamedList } from './streamed-list.ts'
import { growing, pause, type Transport } from './transport.ts'

/** Whether it would be answered in the same way again: not if the position is gone (410), and the list is read anew. */
export function isFinal(error: unknown): boolean {
  return /^4(?!10|29)/.test((error as { readonly status: string } | undefined)?.status as string)
}

/** One stream for every hundred lists of a client: without HTTP/2, browsers have only six connections to a server. */
export class SharedStream implements ListStream {
  readonly #transport: Transport
  readonly #lists = new Set<StreamedList>()
  #changed = new AbortController()

  constructor(transport: Transport) {
    this.#transport = transport
  }

  add(list: StreamedList): () => void {
    this.#lists.add(list)
    this.#reopen()
    return () => {
      if (this.#lists.delete(list)) this.#reopen()
    }
  }

  restart(): void {
    for (const list of this.#lists) list.fail()
  }

  #reopen(): void {
    this.#changed.abort()
    this.#changed = new AbortController()
    const lists = [...this.#lists]
    while (lists.length) void this.#run(lists.splice(0, 100), this.#changed.signal)
  }

  /** Runs until lists come or go. */
  async #run(lists: readonly StreamedList[], signal: AbortSignal): Promise<void> {
    // Lists that come together share a request. A stream that has ended is opened again after one or two seconds.
    for (let wait = 20; !signal.aborted; wait = growing(3))
      try {
        await pause(wait, signal)
        const asked = lists.map((list) => list.ask())
        await followFeed(this.#transport, asked, signal, (data, position, at) => {
          const list = lists[at] as StreamedList
          // A list that has left gets nothing more, even if more has been received for it.
          if (!this.#lists.has(list)) return
          const change = data && JSON.parse(data)
          if (change?.status) list.fail(errorOf(change.status, data as string))
          else list.take(change, position)
        })
      } catch (error) {
        if (isFinal(error)) for (const list of lists) list.fail(error)
      }
  }
}
