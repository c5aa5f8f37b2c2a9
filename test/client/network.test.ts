import { expect, spyOn, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiError, connect, type KeptSession, NetworkError, TooMany } from '../../client/client.ts'
import { endpoints } from '../../src/api/endpoints.ts'
import { budget } from '../../src/budget.ts'
import { ADMIN, eventually, giant, onStore } from '../harness.ts'
import { type Hotel, hotel } from './app.ts'
import { scenario } from './scenario.ts'

interface AnyRoute {
  route(path: string): Promise<unknown>
}
type Fetch = (url: string, init: RequestInit) => Promise<Response>
const headerOf = (init: RequestInit, name: string) => new Headers(init.headers).get(name)

onStore('sqlite', 'a bad network', hotel, (server) => {
  /** Loses every fourth answer to a request that may be repeated, half of them before the server sees the request. */
  function losing(): { fetch: Fetch; lost(): number } {
    let calls = 0
    let lost = 0
    const fetched: Fetch = async (url, init) => {
      const repeatable = init.method === 'GET' || headerOf(init, 'idempotency-key') !== null
      if (!repeatable || calls++ % 4 !== 0) return cut(await fetch(url, init))
      if (lost++ % 2 === 0) await (await fetch(url, init)).body?.cancel()
      throw new TypeError('the network is down')
    }
    return { fetch: fetched, lost: () => lost }
  }

  /** Ends a stream after each event. */
  function cut(response: Response): Response {
    if (!response.headers.get('content-type')?.includes('event-stream')) return response
    const once = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk)
        if (new TextDecoder().decode(chunk).includes('data:')) controller.terminate()
      },
    })
    return new Response(response.body?.pipeThrough(once), response)
  }

  const withAdmin = async (options: Parameters<typeof connect>[1]) => {
    const api = connect<Hotel>(server.url, options)
    await api.login(ADMIN)
    return api
  }

  giant('changes nothing: what is lost is asked for again, and written once', async () => {
    const network = losing()
    const place = { url: server.url, admin: ADMIN, run: 'lost', options: { fetch: network.fetch } }
    expect(await scenario(place)).toBe('done')
    expect(network.lost()).toBeGreaterThan(20)
  })

  test('a lost answer about Entities that are purged by now is not an error', async () => {
    let lose: (() => Promise<void>) | undefined
    const api = await withAdmin({
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        const then = lose
        if (then === undefined) return response
        lose = undefined
        await then()
        throw new TypeError('the network is down')
      },
    })
    const [gone, other] = await api.rooms.create([{ title: 'gone' }, { title: 'other' }])
    const [id, stays] = [gone?.id ?? 0, other?.id ?? 0]
    await api.rooms.delete(id)
    lose = async () => {}
    const { results } = await api.batch((batch) => [
      batch.rooms.update(stays, { title: 'changed' }),
      batch.rooms.purge(id),
    ])
    expect(JSON.stringify(results)).toBe('[null,null]')
    expect((await api.rooms.get(stays)).version).toBe(2)
    // Somebody purges what was just created.
    lose = async () => {
      const made = await server.expect(200, 'GET', '/api/rooms/?title=brief')
      for (const { id: brief } of made.data) {
        await server.expect(200, 'DELETE', `/api/rooms/${brief}/`)
        await server.expect(204, 'DELETE', `/api/rooms/${brief}/?purge=1`)
      }
    }
    expect(await api.rooms.create([{ title: 'brief' }, { title: 'brief' }])).toEqual([])
  })

  test('what must not be repeated is sent once', async () => {
    const sent: string[] = []
    const down: Fetch = async (url, init) => {
      sent.push(`${init.method} ${new URL(url).pathname}`)
      throw new TypeError('the network is down')
    }
    const api = connect<Hotel>(server.url, { fetch: down, retries: 1 })
    await expect(api.login(ADMIN)).rejects.toBeInstanceOf(NetworkError)
    const route = api.route('POST /api/checkout/:room/', { params: { room: 1 }, body: { note: '' } })
    await expect(route).rejects.toBeInstanceOf(NetworkError)
    await expect(api.rooms.get(1)).rejects.toBeInstanceOf(NetworkError)
    // The route has an Idempotency-Key, the read needs none.
    expect(sent.map((one) => one.split('/').at(-2))).toEqual(['auth', '1', '1', '1', '1'])
  })

  test('no call whose answer is a secret is given a key, and no other write below /api/system/ lacks one', async () => {
    for (const { method, path, answer } of endpoints.server) {
      if (answer === undefined) continue
      const keys: (string | null)[] = []
      const down: Fetch = async (_, init) => {
        keys.push(headerOf(init, 'idempotency-key'))
        throw new TypeError('the network is down')
      }
      const api = connect(server.url, { fetch: down, retries: 1 }) as unknown as AnyRoute
      const failed = await api.route(`${method} ${path}`).catch((error) => error)
      expect([path, failed instanceof NetworkError]).toEqual([path, true])
      if (answer === 'secret') expect([path, keys]).toEqual([path, [null]])
      else if (keys.length > 1) expect([path, keys]).toEqual([path, [keys[0] ?? 'a key', keys[0] as string]])
      if (/system|invitations/.test(path)) expect([path, keys.length]).toEqual([path, 2])
    }
  })

  test('a key of the caller is sent, wherever it is', async () => {
    const made = connect(server.url, { token: server.adminToken }).auth.keys.create(
      { name: 'K' },
      { key: 'k' },
    )
    await expect(made).rejects.toMatchObject({ errors: { 'Idempotency-Key': [expect.any(String)] } })
  })

  test('waits as long as the server says, and not longer than is sensible', async () => {
    let calls = 0
    const busy = (after: string, status: number): Fetch => {
      return async (url, init) => {
        if (calls++ > 0) return fetch(url, init)
        const body = '{"message":"Later.","code":"rate_limited"}'
        return new Response(body, { status, headers: { 'Retry-After': after } })
      }
    }
    const begun = performance.now()
    await connect(server.url, { fetch: busy('1', 503) }).health()
    expect([calls, performance.now() - begun > 990]).toEqual([2, true])
    calls = 0
    await expect(connect(server.url, { fetch: busy('900', 429) }).health()).rejects.toBeInstanceOf(TooMany)
    const silent: Fetch = (_, { signal }) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const impatient = connect(server.url, { fetch: silent, timeout: 20, retries: 1 })
    await expect(impatient.health()).rejects.toBeInstanceOf(NetworkError)
    const stopped = new AbortController()
    const call = impatient.rooms.create({ title: 'x' }, { signal: stopped.signal })
    stopped.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
  })

  test('a token is refreshed before it expires, once for many calls', async () => {
    let kept: KeptSession = {}
    const session = {
      read: () => kept,
      write(one: KeptSession) {
        kept = one
      },
    }
    let refreshes = 0
    let hold: Promise<void> | undefined
    let isHeld = false
    const counted: Fetch = async (url, init) => {
      if (url.endsWith('/api/auth/refresh')) refreshes++
      else if (hold !== undefined) {
        isHeld = true
        await hold
      }
      return fetch(url, init)
    }
    const api = await withAdmin({ session, fetch: counted })
    const lasts = Number(kept.refreshAt) - Date.now()
    expect([lasts > 3_600_000, typeof kept.device]).toEqual([true, 'string'])
    const { token } = kept
    kept = { ...kept, refreshAt: 0 }
    await Promise.all(Array.from({ length: 20 }, () => api.auth.me()))
    expect([refreshes, kept.token !== token]).toEqual([1, true])
    // A call that was under way when the token was replaced is sent again with the new token.
    const held = Promise.withResolvers<void>()
    hold = held.promise
    const late = api.rooms.create({ title: 'late' })
    await eventually(() => isHeld)
    hold = undefined
    await api.auth.refresh()
    held.resolve()
    expect((await late).title).toBe('late')
    // A dead token is forgotten, so that calls without a token work again.
    await server.expect(204, 'POST', '/api/auth/logout', undefined, { token: kept.token ?? '' })
    await expect(api.auth.me()).rejects.toMatchObject({ code: 'invalid_token' })
    expect(Object.keys(kept)).toEqual(['device'])
    kept = { token: token ?? '', refreshAt: 0 }
    await expect(api.auth.me()).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(kept).toEqual({})
    expect((await api.health()).status).toBe('ok')
  })

  test('a live list is read again when its position is gone, or the server says so', async () => {
    let streams = 0
    const odd: Fetch = async (url, init) => {
      if (!url.includes('/api/changes/')) return fetch(url, init)
      if (streams++ === 0)
        return new Response('event: 0\ndata: {"type":"error","status":410,"code":"position_gone"}\n\n')
      if (streams === 2) return new Response('event: 0\ndata: {"type":"reset","entity":"houses"}\n\n')
      return fetch(url, init)
    }
    const api = await withAdmin({ fetch: odd })
    const house = await api.houses.create({ name: 'Live', country: 'ch' })
    const shown: string[][] = []
    const stop = api.houses.live({ sort: 'name' }, (all) => shown.push(all.map(({ country }) => country)))
    await eventually(() => streams > 2)
    await house.update({ country: 'at' })
    await eventually(() => shown.at(-1)?.includes('at') === true)
    expect(shown.length).toBeGreaterThan(3)
    stop()
  })

  test('a live list is read again once, however often the server says so at once', async () => {
    let reads = 0
    let streams = 0
    const odd: Fetch = async (url, init) => {
      if (url.includes('/api/houses/?')) reads++
      if (!url.includes('/api/changes/') || streams++ > 0) return fetch(url, init)
      return new Response('event: 0\ndata: {"type":"reset","entity":"houses"}\n\n'.repeat(50))
    }
    const api = await withAdmin({ fetch: odd })
    const stop = api.houses.live({}, () => {})
    await eventually(() => streams > 1)
    expect(reads).toBe(2)
    stop()
  })

  test('more lists than one stream takes have several', async () => {
    let streams = 0
    const counting: Fetch = (url, init) => {
      if (url.includes('/api/changes/')) streams++
      return fetch(url, init)
    }
    const api = await withAdmin({ fetch: counting })
    const shown: string[][] = Array.from({ length: budget.streamLists + 1 }, () => [])
    const errors: unknown[] = []
    const onError = (error: unknown) => errors.push(error)
    const stops = shown.map((_, at) =>
      api.houses.live({}, (all) => (shown[at] = all.map(({ name }) => name)), { onError }),
    )
    await eventually(() => errors.length > 0 || streams > 1)
    await api.houses.create({ name: 'For all', country: 'ch' })
    await eventually(() => errors.length > 0 || shown.every((names) => names.includes('For all')))
    expect(errors).toEqual([])
    for (const stop of stops) stop()
  })

  test('an error that an app throws for one list leaves the others alone', async () => {
    let isRefused = true
    const refusing: Fetch = async (url, init) => {
      const { lists = [] } = url.includes('/api/changes/') ? JSON.parse(String(init.body)) : {}
      if (lists.length < 2 || !isRefused) return fetch(url, init)
      isRefused = false
      const at = lists.findIndex(({ filter }: { filter?: string }) => filter)
      return new Response(`event: ${at}\ndata: {"type":"error","status":403,"code":"forbidden"}\n\n`)
    }
    const api = await withAdmin({ fetch: refusing })
    const failed: string[] = []
    const rethrows = (name: string) => (error: unknown) => {
      failed.push(name)
      throw error
    }
    let shown: string[] = []
    const quiet = spyOn(console, 'error').mockImplementation(() => {})
    try {
      api.houses.live({ filter: 'country == "ch"' }, () => {}, { onError: rethrows('first') })
      const stop = api.houses.live({}, (all) => (shown = all.map(({ name }) => name)), {
        onError: rethrows('second'),
      })
      await eventually(() => !isRefused)
      // One that cannot be read at all.
      api.houses.live({ filter: 'nothing' }, () => {}, { onError: rethrows('third') })
      await api.houses.create({ name: 'Thrown', country: 'ch' })
      await eventually(() => failed.includes('third') && (shown.includes('Thrown') || failed.length > 2))
      expect(failed).toEqual(['first', 'third'])
      expect(quiet).toHaveBeenCalledTimes(2)
      stop()
    } finally {
      quiet.mockRestore()
    }
  })

  test('a live list is read again when another user logs in', async () => {
    const { password } = ADMIN
    const emails = ['live.ada@example.com', 'live.ben@example.com']
    for (const email of emails) await server.user('users', { email })
    const api = connect<Hotel>(server.url)
    const shown: string[][] = []
    const errors: unknown[] = []
    const onError = (error: unknown) => errors.push(error)
    let stop = () => {}
    for (const [at, email] of emails.entries()) {
      await api.login({ email, password })
      if (at === 0) stop = api.users.live({}, (all) => shown.push(all.map((user) => user.email)), { onError })
      await eventually(() => shown.at(-1)?.join() === email)
    }
    // Changes come from the new user's view, too.
    const { user } = await api.login({ email: emails[0] ?? '', password })
    await eventually(() => shown.at(-1)?.join() === emails[0])
    await api.users.update(user.id, { email: 'live.eve@example.com' })
    await eventually(() => shown.at(-1)?.join() === 'live.eve@example.com')
    await api.logout()
    await eventually(() => errors.length > 0)
    expect(errors).toMatchObject([{ status: 401 }])
    stop()
  })

  test('a live list is told of texts with any characters', async () => {
    const api = await withAdmin({})
    const shown: string[][] = []
    const stop = api.houses.live({}, (all) => shown.push(all.map(({ name }) => name)))
    await eventually(() => shown.length > 0)
    const name = 'a: b\u2028data: c\u2029d\u0085e\r\n\r\nid: f\ufeff"'
    await api.houses.create({ name, country: 'ch' })
    await eventually(() => shown.at(-1)?.includes(name) === true)
    stop()
  })
})

