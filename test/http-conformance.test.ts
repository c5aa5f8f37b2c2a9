import { afterAll, describe, expect, test } from 'bun:test'
import { eventually } from './harness.ts'
import { chunked, exchange, head, type Segment } from './raw.ts'

/**
 * How Bun's own server handles requests as bytes. We rely on some of it, and work around some. If a test fails after an
 * upgrade of Bun, see what the change means for `src/serve/http/`, then write down the new behaviour here.
 */

/** The part of a request that a handler sees. */
interface Handled {
  readonly method: string
  readonly url: string
  readonly host: string | null
  readonly length: string | null
  readonly body: string
  /** Whether it was aborted, one turn of the event loop after the body has come. */
  readonly aborted: boolean
}

const handled: Handled[] = []
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  development: false,
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  async fetch(request) {
    const body = await request.text().catch(() => 'cut off')
    await new Promise((next) => setImmediate(next))
    const { method, url, headers, signal } = request
    const known = { host: headers.get('host'), length: headers.get('content-length') }
    handled.push({ method, url, ...known, body, aborted: signal.aborted })
    const connection = headers.get('x-answer')
    return new Response('ok', { status: 201, headers: connection === null ? {} : { Connection: connection } })
  },
})
afterAll(() => server.stop(true))

interface Found {
  readonly statuses: readonly number[]
  readonly closed: boolean
  readonly handled: readonly Partial<Handled>[]
}

/** Waits for the expected number of answers, or for the expected end of the connection; then a moment longer. */
async function found(
  segments: readonly Segment[],
  expected: { readonly answers: number; readonly closed: boolean },
  keys: readonly (keyof Handled)[],
): Promise<Found> {
  handled.length = 0
  const { answers, closed } = await exchange(server.url.href, segments, {
    answers: expected.closed ? Number.POSITIVE_INFINITY : expected.answers,
    patience: 10_000,
    more: 100 + 3 * segments.reduce<number>((sum, one) => sum + (typeof one === 'number' ? one : 0), 0),
  })
  return {
    statuses: answers.map(({ status }) => status),
    closed,
    handled: handled.map((one) => Object.fromEntries(keys.map((key) => [key, one[key]]))),
  }
}

