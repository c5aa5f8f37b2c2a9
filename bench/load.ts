// A load generator for machines without wrk, and for latencies: keep-alive, no pipelining, requests as bytes made
// beforehand. generator.ts starts it, with its order as JSON on standard input; it prints the result as JSON.

/** A load for a number of milliseconds, or of a number of requests. */
interface LoadOrder {
  readonly port: number
  readonly connections: number
  readonly requests: readonly string[]
  readonly milliseconds?: number
  readonly count?: number
}

export interface LoadResult {
  readonly requests: number
  readonly failures: number
  readonly seconds: number
  /** The latency of each request, if a count was ordered. */
  readonly latencies: readonly number[]
}

interface Connection {
  sentAt: number
  /** The bytes of an answer that is not complete yet. */
  rest: Buffer
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')
const NOTHING = Buffer.alloc(0)

/** Returns the length of the answer at the start of these bytes; undefined if its head is not complete. */
function lengthOf(bytes: Buffer): number | undefined {
  const end = bytes.indexOf(END_OF_HEAD)
  if (end < 0) return undefined
  const head = bytes.toString('latin1', 0, end)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined && !head.startsWith('HTTP/1.1 204'))
    throw new Error(`An answer without a length: ${head}`)
  return end + END_OF_HEAD.length + Number(length ?? 0)
}

async function send({ port, connections, requests, milliseconds, count }: LoadOrder): Promise<LoadResult> {
  const ring = requests.map((request) => Buffer.from(request))
  const latencies: number[] = []
  const { promise: ended, resolve: end, reject: fail } = Promise.withResolvers<void>()
  let sent = 0
  let answered = 0
  let failures = 0

  function next(socket: Bun.Socket<Connection>): void {
    if (count !== undefined && sent >= count) return
    const request = ring[sent++ % ring.length] ?? NOTHING
    socket.data.sentAt = performance.now()
    if (socket.write(request) < request.length) fail(new Error('A request did not leave in one piece'))
  }

  function take(socket: Bun.Socket<Connection>, chunk: Buffer): void {
    const { data } = socket
    const bytes = data.rest.length === 0 ? chunk : Buffer.concat([data.rest, chunk])
    const length = lengthOf(bytes)
    if (length === undefined || bytes.length < length) {
      // Copied, because the runtime reuses the memory of the chunk.
      data.rest = Buffer.from(bytes)
      return
    }
    data.rest = NOTHING
    if (count !== undefined) latencies.push(performance.now() - data.sentAt)
    answered++
    // The first digit of the status: "HTTP/1.1 201".
    if (bytes[9] !== 0x32) failures++
    if (answered === count) end()
    else next(socket)
  }

  const open = () =>
    Bun.connect<Connection>({
      hostname: '127.0.0.1',
      port,
      data: { sentAt: 0, rest: NOTHING },
      socket: { data: take, close: () => fail(new Error('The server closed a connection')) },
    })
  const sockets = await Promise.all(Array.from({ length: connections }, open))
  const began = performance.now()
  for (const socket of sockets) next(socket)
  if (milliseconds !== undefined) setTimeout(end, milliseconds)
  await ended
  return { requests: answered, failures, seconds: (performance.now() - began) / 1000, latencies }
}

if (import.meta.main) {
  const order = (await Bun.stdin.json()) as LoadOrder
  console.log(JSON.stringify(await send(order)))
  process.exit(0)
}
