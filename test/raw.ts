import { connect } from 'node:net'

/** Bytes to send, or milliseconds to wait before the next. */
export type Segment = string | Uint8Array | number

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Exchange {
  /** All that came, as it came. */
  readonly text: string
  /** The answers in it, interim ones (1xx) left out. */
  readonly answers: readonly RawAnswer[]
  /** Whether the server ended the connection. */
  readonly closed: boolean
}

/** Speaks to a server byte by byte, as no client library would, until it closes, has answered so often (and so much `more` time has gone), or time is up. */
export function exchange(
  url: string,
  segments: readonly Segment[],
  {
    answers = 1,
    patience = 3000,
    more = 0,
    from,
  }: { answers?: number; patience?: number; more?: number; from?: string } = {},
): Promise<Exchange> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect({
      port: Number(port),
      host: hostname,
      ...(from !== undefined && { localAddress: from }),
    })
    let text = ''
    let over = false
    const finish = (closed: boolean) => {
      if (over) return
      over = true
      clearTimeout(timer)
      socket.destroy()
      resolve({ text, answers: answersIn(text), closed })
    }
    const timer = setTimeout(() => finish(false), patience)
    socket.setNoDelay(true)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (answersIn(text).length < answers) return
      if (more === 0) finish(false)
      else setTimeout(() => finish(false), more)
    })
    socket.on('close', () => finish(true))
    socket.on('error', () => finish(true))
    socket.on('connect', async () => {
      for (const segment of segments) {
        if (over) return
        if (typeof segment === 'number') await Bun.sleep(segment)
        else socket.write(segment)
      }
    })
  })
}

/** Whole answers, each as long as it says. */
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

/** The head of a request, with what every request here needs. */
export function head(method: string, path: string, headers: Readonly<Record<string, string>> = {}): string {
  const all = { Host: 'localhost', Accept: 'application/json', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** In chunks of this size (RFC 9112, section 7.1). */
export function chunked(body: string, size = 7): string {
  const bytes = Buffer.from(body)
  const parts: string[] = []
  for (let at = 0; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size)
    parts.push(`${part.length.toString(16)}\r\n${part.toString('latin1')}\r\n`)
  }
  return `${parts.join('')}0\r\n\r\n`
}