const post = (headers: Record<string, string>, body: string) => head('POST', '/a', headers) + body
const raw = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`
const length = (text: string) => ({ 'Content-Length': text })
const CHUNKED = { 'Transfer-Encoding': 'chunked' }

/** Name, bytes, answers, whether the connection ends, and what the handler sees. */
type Case = readonly [string, readonly Segment[], readonly number[], boolean, readonly Partial<Handled>[]]

function hold(cases: readonly Case[]): void {
  for (const [name, segments, statuses, closed, seen] of cases)
    test(name, async () => {
      const keys = Object.keys(seen[0] ?? {}) as (keyof Handled)[]
      const expected = { answers: statuses.length, closed }
      expect(await found(segments, expected, keys)).toEqual({ statuses, closed, handled: seen })
    })
}

describe('what we rely on', () => {
  hold([
    [
      'a body with its length',
      [post(length('5'), 'hello')],
      [201],
      false,
      [{ body: 'hello', aborted: false }],
    ],
    ['a body in chunks', [post(CHUNKED, chunked('hello'))], [201], false, [{ body: 'hello' }]],
    [
      'chunks with extensions',
      [post(CHUNKED, '5;a=b\r\nhello\r\n0\r\n\r\n')],
      [201],
      false,
      [{ body: 'hello' }],
    ],
    ['leading zeros of a length', [post(length('0005'), 'hello')], [201], false, [{ body: 'hello' }]],
    ['two different lengths are refused', [post(length('5\r\nContent-Length: 6'), 'hello')], [400], true, []],
    ['a list of lengths is refused', [post(length('5, 5'), 'hello')], [400], true, []],
    ['a signed length is refused', [post(length('+5'), 'hello')], [400], true, []],
    ['a hexadecimal length is refused', [post(length('0x5'), 'hello')], [400], true, []],
    ['an empty length is refused', [post(length(''), 'hello')], [400], true, []],
    ['a length and chunks are refused', [post({ ...length('5'), ...CHUNKED }, 'hello')], [400], true, []],
    [
      'other transfer codings are refused',
      [post({ 'Transfer-Encoding': 'gzip, chunked' }, '')],
      [400],
      true,
      [],
    ],
    [
      'a space before a colon is refused',
      [raw('POST /a HTTP/1.1', 'Host: x', 'Content-Length : 5')],
      [400],
      true,
      [],
    ],
    ['a folded header is refused', [raw('GET /a HTTP/1.1', 'Host: x', 'A: b', ' c')], [400], true, []],
    ['a header with NUL is refused', [raw('GET /a HTTP/1.1', 'Host: x', 'A: b\0c')], [400], true, []],
    ['a header with a lone CR is refused', [raw('GET /a HTTP/1.1', 'Host: x', 'A: b\rc')], [400], true, []],
    ['lines that end in LF alone are refused', ['GET / HTTP/1.1\nHost: x\n\n'], [505], true, []],
    ['no Host is refused', [raw('GET /a HTTP/1.1', 'Accept: */*')], [400], true, []],
    ['another version is refused', [raw('GET /a HTTP/1.2', 'Host: x')], [505], true, []],
    ['HTTP/2 without TLS is refused', [raw('PRI * HTTP/2.0', 'SM')], [400], true, []],
    ['a target without a slash is refused', [raw('GET a HTTP/1.1', 'Host: x')], [400], true, []],
    [
      'large headers are refused',
      [raw('GET /a HTTP/1.1', 'Host: x', `A: ${'b'.repeat(20_000)}`)],
      [431],
      true,
      [],
    ],
    [
      'many headers are refused',
      [raw('GET /a HTTP/1.1', 'Host: x', ...Array.from({ length: 300 }, (_, at) => `A${at}: b`))],
      [431],
      true,
      [],
    ],
    [
      '100 Continue, then the answer',
      [post({ ...length('5'), Expect: '100-continue' }, ''), 50, 'hello'],
      [201],
      false,
      [{ body: 'hello' }],
    ],
    [
      'what follows an answer is the next request',
      [head('GET', '/1'), 100, head('GET', '/2')],
      [201, 201],
      false,
      [{ url: 'http://localhost/1' }, { url: 'http://localhost/2' }],
    ],
    [
      'Connection: close of ours ends it',
      [head('GET', '/1', { 'X-Answer': 'close' })],
      [201],
      true,
      [{ method: 'GET' }],
    ],
    [
      'Connection: close of theirs ends it',
      [head('GET', '/1', { Connection: 'close' })],
      [201],
      true,
      [{ method: 'GET' }],
    ],
    ['HTTP/1.0 ends it', [raw('GET /a HTTP/1.0', 'Host: x')], [201], true, [{ url: 'http://x/a' }]],
    [
      'a target in absolute form loses its host',
      [raw('GET http://evil/a HTTP/1.1', 'Host: x')],
      [201],
      false,
      [{ url: 'http://x/a', host: 'x' }],
    ],
  ])
})

test('a client that goes is noticed', async () => {
  handled.length = 0
  await exchange(server.url.href, [post(length('9'), 'hello')], { patience: 100 })
  await eventually(() => handled.length > 0)
  expect(handled.map(({ body, aborted }) => [body, aborted])).toEqual([['cut off', true]])
})

describe('what we work around', () => {
  hold([
    // readBytes: a length is only trusted if it is one plain number.
    [
      'two equal lengths are one list',
      [post(length('5\r\nContent-Length: 5'), 'hello')],
      [201],
      false,
      [{ length: '5, 5', body: 'hello' }],
    ],
    // refuseAbandoned: the signal is set one turn later.
    [
      'a trailer is refused after the body was handed out',
      [post(CHUNKED, '5\r\nhello\r\n0\r\nX: y\r\n\r\n')],
      [400],
      true,
      [{ body: 'hello', aborted: true }],
    ],
    [
      'a body in chunks ends before its last CRLF',
      [post(CHUNKED, '5\r\nhello\r\n0\r\n')],
      [201],
      false,
      [{ body: 'hello', aborted: false }],
    ],
    [
      'two requests in one segment lose both answers',
      [post(length('5'), 'hello') + head('GET', '/2')],
      [],
      true,
      [{ method: 'POST', aborted: true }],
    ],
    [
      'bytes behind a body are refused after it was handed out',
      [post(length('5'), 'hello\r\n')],
      [400],
      true,
      [{ body: 'hello', aborted: true }],
    ],
    // refuseHost
    [
      'two Hosts are one list',
      [raw('GET /a HTTP/1.1', 'Host: x', 'Host: y')],
      [201],
      false,
      [{ url: 'http://x/a', host: 'x, y' }],
    ],
    [
      'a Host that is none is left out of the URL',
      [raw('GET /a HTTP/1.1', 'Host: x/y?z')],
      [201],
      false,
      [{ url: '/a', host: 'x/y?z' }],
    ],
    // targetOf
    [
      'an empty Host is left out of the URL',
      [raw('GET /a HTTP/1.1', 'Host:')],
      [201],
      false,
      [{ url: '/a', host: '' }],
    ],
    [
      'HTTP/1.0 without Host has a path for a URL',
      [raw('GET /a HTTP/1.0', 'Accept: */*')],
      [201],
      true,
      [{ url: '/a', host: null }],
    ],
    [
      'a URL may be one that URL refuses: xn--a',
      [raw('GET /a HTTP/1.1', 'Host: xn--a')],
      [201],
      false,
      [{ url: 'http://xn--a/a' }],
    ],
    [
      'a URL may be one that URL refuses: a port',
      [raw('GET /a HTTP/1.1', 'Host: h:99999')],
      [201],
      false,
      [{ url: 'http://h:99999/a' }],
    ],
    // Connection: close for CONNECT
    [
      'CONNECT swallows what follows',
      [raw('CONNECT a:80 HTTP/1.1', 'Host: a:80'), 100, head('GET', '/2')],
      [201],
      false,
      [{ method: 'CONNECT', url: 'a:80' }],
    ],
    [
      'CONNECT with Connection: close does not',
      [raw('CONNECT a:80 HTTP/1.1', 'Host: a:80', 'X-Answer: close')],
      [201],
      true,
      [{ method: 'CONNECT' }],
    ],
    // docs/instances.md: none of our code runs.
    [
      'an unknown method ends the connection without an answer',
      [raw('FOO /a HTTP/1.1', 'Host: x')],
      [],
      true,
      [],
    ],
    ['a method in small letters too', [raw('get /a HTTP/1.1', 'Host: x')], [], true, []],
    [
      'a body of GET is not handed out',
      [`${head('GET', '/a', length('5'))}hello`],
      [201],
      false,
      [{ body: '' }],
    ],
    ['OPTIONS * is refused', [raw('OPTIONS * HTTP/1.1', 'Host: x')], [400], true, []],
  ])
})
