import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { bookings } from '../declarations.ts'
import { ADMIN, eventually, onEveryStore, onStore, runs, type TestServer } from '../harness.ts'
import { Conversation, chunked, exchange, head, type Segment } from '../raw.ts'

/** Enough runs that some of them are written. */
const RUNS = Math.max(runs(150), 100)
/** Connections at a time: those that wait for missing bytes wait together. */
const AT_ONCE = 100
/** After this time without bytes, the server is taken to be waiting for more. */
const QUIET_MS = 300

/** A create as bytes, with every possible mistake in its framing. */
interface Framed {
  readonly framing: 'length' | 'lengths' | 'chunks'
  readonly chunk: number
  readonly behind: string
  readonly mutation: Mutation
  readonly cuts: readonly number[]
}

type Mutation =
  | { readonly kind: 'none' }
  | { readonly kind: 'shorten'; readonly by: number }
  | { readonly kind: 'replace' | 'insert' | 'remove'; readonly at: number; readonly byte: string }
  | { readonly kind: 'swap'; readonly from: string; readonly to: string }

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Mutation>({ kind: 'none' }) },
  fc.record({ kind: fc.constant('shorten' as const), by: fc.integer({ min: 1, max: 12 }) }),
  fc.record({
    kind: fc.constantFrom('replace' as const, 'insert' as const, 'remove' as const),
    at: fc.nat(1000),
    byte: fc.constantFrom('\r', '\n', '\0', ' ', '0', '9', ':', ';', 'x', '\r\n', '\t', '{', '"', '\xff'),
  }),
  fc
    .constantFrom<[string, string]>(
      ['0\r\n\r\n', '0\r\nX-Trailer: y\r\n\r\n'],
      ['0\r\n\r\n', '0\r\nX: y\r\nContent-Length: 3\r\n\r\n'],
      ['0\r\n\r\n', '0\r\n'],
      ['0\r\n\r\n', '00000\r\n\r\n'],
      ['0\r\n\r\n', '0;a=b\r\n\r\n'],
      ['0\r\n\r\n', '-1\r\n\r\n'],
      ['HTTP/1.1', 'HTTP/1.0'],
      ['HTTP/1.1', 'HTTP/2.0'],
      ['Content-Length: ', 'Content-Length: 0'],
      ['Content-Length: ', 'Content-Length: +'],
      ['Content-Length: ', 'Content-Length: 1'],
      ['Content-Length: ', 'Transfer-Encoding: chunked\r\nContent-Length: '],
      ['Transfer-Encoding: chunked', 'Transfer-Encoding: xchunked'],
      ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked, identity'],
      ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked'],
      ['Host: localhost', 'Host: localhost\r\nHost: other'],
      ['Accept', 'Expect: 100-continue\r\nAccept'],
      ['Accept', 'Connection: close\r\nAccept'],
      ['Accept', 'Connection: Upgrade\r\nUpgrade: h2c\r\nAccept'],
    )
    .map(([from, to]) => ({ kind: 'swap' as const, from, to })),
)

const behind = fc.constantFrom(
  '',
  '',
  '',
  '\r\n',
  '\0',
  'GARBAGE\r\n\r\n',
  head('GET', '/api/health'),
  head('DELETE', '/api/rooms/1/'),
  head('CONNECT', 'a:80'),
  head('POST', '/api/rooms/', { 'Content-Type': 'application/json', 'Content-Length': '2' }),
  `${head('POST', '/api/rooms/', { 'Content-Type': 'application/json', 'Content-Length': '2' })}{}`,
  'GET /api/he',
)

const framed: fc.Arbitrary<Framed> = fc.record({
  framing: fc.constantFrom('length' as const, 'length' as const, 'lengths' as const, 'chunks' as const),
  chunk: fc.integer({ min: 1, max: 60 }),
  behind,
  mutation,
  cuts: fc.array(fc.nat(600), { maxLength: 3 }),
})

