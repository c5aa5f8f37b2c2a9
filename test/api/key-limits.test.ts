import { expect, test } from 'bun:test'
import { app, entity, ref, text } from '../../src/takeback.ts'
import { eventually, onEveryStore, TestServer } from '../harness.ts'

const all = 'me != null'
const open = { create: all, read: all, update: all, delete: all, restore: all, purge: all, history: all }
/** Runs while a write is under way. */
let meanwhile = async () => {}
const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user' }, fields: {} }),
    lists: entity({ fields: { name: text() }, access: open }),
    slow: entity({ fields: { name: text() }, access: open, before: { create: () => meanwhile() } }),
    items: entity({
      fields: { name: text(), list: ref('lists', { onDelete: 'cascade', optional: true }) },
      access: open,
    }),
  },
})

onEveryStore('the limits of a key', declaration, (server) => {
  const keyWith = async (limits: object): Promise<any> =>
    server.expect(201, 'POST', '/api/auth/keys/', { name: 'x', limits })
  const items = (count: number, more: object = {}) =>
    Array.from({ length: count }, () => ({ name: 'x', ...more }))
  const journal = () => server.rows('takeback_journal')

  test('hold back a write that is under way when the key is ended', async () => {
    const { id, key } = await keyWith({ changes_per_hour: 5 })
    meanwhile = async () => {
      await server.expect(200, 'DELETE', `/api/auth/keys/${id}/`)
    }
    expect((await server.call('POST', '/api/slow/', { body: { name: 'x' }, token: key })).status).toBe(401)
    expect(await server.rows('slow')).toBe(0)
  })

  test('count what one operation changes, with all that it cascades to', async () => {
    const { key } = await keyWith({ changes_per_operation: 5 })
    const list = await server.expect(201, 'POST', '/api/lists/', { name: 'x' })
    await server.expect(201, 'POST', '/api/items/', items(5, { list: { id: list.id } }), { token: key })
    const before = await journal()
    const refused = await server.call('DELETE', `/api/lists/${list.id}/`, { token: key })
    expect([refused.status, refused.body]).toEqual([
      429,
      {
        message: 'This is more than the key may change. Nothing was written.',
        errors: { changes_per_operation: ['has 6 changes, and at most 5 are allowed'] },
        code: 'over_budget',
      },
    ])
    expect(refused.headers.get('retry-after')).toBeNull()
    for (const [method, path, body] of [
      ['POST', '/api/items/', items(6)],
      ['PATCH', '/api/items/?filter=true', { name: 'y' }],
      ['POST', '/api/batch/', items(6).map((one) => ({ method: 'POST', path: '/api/items/', body: one }))],
    ] as const) {
      const headers = { 'Idempotency-Key': `limits ${method} ${path}`.replaceAll(' ', '-') }
      if (method === 'PATCH') await server.expect(201, 'POST', '/api/items/', items(3))
      for (const more of [{}, headers])
        expect([path, (await server.call(method, path, { body, token: key, headers: more })).status]).toEqual(
          [path, 429],
        )
    }
    expect(await journal()).toBe(before + 3)
    await server.expect(200, 'GET', `/api/lists/${list.id}/`, undefined, { token: key })
  })

  test('count the changes of an hour and the deletes of a day, whatever asks for them', async () => {
    const { key, id } = await keyWith({ changes_per_hour: 10, deletes_per_day: 2 })
    const send = (method: string, path: string, body?: unknown) =>
      server.call(method, path, { token: key, ...(body !== undefined && { body }) })
    const made = (await send('POST', '/api/items/', items(4))).body.data
    expect((await send('DELETE', `/api/items/${made[0].id}/`)).status).toBe(200)
    expect((await send('DELETE', `/api/items/${made[0].id}/`)).status).toBe(200)
    const undone = await send('POST', '/api/operations/undo/', {
      actor: `keys/${id}`,
      since: '2020-01-01T00:00:00Z',
    })
    expect([undone.status, undone.body.errors]).toEqual([
      429,
      { deletes_per_day: ['has 3 deletes, with 1 before in this day, and at most 2 in one day are allowed'] },
    ])
    expect((await send('DELETE', `/api/items/${made[1].id}/`)).status).toBe(200)
    const third = await send('DELETE', `/api/items/${made[2].id}/`)
    expect([third.status, third.body.errors]).toEqual([
      429,
      { deletes_per_day: ['has 1 delete, with 2 before in this day, and at most 2 in one day are allowed'] },
    ])
    const wait = Number(third.headers.get('retry-after'))
    expect(wait > 86_000 && wait <= 86_400).toBe(true)
    const many = await send('POST', '/api/items/', items(5))
    expect([many.status, many.body.errors]).toEqual([
      429,
      {
        changes_per_hour: [
          'has 5 changes, with 6 before in this hour, and at most 10 in one hour are allowed',
        ],
      },
    ])
    expect((await send('POST', '/api/items/', items(4))).status).toBe(201)
    expect((await send('POST', '/api/items/', { name: 'x' })).status).toBe(429)
    // Older changes do not count.
    await server.query(`UPDATE takeback_journal SET at = '2020-01-01T00:00:00.000Z' WHERE via = 'keys/${id}'`)
    expect((await send('POST', '/api/items/', { name: 'x' })).status).toBe(201)
    await server.expect(200, 'PATCH', `/api/auth/keys/${id}/`, { limits: null })
    expect((await send('POST', '/api/items/', items(20))).status).toBe(201)
  })

  test('are exact: of fifty writes at once, by three servers, as many are done as are allowed', async () => {
    const { key } = await keyWith({ changes_per_hour: 7 })
    const store = (await server.databaseUrl()).startsWith('sqlite') ? 'sqlite' : 'postgres'
    const others = [0, 1].map(async () => {
      const other = new TestServer(store, declaration, {}, await server.database())
      other.adminToken = 'none'
      await other.start()
      return other
    })
    const servers = [server, ...(await Promise.all(others))]
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        (servers[at % 3] ?? server).call('POST', '/api/items/', { body: { name: `race ${at}` }, token: key }),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    expect([
      statuses.filter((one) => one === 201).length,
      statuses.filter((one) => one === 429).length,
    ]).toEqual([7, 43])
    // A key that one instance ends is refused by the others a moment later.
    const { id } = (await server.expect(200, 'GET', '/api/auth/keys/')).data.at(-1)
    await server.expect(200, 'DELETE', `/api/auth/keys/${id}/`)
    for (const one of servers)
      await eventually(async () => (await one.call('GET', '/api/items/', { token: key })).status === 401)
    for (const other of servers.slice(1)) await other.stop()
  })
})
