import { afterAll, beforeAll, expect, test } from 'bun:test'
import { eventually, onEveryStoreByHand, type TestDatabase } from '../harness.ts'
import { FULL_POOL, LOGIN, prepared, serve } from './process.ts'

const headers = { Accept: '*/*', 'Content-Type': 'application/json' }

onEveryStoreByHand('several servers on one database', (store) => {
  /** A client that sends each request to the next server. */
  function client(urls: readonly string[], token?: string) {
    let turn = 0
    return async (
      method: string,
      path: string,
      body?: unknown,
      more: Record<string, string> = {},
    ): Promise<{ status: number; body: any; replayed: boolean }> => {
      const response = await fetch(`${urls[turn++ % urls.length]}${path}`, {
        method,
        headers: { ...headers, ...more, ...(token !== undefined && { Authorization: `Bearer ${token}` }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const replayed = response.headers.has('idempotent-replay')
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text), replayed }
    }
  }

  let database: TestDatabase
  let servers: Awaited<ReturnType<typeof serve>>[]
  let urls: string[]
  beforeAll(async () => {
    const { args, ...made } = await prepared(store)
    database = made.database
    servers = await Promise.all([1, 2, 3].map(() => serve(args, { env: FULL_POOL })))
    urls = servers.map(({ url }) => url)
  })
  afterAll(async () => {
    expect(await Promise.all(servers.map((server) => server.end()))).toEqual([0, 0, 0])
    await database.remove()
  })

  const login = async () => {
    const { body } = await client(urls)('POST', '/api/auth/login', LOGIN)
    return client(urls, body.token)
  }

  test('what one of them ends is over on all of them', async () => {
    for (let round = 0; round < 2; round++) {
      const call = await login()
      for (const _ of urls) expect((await call('GET', '/api/auth/me')).status).toBe(200)
      expect((await call('POST', '/api/auth/logout')).status).toBe(204)
      const statuses = () => Promise.all(urls.map(async () => (await call('GET', '/api/auth/me')).status))
      // A file is checked once per millisecond; the state of a remote database is cached for half a second.
      if (store === 'sqlite') await Bun.sleep(2)
      else await eventually(async () => (await statuses()).every((status) => status === 401))
      expect(await statuses()).toEqual([401, 401, 401])
    }
  })

  test('each client finds what it wrote, wherever it asks, and the journal runs in one order', async () => {
    const call = await login()
    const work = Array.from({ length: 6 }, async (_, who) => {
      for (let round = 0; round < 10; round++) {
        const made = await call('POST', '/api/rooms/', { title: `${who} ${round}`, beds: 1 })
        expect(made.status).toBe(201)
        const path = `/api/rooms/${made.body.id}/`
        expect((await call('GET', path)).body).toEqual(made.body)
        expect((await call('PATCH', path, { beds: 2 })).body.version).toBe(2)
        expect((await call('DELETE', path)).status).toBe(200)
        expect((await call('GET', path)).status).toBe(404)
        expect((await call('DELETE', `${path}?restore=1`)).body).toMatchObject({ beds: 2, version: 4 })
      }
    })
    await Promise.all(work)
    const wrong = await database.query(
      `SELECT j.seq FROM takeback_journal j JOIN takeback_journal b
        ON b.entity = j.entity AND b.entity_id = j.entity_id AND b.version = j.version - 1
        WHERE b.seq > j.seq OR b.at > j.at`,
    )
    expect(wrong).toEqual([])
    const kinds = await database.query(
      "SELECT kind, count(*) AS n FROM takeback_journal WHERE entity = 'rooms' GROUP BY kind ORDER BY kind",
    )
    expect(kinds.map(({ kind, n }) => [kind, n])).toEqual(
      ['create', 'delete', 'restore', 'update'].map((kind) => [kind, 60]),
    )
  })

  test('what is sent to all of them at once with one key is done once', async () => {
    const call = await login()
    for (let round = 0; round < 15; round++) {
      const key = { 'Idempotency-Key': `round-${round}` }
      const room = { title: `once ${round}`, beds: 1 }
      const [path, body] =
        round % 3 === 0
          ? ['/api/rooms/', room]
          : round % 3 === 1
            ? ['/api/rooms/', [room]]
            : ['/api/batch/', [{ method: 'POST', path: '/api/rooms/', body: room }]]
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => call('POST', String(path), body, key)),
      )
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => (round % 3 === 2 ? 200 : 201)))
      for (const one of answers) expect(one.body).toEqual(answers[0]?.body)
      expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
    }
    expect(await database.query('SELECT count(*) AS n FROM rooms WHERE title LIKE $1', 'once %')).toEqual([
      { n: 15 },
    ])
  })

  test('failed logins are counted together', async () => {
    const attempt = client(urls)
    const statuses: number[] = []
    for (let tries = 0; tries < 7; tries++)
      statuses.push((await attempt('POST', '/api/auth/login', { ...LOGIN, email: 'one@example.com' })).status)
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429, 429])
  })

  test('many failed logins at once do not slip through between them', async () => {
    const attempt = client(urls)
    const tries = Array.from({ length: 15 }, () =>
      attempt('POST', '/api/auth/login', { ...LOGIN, email: 'two@example.com', user_type: 'admin' }),
    )
    const statuses = (await Promise.all(tries)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 422)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(10)
  })
})
