import type { Change } from './answers.ts'
import type { Transport } from './transport.ts'

/** The server sends something every 15 seconds. */
const SILENCE_MS = 45_000

/**
 * One event: a change, a place that has been reached, or, at the beginning, neither. The last change of an operation has a
 * position. False ends it.
 */
export type TakeEvent = (change: Change | undefined, position: string) => boolean

/** Follows the changes from a position on, or from now, until the stream ends. */
export async function followFeed(
  transport: Transport,
  query: object,
  signal: AbortSignal,
  take: TakeEvent,
): Promise<void> {
  const ended = new AbortController()
  const end = () => ended.abort()
  signal.addEventListener('abort', end)
  try {
    const { body } = await transport.open('GET', 'changes/', {
      query,
      headers: { Accept: 'text/event-stream' },
      options: { signal: ended.signal },
      stream: true,
    })
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    while (reader) {
      const silence = setTimeout(end, SILENCE_MS)
      const { done, value } = await reader.read().finally(() => clearTimeout(silence))
      if (done) return
      const events = (rest + value).split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) {
        const [, data] = /^data:(.*)/m.exec(event) ?? []
        const [, position = ''] = /^id: *(.*)/m.exec(event) ?? []
        if (!take(data && JSON.parse(data), position)) return
      }
    }
  } finally {
    signal.removeEventListener('abort', end)
    ended.abort()
  }
}