function bytesOf({ framing, chunk, behind, mutation }: Framed, title: string, token: string): string {
  const body = JSON.stringify({ title, beds: 1 })
  const length = String(body.length)
  const request =
    head('POST', '/api/rooms/', {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${token}`,
      ...(framing === 'chunks'
        ? { 'Transfer-Encoding': 'chunked' }
        : { 'Content-Length': framing === 'length' ? length : `${length}\r\nContent-Length: ${length}` }),
    }) + (framing === 'chunks' ? chunked(body, chunk) : body)
  return mutated(request, mutation) + behind
}

function mutated(text: string, mutation: Mutation): string {
  if (mutation.kind === 'none') return text
  if (mutation.kind === 'shorten') return text.slice(0, -mutation.by)
  if (mutation.kind === 'swap') return text.replace(mutation.from, () => mutation.to)
  // Half of the mutations are near the end, where the framing is.
  const at = mutation.at % 2 === 0 ? mutation.at % text.length : text.length - 1 - (mutation.at % 80)
  const { kind, byte } = mutation
  return text.slice(0, at) + (kind === 'remove' ? '' : byte) + text.slice(at + (kind === 'insert' ? 0 : 1))
}

/** Splits a request into segments, which may arrive as one. */
function segmentsOf(text: string, cuts: readonly number[]): Segment[] {
  const places = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length]
  return places
    .slice(1)
    .map((end, at) => Buffer.from(text.slice(places[at], end), 'latin1'))
    .filter((segment) => segment.length > 0)
}

interface Said {
  readonly title: string
  readonly text: string
  readonly conversation: Conversation
}

/** Returns the requests that were written but not answered with 2xx, or the other way round. */
async function unfaithful(server: TestServer, said: readonly Said[]): Promise<unknown[]> {
  const rows = await server.query('SELECT "title" FROM "rooms"')
  const written = new Set(rows.map(({ title }) => String(title)))
  return said
    .map(({ title, text, conversation: { exchange } }) => ({
      text,
      written: written.has(title),
      answered: exchange.answers.some(({ status, body }) => status < 300 && body.includes(`"${title}"`)),
      got: exchange.text,
    }))
    .filter(({ written, answered }) => written !== answered)
}

/** Waits until each is answered or closed, or the server has nothing more to say: by then, every write is answered. */
async function settle(server: TestServer, said: readonly Said[]): Promise<void> {
  const all = Promise.all(said.map(({ conversation }) => conversation.until(1))).then(() => 'all' as const)
  const heard = () => said.reduce((sum, { conversation }) => sum + conversation.exchange.text.length, 0)
  // A write that is still not answered after so many looks is what the test is about.
  for (let [looks, before] = [0, -1]; looks < 150; looks++, before = heard()) {
    if ((await Promise.race([all, Bun.sleep(QUIET_MS)])) === 'all') return
    // It comes after everything that was sent before, so that a slow server is waited for.
    await server.expect(200, 'GET', '/api/health')
    if (heard() === before && (await unfaithful(server, said)).length === 0) return
  }
}

onEveryStore('requests as bytes', bookings, (server) => {
  test('what is written is answered with 2xx, and what is not is not, however it is framed', async () => {
    let taken = 0
    const cases = fc.sample(framed, { numRuns: RUNS }).map((one, at) => {
      // The number is there twice, so that a mutation of one byte cannot make it the title of another case.
      const title = `framed ${at} ${at}.`
      return { title, text: bytesOf(one, title, server.adminToken), cuts: one.cuts }
    })
    for (let from = 0; from < cases.length; from += AT_ONCE) {
      const said = cases.slice(from, from + AT_ONCE).map(({ title, text, cuts }) => {
        return { title, text, conversation: new Conversation(server.url, segmentsOf(text, cuts)) }
      })
      await settle(server, said)
      expect(await unfaithful(server, said)).toEqual([])
      for (const { conversation } of said) if (conversation.end().answers[0]?.status === 201) taken++
    }
    // The property must not hold just because nothing is written.
    expect(taken).toBeGreaterThan(RUNS / 10)
    await server.expect(200, 'GET', '/api/health')
  }, 300_000)

  describe('a request with another one behind it, in one segment', () => {
    interface Write {
      readonly method: string
      readonly path: string
      readonly body?: unknown
      readonly token?: string
    }
    let count = 0
    const room = () => ({ title: `piped ${++count}`, beds: 2 })
    const created = async () => {
      const { headers, body } = await server.call('POST', '/api/rooms/', { body: room() })
      return { id: body.id, operation: headers.get('takeback-operation') }
    }
    const newRoom = async (method?: string, body?: unknown) => {
      const { id } = await created()
      if (method !== undefined) await server.expect(200, method, `/api/rooms/${id}/`, body)
      return id
    }
    const user = () => server.user('users', { email: `piped${++count}@example.com` })
    const writes: Record<string, () => Promise<Write>> = {
      create: async () => ({ method: 'POST', path: '/api/rooms/', body: room() }),
      'a list': async () => ({ method: 'POST', path: '/api/rooms/', body: [room()] }),
      batch: async () => {
        const part = { method: 'POST', path: '/api/rooms/', body: room() }
        return { method: 'POST', path: '/api/batch/', body: [part] }
      },
      update: async () => ({ method: 'PATCH', path: `/api/rooms/${await newRoom()}/`, body: { beds: 9 } }),
      replace: async () => ({ method: 'PUT', path: `/api/rooms/${await newRoom()}/`, body: room() }),
      delete: async () => ({ method: 'DELETE', path: `/api/rooms/${await newRoom()}/` }),
      restore: async () => ({ method: 'DELETE', path: `/api/rooms/${await newRoom('DELETE')}/?restore=1` }),
      purge: async () => ({ method: 'DELETE', path: `/api/rooms/${await newRoom('DELETE')}/?purge=1` }),
      revert: async () => {
        const id = await newRoom('PATCH', { beds: 7 })
        return { method: 'POST', path: `/api/rooms/${id}/revert/`, body: { version: 1 } }
      },
      undo: async () => ({ method: 'POST', path: `/api/operations/${(await created()).operation}/undo/` }),
      'undo of many': async () => {
        const since = new Date().toISOString()
        await newRoom()
        return { method: 'POST', path: '/api/operations/undo/', body: { entity: 'rooms', since } }
      },
      'sign-up': async () => {
        const body = { email: `new${++count}@example.com`, password: ADMIN.password }
        return { method: 'POST', path: '/api/users/', body }
      },
      password: async () => {
        const body = { password: ADMIN.password, new_password: 'another long password' }
        return { method: 'POST', path: '/api/auth/password', body, token: (await user()).token }
      },
      logout: async () => ({ method: 'POST', path: '/api/auth/logout', token: (await user()).token }),
    }
    const state = async () => [
      await server.rows('takeback_journal'),
      await server.rows('takeback_ended_sessions'),
    ]
    /** The log is written a moment later: a line of an earlier request with the same path must not count. */
    const untilLogged = async () => {
      const id = (await server.call('GET', '/api/auth/me')).headers.get('request-id') ?? ''
      await eventually(() => server.logged.join('').includes(id))
    }
    /** Requests are logged when they are over, whether or not anybody received the answer. */
    const over = (method: string, path: string, from: number) => () =>
      server.logged
        .slice(from)
        .join('')
        .includes(`"method":"${method}","path":"${path.split('?')[0]}`)

    for (const [name, make] of Object.entries(writes))
      for (const key of [undefined, `key-${name.replaceAll(' ', '-')}`])
        test(`is not done where its answer is dropped: ${name}${key === undefined ? '' : ', with a key'}`, async () => {
          const { method, path, body, token = server.adminToken } = await make()
          const text = body === undefined ? '' : JSON.stringify(body)
          const headers = { ...(key !== undefined && { 'Idempotency-Key': key }) }
          const request =
            head(method, path, {
              Authorization: `Bearer ${token}`,
              ...(body !== undefined && {
                'Content-Type': 'application/json',
                'Content-Length': String(text.length),
              }),
              ...headers,
            }) + text
          const before = await state()
          await untilLogged()
          const from = server.logged.length
          const { answers } = await exchange(server.url, [request + head('GET', '/api/health')], {
            answers: 2,
          })
          await eventually(over(method, path, from))
          const after = await state()
          // If Bun answers both one day, that is fine, too.
          if (answers.length > 0) return void expect([answers[0]?.status, after]).not.toEqual([200, before])
          expect(after).toEqual(before)
          const sent = body === undefined ? { token, headers } : { token, headers, body }
          const alone = await server.call(method, path, sent)
          const outcome = alone.status < 300 ? 'done' : alone.text
          expect([outcome, alone.headers.get('idempotent-replay')]).toEqual(['done', null])
        })
  })
})

onStore('sqlite', 'requests that come before the answer to the one before', bookings, (server) => {
  test('end the connection, and what was not answered was not written', async () => {
    const cases = fc.sample(fc.tuple(fc.integer({ min: 0, max: 60 }), fc.boolean()), { numRuns: RUNS })
    for (let from = 0; from < cases.length; from += AT_ONCE) {
      const said = cases.slice(from, from + AT_ONCE).map(([wait, chunks], at) => {
        const title = `early ${from + at}.`
        const body = JSON.stringify({ title, beds: 1 })
        const text =
          head('POST', '/api/rooms/', {
            'Content-Type': 'application/json',
            Authorization: `Bearer ${server.adminToken}`,
            ...(chunks ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': String(body.length) }),
          }) + (chunks ? chunked(body).slice(0, -2) : body)
        const next = chunks ? 'X-Trailer: y\r\n\r\n' : head('GET', '/api/health')
        return { title, text, conversation: new Conversation(server.url, [text, wait / 10, next]) }
      })
      await settle(server, said)
      expect(await unfaithful(server, said)).toEqual([])
      for (const { conversation } of said) conversation.end()
    }
  }, 300_000)
})
