import { expect, test } from 'bun:test'
import { onEveryStoreByHand } from '../harness.ts'
import { LOGIN, prepared, serve } from './process.ts'

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

  async function started(number: number) {
    const { database, args } = await prepared(store)
    const servers = await Promise.all(Array.from({ length: number }, () => serve(args)))
    const urls = servers.map(({ url }) => url)
    return {
      database,
      urls,
      login: async () => {
        const { body } = await client(urls)('POST', '/api/auth/login', LOGIN)
        return client(urls, body.token)
      },
      async end() {
        expect(await Promise.all(servers.map((server) => server.end()))).toEqual(servers.map(() => 0))
        await database.remove()
      },
    }
  }

  test('what one of them ends is over on all of them', async () => {
    const servers = await started(3)
    for (let round = 0; round < 2; round++) {
      const call = await servers.login()
      for (const _ of servers.urls) expect((await call('GET', '/api/auth/me')).status).toBe(200)
      expect((await call('POST', '/api/auth/logout')).status).toBe(204)
      // A file is looked at once in a millisecond; a server elsewhere is relied on for half a second.
      await Bun.sleep(store === 'sqlite' ? 2 : 600)
      for (const _ of servers.urls) expect((await call('GET', '/api/auth/me')).status).toBe(401)
    }
    await servers.end()
  })

  test('each client finds what it wrote, wherever it asks, and the journal runs in one order', async () => {
    const servers = await started(3)
    const call = await servers.login()
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
    const wrong = await servers.database.query(
      `SELECT j.seq FROM takeback_journal j JOIN takeback_journal b
        ON b.entity = j.entity AND b.entity_id = j.entity_id AND b.version = j.version - 1
        WHERE b.seq > j.seq OR b.at > j.at`,
    )
    expect(wrong).toEqual([])
    const kinds = await servers.database.query(
      "SELECT kind, count(*) AS n FROM takeback_journal WHERE entity = 'rooms' GROUP BY kind ORDER BY kind",
    )
    expect(kinds.map(({ kind, n }) => [kind, n])).toEqual(
      ['create', 'delete', 'restore', 'update'].map((kind) => [kind, 60]),
    )
    await servers.end()
  }, 60_000)

  test('what is sent to all of them at once with one key is done once', async () => {
    const servers = await started(2)
    const call = await servers.login()
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
    expect(await servers.database.query('SELECT count(*) AS n FROM rooms')).toEqual([{ n: 15 }])
    await servers.end()
  }, 60_000)

  test('failed logins are counted together', async () => {
    const servers = await started(3)
    const attempt = client(servers.urls)
    const statuses: number[] = []
    for (let tries = 0; tries < 7; tries++)
      statuses.push(
        (await attempt('POST', '/api/auth/login', { ...LOGIN, password: 'a wrong password' })).status,
      )
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429, 429])
    await servers.end()
  })

  test('many failed logins at once do not slip through between them', async () => {
    const servers = await started(3)
    const attempt = client(servers.urls)
    const tries = Array.from({ length: 15 }, () =>
      attempt('POST', '/api/auth/login', { ...LOGIN, password: 'a wrong password' }),
    )
    const statuses = (await Promise.all(tries)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 422)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(10)
    await servers.end()
  }, 60_000)
})