test('an answer of something else than Takeback is an error as well', async () => {
  const proxy: Fetch = async () => new Response('<h1>Bad Gateway</h1>', { status: 502 })
  const failed = await connect('http://x', { fetch: proxy, retries: 0 })
    .health()
    .catch((error) => error)
  expect([failed instanceof ApiError, failed.status, failed.code]).toEqual([true, 502, 'unknown'])
})

const folder = join(import.meta.dir, '..', '..', 'client')

test.each([false, true])(
  'an error has the same name where classes were renamed, and says which fields are wrong (minify: %p)',
  async (minify) => {
    const outdir = mkdtempSync(join(tmpdir(), 'takeback-client-'))
    const { outputs } = await Bun.build({ entrypoints: [join(folder, 'client.ts')], minify, outdir })
    const { connect: connectBuilt } = await import(outputs[0]?.path ?? '')
    const said = async (status: number, body: object) => {
      const fetch: Fetch = async () => Response.json(body, { status })
      return String(
        await connectBuilt('http://x', { fetch, retries: 0 })
          .health()
          .catch((error: unknown) => error),
      )
    }
    expect(await said(422, { message: 'Invalid Data', code: 'invalid_data', errors: {} })).toBe(
      'InvalidData: Invalid Data',
    )
    // Jest, Node's test runner and browsers show nothing else of an error.
    const errors = { 'address.city': ['is required'], beds: ['must be an integer', 'must be at least 1'] }
    expect(await said(422, { message: 'Invalid Data', code: 'invalid_data', errors })).toBe(
      'InvalidData: Invalid Data: address.city is required; beds must be an integer, must be at least 1',
    )
    expect(await said(404, { message: 'There is nothing here.', code: 'not_found' })).toBe(
      'ApiError: There is nothing here.',
    )
    rmSync(outdir, { recursive: true })
  },
)

test('the client has at most 6 KB, and needs nothing', async () => {
  const { outputs } = await Bun.build({ entrypoints: [join(folder, 'client.ts')], minify: true })
  const text = (await outputs[0]?.text()) ?? ''
  expect(Bun.gzipSync(text).length).toBeLessThanOrEqual(6 * 1024)
  expect(text).not.toMatch(/\bimport\b|\brequire\b|\bBun\b|\bprocess\b/)
  const used = readdirSync(folder).flatMap((file) => {
    const source = readFileSync(join(folder, file), 'utf8')
    return [...source.matchAll(/^(?:import|export) (type )?[^']*from '([^']+)'/gm)].map(
      ([, type, path = '']) => (path.startsWith('./') || type ? '' : path),
    )
  })
  expect([...new Set(used)].filter((path) => path !== '')).toEqual(['../src/declare/refusals.ts'])
})
