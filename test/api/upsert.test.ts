import { afterAll, beforeAll, expect, test } from 'bun:test'
import { entity, everyone, integer, ref, signedIn, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import {
  ADMIN,
  expectInvalid,
  FULL_POOL,
  onEveryStoreByHand,
  operationOf,
  runs,
  type TestRequest,
  TestServer,
} from '../harness.ts'

const shop = withAdmins({
  users: entity({
    login: { userType: 'user' },
    fields: { name: text({ optional: true }) },
    access: { read: signedIn },
  }),
  orgs: entity({ fields: { name: text() }, access: { read: everyone } }),
  items: entity({
    fields: {
      sku: text({ unique: true, max: 10, optional: true }),
      org: ref('orgs', { optional: true, onDelete: 'cascade' }),
      slug: text({ optional: true }),
      count: integer({ min: 0, default: 0 }),
      note: text({ optional: true }),
      secret: integer({
        unique: true,
        optional: true,
        read: 'me.type == "admin"',
        write: 'me.type == "admin"',
      }),
      owner: text({ default: 'all' }),
    },
    unique: [['org.id', 'slug']],
    access: {
      read: 'owner == "all" || owner == "user"',
      create: signedIn,
      update: 'owner == "all"',
      delete: signedIn,
    },
  }),
  logs: entity({ fields: { text: text() }, access: { read: everyone } }),
})

onEveryStoreByHand('upserts', (store) => {
  const server = new TestServer(store, shop, FULL_POOL)
  let second: TestServer
  let token = ''
  let org = 0
  const put = (path: string, body: unknown, sent: TestRequest = {}) =>
    server.call('PUT', path, { ...sent, body })
  const items = (body: unknown, sent: TestRequest = {}) => put('/api/items/?match=sku', body, sent)
  const get = (id: number) => server.expect(200, 'GET', `/api/items/${id}/`)

  beforeAll(async () => {
    await server.start()
    second = new TestServer(store, shop, FULL_POOL, await server.database())
    second.adminToken = server.adminToken
    await second.start()
    token = (await server.user('users', { email: 'u@example.com' })).token
    org = (await server.expect(201, 'POST', '/api/orgs/', { name: 'org' })).id
  })
  afterAll(async () => {
    await second?.stop()
    await server.remove()
  })

  test('creates what is not there, and replaces what is', async () => {
    const made = await items({ sku: 'a', count: 1, note: 'first' })
    expect([made.status, made.headers.get('Location')]).toEqual([201, `/api/items/${made.body.id}/`])
    const again = await items({ sku: 'a', count: 2 })
    expect(again.status).toBe(200)
    expect(again.body).toMatchObject({ id: made.body.id, version: 2, count: 2, note: null })
    expect(again.headers.get('ETag')).toStartWith('"2-')
    await server.expect(200, 'POST', `/api/operations/${operationOf(again)}/undo/`)
    expect(await get(made.body.id)).toMatchObject({ count: 1, note: 'first' })
    await server.expect(200, 'DELETE', `/api/items/${made.body.id}/`)
    expect((await items({ sku: 'a' })).status).toBe(201)
  })

  test('matches several values together, references by their ids, and e-mails by their keys', async () => {
    const made = await put('/api/items/?match=slug,org', { org: { id: org }, slug: 'x', count: 1 })
    const again = await put('/api/items?match=org.id,slug', { org: { id: org }, slug: 'x', count: 2 })
    expect([made.status, again.status, again.body.id]).toEqual([201, 200, made.body.id])
    const user = { email: 'Case@Example.com', password: ADMIN.password, name: 'A' }
    const first = await put('/api/users/?match=email', user)
    const then = await put('/api/users/?match=email', { email: 'cASE@example.com', name: 'B' })
    expect([first.status, then.status]).toEqual([201, 200])
    expect(then.body).toMatchObject({ id: first.body.id, email: 'cASE@example.com', name: 'B' })
    await server.expect(200, 'POST', '/api/auth/login', { email: user.email, password: ADMIN.password })
  })

  test('match must name unique values that the caller may know of', async () => {
    const expected = 'must name unique values of items: sku or secret or org.id,slug'
    for (const match of ['', '?match=', '?match=note', '?match=nothing', '?match=sku,slug', '?match=slug'])
      expectInvalid(await put(`/api/items/${match}`, { sku: 'a' }), { match: [expected] })
    for (const match of ['secret', 'nothing'])
      expectInvalid(await put(`/api/items/?match=${match}`, { secret: 5 }, { token }), {
        match: ['must name unique values of items: sku or org.id,slug'],
      })
    expectInvalid(await put('/api/logs/?match=text', { text: 'a' }), {
      match: ['is not possible: logs have no unique values'],
    })
    expectInvalid(await put('/api/items/?match=sku&x=1', { sku: 'a' }), { x: ['is not a parameter here'] })
  })

  test('values to match by must be there, and all failures come at once', async () => {
    const needed = ['is required, since it is matched by']
    expectInvalid(await items({ count: 1 }), { sku: needed })
    expectInvalid(await items({ sku: null, count: -1 }), { sku: needed })
    expectInvalid(await put('/api/items/?match=org,slug', {}), { 'org.id': needed, slug: needed })
    expectInvalid(await items({ sku: 'much too long', count: -1, org: { id: 99 } }), {
      sku: ['must have at most 10 characters'],
      count: ['must be at least 0'],
      org: ['refers to nothing'],
      'org.id': ['refers to nothing'],
    })
    await items({ sku: 'valid' })
    expectInvalid(await items({ sku: 'valid', count: -1 }), { count: ['must be at least 0'] })
    expect((await server.call('PUT', '/api/items/?match=sku', { raw: '5' })).status).toBe(400)
  })

  test('the rules of a create or of an update hold; what one does not see is taken', async () => {
    const as = { token }
    const mine = await items({ sku: 'mine' }, as)
    expect([mine.status, (await items({ sku: 'mine', count: 3 }, as)).body.count]).toEqual([201, 3])
    await items({ sku: 'shown', owner: 'user' })
    expect((await items({ sku: 'shown', count: 1 }, as)).status).toBe(403)
    await items({ sku: 'hidden', owner: 'admins' })
    const post = await server.call('POST', '/api/items/', { body: { sku: 'hidden', count: 1 }, ...as })
    const upserted = await items({ sku: 'hidden', count: 1 }, as)
    expectInvalid(upserted, { sku: ['is taken'] })
    expect(upserted.body).toEqual(post.body)
    for (const email of ['u@example.com', 'nobody@example.com'])
      expect((await put('/api/users/?match=email', { email }, as)).status).toBe(403)
    const stranger = await put('/api/users/?match=email', { email: 'u@example.com' }, { token: null })
    expect(stranger.status).toBe(401)
  })

  test('If-Match, Idempotency-Key and batches', async () => {
    const tagged = (tag: string, body: unknown) => items(body, { headers: { 'If-Match': tag } })
    expect((await tagged('"1"', { sku: 'tag' })).status).toBe(412)
    const made = await items({ sku: 'tag' })
    expect((await tagged('"2"', { sku: 'tag' })).status).toBe(412)
    expect((await tagged('"1"', { sku: 'tag' })).status).toBe(200)
    const headers = { 'Idempotency-Key': `key-${store}` }
    const [first, again] = [
      await items({ sku: 'key' }, { headers }),
      await items({ sku: 'key' }, { headers }),
    ]
    expect([first.status, again.status, again.body]).toEqual([201, 201, first.body])
    const path = '/api/items/?match=sku'
    const batch = await server.call('POST', '/api/batch/', {
      body: [
        { method: 'PUT', path, body: { sku: 'tag', count: 7 }, if_match: '"2"' },
        { method: 'PUT', path, body: { sku: 'new' } },
        { method: 'PUT', path, body: { sku: 'new', count: 2 } },
        { method: 'PATCH', path: '/api/items/$1.id/', body: { note: 'x', count: { $add: 1 } } },
      ],
    })
    expect(batch.body.results.map(({ status }: { status: number }) => status)).toEqual([200, 201, 200, 200])
    expect(batch.body.results[3].body).toMatchObject({ sku: 'new', note: 'x', count: 3 })
    await server.expect(200, 'POST', `/api/operations/${operationOf(batch)}/undo/`)
    expect(await get(made.body.id)).toMatchObject({ count: 0 })
    const wrong = [
      { method: 'PUT', path: '/api/items/?match=note', body: { sku: 'tag' } },
      { method: 'PUT', path: '/api/items/', body: { sku: 'tag' } },
    ]
    for (const part of wrong) {
      const refused = await server.call('POST', '/api/batch/', { body: [part] })
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['0.match']])
    }
  })

  test('a list is one operation, all or none', async () => {
    await items({ sku: 'l1', count: 1 })
    const made = await items([{ sku: 'l2' }, { sku: 'l1', count: 5 }, { sku: 'l3' }])
    expect(made.status).toBe(200)
    expect(made.body.data.map((one: any) => [one.sku, one.version])).toEqual([
      ['l2', 1],
      ['l1', 2],
      ['l3', 1],
    ])
    const operation = await server.expect(200, 'GET', `/api/operations/${operationOf(made)}/`)
    expect(operation.changes).toBe(3)
    await server.expect(200, 'POST', `/api/operations/${operationOf(made)}/undo/`)
    const before = await server.rows('takeback_journal')
    expectInvalid(await items([{ sku: 'l4' }, { sku: 'l1', count: -1 }, { sku: 'l4' }, 5, {}]), {
      '1.count': ['must be at least 0'],
      '2.sku': ['is taken by 0 of the same list'],
      '3': ['must be an object'],
      '4.sku': ['is required, since it is matched by'],
    })
    expectInvalid(await items([{ sku: 'l5' }, { sku: 'l5' }]), {
      '1.sku': ['is taken by 0 of the same list'],
    })
    expectInvalid(await items([]), { '': ['must be a list of 1 to 1000 items, not 0'] })
    expect(await server.rows('takeback_journal')).toBe(before)
  })

  test('races of one key on two instances, alone and in lists, make one Entity, and all succeed', async () => {
    for (let round = 0; round < runs(3); round++) {
      const keys = ['a', 'b'].map((one) => `race ${one} ${round}`)
      const send = (at: number) => {
        const bodies = keys.map((sku) => ({ sku, count: at }))
        const body = at % 3 === 0 ? (at % 2 === 0 ? bodies : bodies.toReversed()) : bodies[at % 2]
        return (at % 2 === 0 ? server : second).call('PUT', '/api/items/?match=sku', { body })
      }
      const sent = await Promise.all(Array.from({ length: 10 }, (_, at) => send(at)))
      for (const { status, text } of sent) expect([[200, 201].includes(status), text]).toEqual([true, text])
      for (const sku of keys) {
        const { data } = await server.expect(200, 'GET', `/api/items/?sku=${sku}`)
        expect(data).toHaveLength(1)
        const writes = sent.filter(({ body }) => (body.data ?? [body]).some((one: any) => one.sku === sku))
        expect(data[0].version).toBe(writes.length)
      }
    }
  })
})
