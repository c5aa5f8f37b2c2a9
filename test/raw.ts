import { connect, type Socket } from 'node:net'

/** Bytes to send, milliseconds to wait before the next, or how many answers to wait for before the next. */
export type Segment = string | Uint8Array | number | { readonly answers: number }

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Exchange {
  /** Everything that was received. */
  readonly text: string
  /** The answers in it, without interim ones (1xx). */
  readonly answers: readonly RawAnswer[]
  /** Whether the server ended the connection. */
  readonly closed: boolean
}

/** A connection on which bytes are sent as no client library would. */
export class Conversation {
  readonly #socket: Socket
  #text = ''
  #answers: readonly RawAnswer[] = []
  #closed = false
  #heard = Promise.withResolvers<void>()

  constructor(url: string, segments: readonly Segment[], from?: string) {
    const { hostname, port } = new URL(url)
    this.#socket = connect({
      port: Number(port),
      host: hostname,
      ...(from !== undefined && { localAddress: from }),
    })
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (chunk) => {
      this.#text += chunk.toString('latin1')
      this.#answers = answersIn(this.#text)
      this.#hear()
    })
    for (const end of ['close', 'error'] as const)
      this.#socket.on(end, () => {
        this.#closed = true
        this.#hear()
      })
    this.#socket.on('connect', () => this.#send(segments))
  }

  /** Everything so far. */
  get exchange(): Exchange {
    return { text: this.#text, answers: this.#answers, closed: this.#closed }
  }

  /** Waits until the server has closed the connection, or answered this often. */
  async until(answers: number): Promise<void> {
    while (!this.#closed && this.#answers.length < answers) await this.#heard.promise
  }

  end(): Exchange {
    const { exchange } = this
    this.#socket.destroy()
    return exchange
  }

  async #send(segments: readonly Segment[]): Promise<void> {
    for (const segment of segments) {
      if (typeof segment === 'number') await Bun.sleep(segment)
      else if (typeof segment === 'object' && 'answers' in segment) await this.until(segment.answers)
      else if (!this.#closed && !this.#socket.destroyed) this.#socket.write(segment)
    }
  }

  #hear(): void {
    this.#heard.resolve()
    this.#heard = Promise.withResolvers()
  }
}

interface Patience {
  readonly answers?: number
  /** How long to wait, in milliseconds. For an answer, it must be as long as a busy machine may take. */
  readonly patience?: number
  /** How long to keep listening after the last answer. */
  readonly more?: number
  readonly from?: string
}

/** Sends everything, and listens until the server closes, has answered this often (plus `more` time), or time is up. */
export async function exchange(
  url: string,
  segments: readonly Segment[],
  { answers = 1, patience = 50_000, more = 0, from }: Patience = {},
): Promise<Exchange> {
  const conversation = new Conversation(url, segments, from)
  const over = conversation.until(answers)
  const timer = Promise.withResolvers<void>()
  const timeout = setTimeout(timer.resolve, patience)
  await Promise.race([over, timer.promise])
  clearTimeout(timeout)
  if (more > 0 && !conversation.exchange.closed)
    await Promise.race([conversation.until(Number.POSITIVE_INFINITY), Bun.sleep(more)])
  return conversation.end()
}

/** Parses whole answers, by their stated lengths. */
function answersIn(text: string): RawAnswer[] {
  const found: RawAnswer[] = []
  for (let rest = text; ; ) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return found
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    )
    const status = Number(first.split(' ')[1])
    const length = Number(headers['content-length'] ?? 0)
    if (rest.length < end + 4 + length) return found
    if (status >= 200) found.push({ status, headers, body: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
}

/** Returns the head of a request, with the headers that every request here needs. */
export function head(method: string, path: string, headers: Readonly<Record<string, string>> = {}): string {
  const all = { Host: 'localhost', Accept: 'application/json', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** Encodes a body in chunks of this size (RFC 9112, section 7.1). */
export function chunked(body: string, size = 7): string {
  const bytes = Buffer.from(body)
  const parts: string[] = []
  for (let at = 0; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size)
    parts.push(`${part.length.toString(16)}\r\n${part.toString('latin1')}\r\n`)
  }
  return `${parts.join('')}0\r\n\r\n`
}
