import { createRates } from './create-rates.ts'
import type { Options } from './options.ts'
import { type Server, startTakeback } from './processes.ts'
import { ask, logIn, makeDatabase } from './setup.ts'
import type { BenchStore } from './store.ts'
import { judge, type Line, whole } from './table.ts'

const LISTENERS = 1000
const BAR = { least: 0.9 }

/** Measures the cost of listeners to another type: creates, compared with a server without listeners. */
export async function measureListeners(store: BenchStore, options: Options): Promise<Line[]> {
  const database = await makeDatabase(store, 'listeners', { bookings: 1000 })
  const copy = await database.copy('nobody-listens')
  const servers = [await startTakeback(database), await startTakeback(copy)] as const
  const streams = await listen(servers[0])
  const [ours = 0, theirs = 0] = await createRates(servers, options)
  await checkHeard(servers[0], streams)
  for (const stream of streams) stream.close()
  await Promise.all(servers.map((server) => server.stop()))
  return [
    {
      what: `creates with ${whole(LISTENERS)} listeners on another type`,
      takeback: `${whole(ours)} /s`,
      against: `${whole(theirs)} /s without`,
      ratio: (ours / theirs).toFixed(2),
      ...judge(ours / theirs, BAR),
    },
  ]
}

/** A stream on its own socket: `fetch` opens at most 256 connections. */
class Stream {
  #text = ''
  #look: (() => void) | undefined
  #socket: Bun.Socket | undefined

  async open({ url }: Server, token: string): Promise<void> {
    const { hostname, port, host } = new URL(url)
    const take = (_: Bun.Socket, chunk: Buffer) => {
      this.#text += chunk.toString('latin1')
      this.#look?.()
    }
    this.#socket = await Bun.connect({ hostname, port: Number(port), socket: { data: take } })
    this.#socket.write(
      `GET /api/changes/?entity=rooms HTTP/1.1\r\nHost: ${host}\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    )
    // The first position: from here on, the stream misses nothing.
    await this.hears('id: ')
  }

  hears(word: string): Promise<void> {
    return new Promise((resolve) => {
      this.#look = () => {
        if (this.#text.includes(word)) resolve()
      }
      this.#look()
    })
  }

  close(): void {
    this.#socket?.end()
  }
}

async function listen(server: Server): Promise<readonly Stream[]> {
  const token = await logIn(server)
  const streams = Array.from({ length: LISTENERS }, () => new Stream())
  for (const stream of streams) await stream.open(server, token)
  return streams
}

/** Checks that all streams hear of one more room: streams that had ended would cost nothing. */
async function checkHeard(server: Server, streams: readonly Stream[]): Promise<void> {
  const title = 'The last one'
  await ask(server, 'POST', '/api/rooms/', await logIn(server), { title })
  await Promise.all(streams.map((stream) => stream.hears(title)))
}
