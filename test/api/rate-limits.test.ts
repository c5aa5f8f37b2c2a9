import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { entity, everyone, signedIn, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import {
  ADMIN,
  eventually,
  newDatabase,
  onEveryStoreByHand,
  type TestRequest,
  TestServer,
} from '../harness.ts'
import { exchange, head } from '../raw.ts'

const declared = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {}, access: { create: everyone, read: everyone } }),
  staff: entity({ login: { userType: 'staff' }, fields: {}, access: { create: signedIn } }),
  notes: entity({ fields: { text: text() }, access: { create: everyone, read: everyone } }),
})

/** One hour each, so that no test depends on how long it takes. */
const flags = {
  'trusted-proxies': '127.0.0.1',
  'rate-limit': 'signups=6/1h,writes=5/1h,reads=8/1h,streams=3',
}

onEveryStoreByHand('rate limits', (store) => {
  let one: TestServer
  let other: TestServer
  let count = 0
  const from = (address: string, sent: TestRequest = {}): TestRequest => ({
    token: null,
    ...sent,
    headers: { 'X-Forwarded-For': address, ...sent.headers },
  })
  const newAddress = () => `198.51.100.${++count}`
  const account = () => ({ email: `u${++count}@example.com`, password: ADMIN.password })
  const statuses = async (times: number, call: (at: number) => Promise<{ status: number }>) => {
    const found: number[] = []
    for (let at = 0; at < times; at++) found.push((await call(at)).status)
    return found
  }
  const ofThese = (allowed: number, times: number, status: number) =>
    Array.from({ length: times }, (_, at) => (at < allowed ? status : 429))

  beforeAll(async () => {
    one = new TestServer(store, declared, flags)
    const database = await newDatabase(store, one.folder)
    one = new TestServer(store, declared, flags, database)
    other = new TestServer(store, declared, flags, database)
    await one.start()
    other.adminToken = one.adminToken
    await other.start()
  })
  afterAll(async () => {
    await other.stop()
    await one.remove()
  })

  describe('of streams', () => {
    // Keeps the answers: Bun closes a connection whose answer is garbage-collected.
    const opened = new Map<AbortController, Response>()
    afterAll(() => {
      for (const controller of opened.keys()) controller.abort()
    })
    /** Opens a stream. Returns its status, and a function that closes it. */
    const follow = async (address: string, token: string | null = null) => {
      const controller = new AbortController()
      const answer = await fetch(`${one.url}/api/changes/?entity=notes`, {
        headers: {
          Accept: 'text/event-stream',
          'X-Forwarded-For': address,
          ...(token !== null && { Authorization: `Bearer ${token}` }),
        },
        signal: controller.signal,
      })
      opened.set(controller, answer)
      return { answer, status: answer.status, close: () => controller.abort() }
    }

    test('hold for each address without a token, as long as they are open', async () => {
      const [mine, theirs] = [newAddress(), newAddress()]
      const [first] = [await follow(mine), await follow(mine), await follow(mine)]
      const { answer } = await follow(mine)
      expect([answer.status, await answer.json()]).toEqual([
        429,
        { message: 'Too many open streams. Close some, or try again later.', code: 'rate_limited' },
      ])
      expect(
        ['retry-after', 'ratelimit-policy', 'ratelimit'].map((name) => answer.headers.get(name)),
      ).toEqual(['30', '"streams";q=3', '"streams";r=0'])
      expect((await follow(theirs)).status).toBe(200)
      const { listeners } = one.context.hub
      first.close()
      await eventually(() => one.context.hub.listeners < listeners)
      expect((await follow(mine)).status).toBe(200)
      // A request that waits also takes a place, until it is answered.
      const wait = (seconds: number) =>
        one.call('GET', `/api/changes/?entity=notes&wait=${seconds}`, from(mine))
      expect([(await wait(1)).status, (await wait(0)).status]).toEqual([429, 200])
    })

    test('count each list of a stream of several', async () => {
      const address = newAddress()
      const many = async (count: number) => {
        const controller = new AbortController()
        const answer = await fetch(`${one.url}/api/changes/`, {
          method: 'POST',
          headers: {
            Accept: 'text/event-stream',
            'Content-Type': 'application/json',
            'X-Forwarded-For': address,
          },
          body: JSON.stringify({ lists: Array(count).fill({ entity: 'notes' }) }),
          signal: controller.signal,
        })
        opened.set(controller, answer)
        return answer.status
      }
      // Those that it had opened before it was refused are closed again.
      expect([await many(4), await many(2), await many(2), await many(1)]).toEqual([429, 200, 429, 200])
    })

    test('hold for each user with all keys and tickets, wherever they call from', async () => {
      const email = account().email
      const { token } = await one.user('users', { email })
      const call = async (path: string, body: object) =>
        (await one.call('POST', path, from(newAddress(), { token, body }))).body
      const { key } = await call('/api/auth/keys/', { name: 'Follower' })
      const used = [token, key, token]
      for (const one of used) expect((await follow(newAddress(), one)).status).toBe(200)
      for (const one of used) expect((await follow(newAddress(), one)).status).toBe(429)
      const { ticket } = await call('/api/auth/ticket/', {})
      const headers = { Accept: 'text/event-stream' }
      const asked = from(newAddress(), { headers })
      expect((await one.call('GET', `/api/changes/?entity=notes&ticket=${ticket}`, asked)).status).toBe(429)
      // Other users at the same address have their own limit.
      const { token: other } = await one.user('users', { email: account().email })
      expect((await follow(newAddress(), other)).status).toBe(200)
    })
  })

  describe('of reads and writes', () => {
    test('hold for each address, and tell what is left', async () => {
      const [mine, theirs] = [newAddress(), newAddress()]
      expect(await statuses(10, () => one.call('GET', '/api/notes/', from(mine)))).toEqual(
        ofThese(8, 10, 200),
      )
      const first = await one.call('GET', '/api/notes/', from(theirs))
      expect([first.headers.get('ratelimit-policy'), first.headers.get('ratelimit')]).toEqual([
        '"reads";q=8;w=28800',
        '"reads";r=7;t=3600',
      ])
      const refused = await one.call('GET', '/api/notes/', from(mine))
      expect(refused.body).toEqual({ message: 'Too many requests. Try again later.', code: 'rate_limited' })
      expect(refused.headers.get('ratelimit')).toMatch(/^"reads";r=0;t=28[78]\d\d$/)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3500)
      // Other kinds of requests have another limit.
      const write = from(mine, { body: { text: 'a' } })
      expect(await statuses(7, () => one.call('POST', '/api/notes/', write))).toEqual(ofThese(5, 7, 201))
    })

    test('hold for an address in all its spellings, and of IPv6 for its network', async () => {
      const spelled = ['::ffff:192.0.2.9', '192.0.2.9', '::FFFF:c000:0209', '0:0:0:0:0:ffff:192.0.2.9']
      const found = await statuses(10, (at) => one.call('GET', '/api/notes/', from(spelled[at % 4] ?? '')))
      expect(found).toEqual(ofThese(8, 10, 200))
      const six = await statuses(10, (at) => one.call('GET', '/api/notes/', from(`2001:db8:0:7::${at}`)))
      expect(six).toEqual(ofThese(8, 10, 200))
    })

    test('hold for each user, wherever they call from', async () => {
      const login = account()
      await one.expect(201, 'POST', '/api/users/', login)
      const { token } = await one.expect(200, 'POST', '/api/auth/login', login, { token: null })
      const call = () => one.call('GET', '/api/notes/', from(newAddress(), { token }))
      const first = await call()
      expect(first.headers.get('ratelimit')).toBe('"reads";r=7;t=3600, "reads-user";r=7;t=3600')
      expect(await statuses(9, call)).toEqual(ofThese(7, 9, 200))
      expect((await call()).headers.get('ratelimit')).toStartWith('"reads-user";r=0;')
    })

    test('do not hold for whoever is on this machine', async () => {
      expect(await statuses(20, () => one.call('GET', '/api/notes/', { token: null }))).toEqual(
        ofThese(20, 20, 200),
      )
      const { headers } = await one.call('GET', '/api/notes/')
      expect([headers.get('ratelimit'), headers.get('retry-after')]).toEqual([null, null])
    })

    test('do not hold for health, nor for OPTIONS', async () => {
      const address = newAddress()
      await statuses(10, () => one.call('GET', '/api/notes/', from(address)))
      expect(await statuses(20, () => one.call('GET', '/api/health', from(address)))).toEqual(
        ofThese(20, 20, 200),
      )
      expect(await statuses(20, () => one.call('OPTIONS', '/api/notes/', from(address)))).toEqual(
        ofThese(20, 20, 405),
      )
    })

    test('are decided before the body comes', async () => {
      const address = newAddress()
      await statuses(6, () => one.call('POST', '/api/notes/', from(address, { body: { text: 'a' } })))
      const headers = {
        'Content-Type': 'application/json',
        'Content-Length': '1000000',
        'X-Forwarded-For': address,
      }
      const { answers } = await exchange(one.url, [head('POST', '/api/notes/', headers)])
      expect(answers[0]?.status).toBe(429)
    })

    test('are those of all instances together', async () => {
      const address = newAddress()
      await statuses(4, () => one.call('POST', '/api/notes/', from(address, { body: { text: 'a' } })))
      // Instances know each other's counts once they have exchanged them.
      await eventually(async () => {
        const [row] = await one.query(
          'SELECT "full_at" FROM "takeback_rates" WHERE "key" = $1',
          `writes ${address}`,
        )
        return Number(row?.full_at) > Date.now() + 3 * 3_600_000
      })
      const call = () => other.call('POST', '/api/notes/', from(address, { body: { text: 'b' } }))
      expect((await call()).status).toBe(201)
      await eventually(async () => (await call()).status === 429)
      const rows = await one.query(`SELECT count(*) AS "n" FROM "notes" WHERE "text" = 'b'`)
      expect(Number(rows[0]?.n)).toBeLessThanOrEqual(5)
    })
  })

  describe('of sign-ups', () => {
    const signUp = (server: TestServer, address: string) =>
      server.call('POST', '/api/users/', from(address, { body: account() }))

    test('hold exactly, for all instances, however many come at once', async () => {
      const address = newAddress()
      // The limit of writes counts per instance until they have exchanged their counts.
      const found = await Promise.all(
        Array.from({ length: 10 }, (_, at) => signUp(at % 2 === 0 ? one : other, address)),
      )
      expect(found.map(({ status }) => status).filter((status) => status === 201).length).toBe(6)
      expect(found.filter(({ status }) => status === 429).length).toBe(4)
    })

    test('hold for whoever is on this machine too, and tell what is left', async () => {
      const before = await one.call('POST', '/api/users/', { token: null, body: account() })
      expect([before.status, before.headers.get('ratelimit')]).toEqual([201, '"signups";r=5;t=3600'])
      await statuses(5, () => one.call('POST', '/api/users/', { token: null, body: account() }))
      const after = await one.call('POST', '/api/users/', { token: null, body: account() })
      expect([after.status, after.body.code]).toEqual([429, 'rate_limited'])
      expect(after.headers.get('ratelimit')).toStartWith('"signups";r=0;')
      expect(Number(after.headers.get('retry-after'))).toBeGreaterThan(3500)
      // It does not hold for signed-in callers, or for types without login.
      expect((await one.call('POST', '/api/users/', { body: account() })).status).toBe(201)
      expect((await one.call('POST', '/api/notes/', { token: null, body: { text: 'a' } })).status).toBe(201)
    })

    test('count each one of a list and of a batch', async () => {
      const listed = newAddress()
      const list = from(listed, { body: Array.from({ length: 4 }, account) })
      const first = await one.call('POST', '/api/users/', list)
      expect([first.status, first.headers.get('ratelimit')?.split(', ').at(-1)]).toEqual([
        201,
        '"signups";r=2;t=14400',
      ])
      expect(
        (await one.call('POST', '/api/users/', from(listed, { body: [account(), account(), account()] })))
          .status,
      ).toBe(429)

      const batched = newAddress()
      const part = (path: string) => ({ method: 'POST', path, body: account() })
      const paths = ['/api/users/', '/api/users', '/api/users/?', '/api/users/', '/api/users/', '/api/users/']
      const batch = (parts: unknown[]) => one.call('POST', '/api/batch/', from(batched, { body: parts }))
      expect((await batch(paths.slice(0, 4).map(part))).status).toBe(200)
      expect((await batch(paths.slice(0, 3).map(part))).status).toBe(429)
      expect((await batch(paths.slice(0, 2).map(part))).status).toBe(200)
      expect((await batch([part('/api/users/')])).status).toBe(429)
      const rows = await one.query(
        `SELECT count(*) AS "n" FROM "takeback_rates" WHERE "key" = $1`,
        `signups ${batched}`,
      )
      expect(Number(rows[0]?.n)).toBe(1)
    })

    test('are refused as a whole where there are more than ever fit', async () => {
      const sent = from(newAddress(), { body: Array.from({ length: 7 }, account) })
      const { status, body } = await one.call('POST', '/api/users/', sent)
      expect([status, body.errors]).toEqual([422, { '': ['has 7 sign-ups: at most 6 are allowed at once'] }])
    })

    test('are not counted where nobody may sign up', async () => {
      const address = newAddress()
      const call = () => one.call('POST', '/api/staff/', from(address, { body: account() }))
      expect(await statuses(3, call)).toEqual([401, 401, 401])
      expect(
        await one.query('SELECT 1 FROM "takeback_rates" WHERE "key" = $1', `signups ${address}`),
      ).toEqual([])
    })
  })
})

onEveryStoreByHand('rate limits that are switched off', (store) => {
  let server: TestServer
  beforeAll(async () => {
    server = new TestServer(store, declared, {
      ...flags,
      'rate-limit': 'signups=off,writes=off,reads=off,streams=off',
    })
    await server.start()
  })
  afterAll(() => server.remove())

  test('do not hold, and no answer tells of them', async () => {
    const headers = { 'X-Forwarded-For': '198.51.100.1' }
    for (let at = 0; at < 10; at++) {
      const read = await server.call('GET', '/api/notes/', { headers, token: null })
      const write = await server.call('POST', '/api/notes/', { headers, token: null, body: { text: 'a' } })
      expect([
        read.status,
        write.status,
        read.headers.get('ratelimit'),
        write.headers.get('ratelimit'),
      ]).toEqual([200, 201, null, null])
    }
    const body = { email: 'a@example.com', password: ADMIN.password }
    const signUp = await server.call('POST', '/api/users/', { headers, token: null, body })
    expect([signUp.status, signUp.headers.get('ratelimit')]).toEqual([201, null])
  })
})
