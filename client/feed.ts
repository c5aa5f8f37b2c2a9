import type { Transport } from './transport.ts'

/** The server sends something every 15 seconds. */
const SILENCE_MS = 45_000

/**
 * Takes one event of a list: a change as JSON, the position that has been reached, or both. `list` is the place of the list
 * in the request.
 */
export type TakeEvent = (data: string | undefined, position: string | undefined, list: number) => void

/** Follows the changes of lists until the stream ends. */
export async function followFeed(
  transport: Transport,
  lists: readonly object[],
  signal: AbortSignal,
  take: TakeEvent,
): Promise<void> {
  const { response } = await transport.open('POST', 'changes/', {
    repeat: 'always',
    headers: { Accept: 'text/event-stream' },
    options: { signal },
    body: { lists },
    stream: true,
  })
  const reader = (response.body as ReadableStream).pipeThrough(new TextDecoderStream()).getReader()
  const end = () => reader.cancel().catch(() => {})
  try {
    for (let rest = ''; ; ) {
      const silence = setTimeout(end, SILENCE_MS)
      const { done, value } = await reader.read().finally(() => clearTimeout(silence))
      if (done) return
      const events = (rest + value).split('\n\n')
      rest = events.pop() as string
      for (const event of events) {
        // Its lines: the key before the colon, the value after it.
        const lines = event.split('\n').map((line) => line.split(/: ?(.*)/s))
        const { data, id, event: list } = Object.fromEntries(lines)
        take(data, id, list)
      }
    }
  } finally {
    void end()
  }
}
