import { expect, test } from 'bun:test'
import { endpoints } from '../../src/api/endpoints.ts'
import { dropAside, findAside } from '../../src/store/migration/drop.ts'
import { app, entity, list, ref, text } from '../../src/takeback.ts'
import { ADMIN, onEveryStore } from '../harness.ts'

const all = 'me != null'
const open = { create: all, read: all, update: all, delete: all, restore: all, purge: all, history: all }
const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user' }, fields: { nick: text({ optional: true }) }, access: open }),
    customers: entity({ fields: { name: text({ search: true }) }, access: open }),
    bookings: entity({
      fields: {
        title: text({ unique: true }),
        customer: ref('customers', { as: 'bookings', onDelete: 'cascade', optional: true }),
        others: list(ref('customers', { onDelete: 'clear' }), { optional: true }),
      },
      computed: { client: 'customer.name' },
      access: open,
    }),
  },
  routes: {
    'GET /api/count/': {
      access: all,
      run: async ({ api }) => ({ n: (await api.customers.list()).data.length }),
    },
    'POST /api/do/': { access: all, run: async ({ api }) => api.customers.create({ name: 'made' }) },
    'POST /api/more/': { access: all, run: async ({ api }) => api.system.customers.create({ name: 'made' }) },
  },
})

onEveryStore('the scope of a key', declaration, (server) => {
  let user: { id: number; token: string }
  let customer: { id: number }
  let booking: { id: number }
  let made = 0
  const keyWith = async (can: object, token = user.token): Promise<string> =>
    (await server.expect(201, 'POST', '/api/auth/keys/', { name: 'x', can }, { token })).key
  const call = (method: string, path: string, token: string, body?: unknown) =>
    server.call(method, path, { token, ...(body !== undefined && { body }) })

  test('has what the tests need', async () => {
    user = await server.user('users', { email: 'a@example.com', nick: 'CANARY' })
    customer = { id: (await server.expect(201, 'POST', '/api/customers/', { name: 'CANARY' })).id }
    const body = { title: 'first', customer, others: [customer] }
    booking = await server.expect(201, 'POST', '/api/bookings/', body)
  })

  test('leaves every other type as if it did not exist', async () => {
    for (const owner of [user.token, server.adminToken]) {
      const key = await keyWith({ entities: { bookings: ['read', 'history'] } }, owner)
      for (const path of [
        '/api/customers/',
        '/api/customers/?trashed=with',
        '/api/customers/summary/',
        '/api/users/',
      ])
        expect([path, (await call('GET', path, key)).status]).toEqual([path, 403])
      // A key that is limited to some types cannot make calls that are only for admins.
      expect((await call('GET', '/api/health/details', key)).status).toBe(403)
      for (const path of ['/api/customers/1/', '/api/customers/1/history/', '/api/users/1/'])
        expect([path, (await call('GET', path, key)).status]).toEqual([path, 404])
      const seen = await call('GET', `/api/bookings/${booking.id}/`, key)
      expect([seen.status, seen.body.client]).toEqual([200, undefined])
      const asked = [
        'expand=customer',
        'expand=others',
        `filter=${encodeURIComponent('customer.name == "CANARY"')}`,
        `filter=${encodeURIComponent('others.exists(o, o.name == "CANARY")')}`,
        `filter=${encodeURIComponent('client == "CANARY"')}`,
        `filter=${encodeURIComponent('me.nick == "CANARY"')}`,
        'sort=customer.name',
        'customer.name=CANARY',
      ]
      for (const query of asked) {
        const received = await call('GET', `/api/bookings/?${query}`, key)
        expect([query, received.status]).toEqual([query, 422])
        expect(received.text.replaceAll('"CANARY"', '').includes('CANARY')).toBe(false)
      }
      expect((await call('GET', '/api/auth/me', key)).status).toBe(403)
      const { body } = await call('GET', '/api/changes/?since=', key)
      expect(JSON.stringify(body)).not.toContain('CANARY')
    }
  })

  test('holds for writes of every kind', async () => {
    const key = await keyWith({ entities: { bookings: ['read', 'update'], customers: ['read'] } })
    const path = `/api/bookings/${booking.id}/`
    expect((await call('PATCH', path, key, { title: 'renamed' })).status).toBe(200)
    const operation = (await call('PATCH', path, user.token, { title: 'again' })).headers.get(
      'takeback-operation',
    )
    const refused: readonly (readonly [string, string, unknown?])[] = [
      ['POST', '/api/bookings/', { title: 'new' }],
      ['POST', '/api/bookings/', [{ title: 'new' }]],
      ['PUT', '/api/bookings/?match=title', { title: 'new' }],
      ['PATCH', '/api/customers/?filter=true', { name: 'new' }],
      ['DELETE', '/api/bookings/?filter=true'],
      ['DELETE', path],
      ['DELETE', `${path}?restore=1`],
      ['DELETE', `${path}?purge=1`],
      ['POST', `${path}revert/`, { version: 1 }],
      ['POST', `${path}undo/`],
      ['POST', '/api/batch/', [{ method: 'DELETE', path }]],
      ['POST', '/api/do/'],
      ['GET', '/api/count/'],
    ]
    for (const [method, to, body] of refused) {
      const { status } = await call(method, to, key, body)
      expect([method, to, status]).toEqual([method, to, 403])
    }
    // An undo needs the rights for the changes that it makes.
    expect((await call('POST', `/api/operations/${operation}/undo/`, key)).status).toBe(200)
    const gone = (await call('DELETE', path, user.token)).headers.get('takeback-operation')
    expect((await call('POST', `/api/operations/${gone}/undo/`, key)).status).toBe(403)
    const restoring = await keyWith({ entities: { bookings: ['read', 'restore'] } })
    expect((await call('POST', `/api/operations/${gone}/undo/`, restoring)).status).toBe(200)
  })

  test('of a key that only reads lets nothing be written', async () => {
    const key = await keyWith({ read_only: true }, server.adminToken)
    expect((await call('GET', '/api/customers/', key)).status).toBe(200)
    expect((await call('GET', '/api/count/', key)).status).toBe(200)
    expect((await call('GET', '/api/health/details', key)).status).toBe(200)
    expect((await call('GET', '/api/auth/me', key)).body.email).toBe(ADMIN.email)
    const before = await server.rows('takeback_journal')
    for (const [method, path, body] of [
      ['POST', '/api/customers/', { name: 'x' }],
      ['PATCH', `/api/customers/${customer.id}/`, { name: 'x' }],
      ['DELETE', `/api/customers/${customer.id}/`],
      ['POST', '/api/do/'],
      ['POST', '/api/more/'],
      ['POST', '/api/batch/', [{ method: 'POST', path: '/api/customers/', body: { name: 'x' } }]],
    ] as const)
      expect([method, path, (await call(method, path, key, body)).status]).toEqual([method, path, 403])
    expect(await server.rows('takeback_journal')).toBe(before)
  })

  test('of a key that only reads or has limits holds for every call of the server', async () => {
    const readOnly = await keyWith({ read_only: true }, server.adminToken)
    const limited = { name: 'x', limits: { changes_per_hour: 100 } }
    const { key: counted } = await server.expect(201, 'POST', '/api/auth/keys/', limited)
    const writes = endpoints.server.filter(({ method, reads }) => method !== 'GET' && !reads)
    expect(writes.length).toBeGreaterThan(30)
    for (const { method, path, access, body } of writes)
      for (const key of access === 'admins' ? [readOnly, counted] : [readOnly]) {
        const sent = body === undefined ? undefined : path === '/api/batch/' ? [] : {}
        const { status } = await call(method, path.replace(/\{\w+\}/, '1'), key, sent)
        expect([method, path, status]).toEqual([method, path, 403])
      }
    for (const { path, method, access, ownLogin } of endpoints.server)
      if (method === 'GET' && access === 'admins')
        for (const key of [readOnly, counted])
          expect([path, (await call('GET', path, key)).status]).toEqual([path, ownLogin ? 403 : 200])
  })

  test('hides operations on other types, but not those of the key itself', async () => {
    const key = await keyWith({ entities: { bookings: ['read', 'create', 'delete', 'history'] } })
    const title = `op ${++made}`
    const own = await call('POST', '/api/bookings/', key, { title })
    const mine = await call('POST', '/api/bookings/', user.token, { title: `${title} b` })
    const other = await call('POST', '/api/customers/', user.token, { name: 'x' })
    const mixed = await call('POST', '/api/batch/', user.token, [
      { method: 'POST', path: '/api/customers/', body: { name: 'y' } },
      { method: 'POST', path: '/api/bookings/', body: { title: `${title} c` } },
    ])
    const ids = [own, mine, other, mixed].map(({ headers }) => headers.get('takeback-operation') ?? '')
    const listed = (await call('GET', '/api/operations/?limit=200', key)).body.data.map((one: any) => one.id)
    expect(ids.map((id) => listed.includes(id))).toEqual([true, true, false, false])
    const single = await Promise.all(ids.map((id) => call('GET', `/api/operations/${id}/`, key)))
    expect(single.map(({ status }) => status)).toEqual([200, 200, 404, 404])
    expect((await call('POST', `/api/operations/${ids[2]}/undo/`, key)).status).toBe(404)
  })

  test('does not let a key take an account over', async () => {
    const key = await keyWith({}, server.adminToken)
    const path = `/api/users/${user.id}/`
    for (const body of [{ password: 'another long password' }, { email: 'other@example.com' }])
      expect((await call('PATCH', path, key, body)).status).toBe(422)
    expect((await call('PATCH', path, key, { nick: 'x' })).status).toBe(200)
    const fresh = { email: `new${++made}@example.com`, password: ADMIN.password }
    expect((await call('POST', '/api/users/', key, fresh)).status).toBe(201)
  })

  test('ends a stream of changes when it gets narrower', async () => {
    const made = await server.expect(201, 'POST', '/api/auth/keys/', { name: 'x' }, { token: user.token })
    const response = await fetch(`${server.url}/api/changes/?entity=customers`, {
      headers: { Accept: 'text/event-stream', Authorization: `Bearer ${made.key}` },
    })
    expect(response.status).toBe(200)
    const can = { entities: { bookings: ['read'] } }
    await server.expect(200, 'PATCH', `/api/auth/keys/${made.id}/`, { can }, { token: user.token })
    await server.expect(201, 'POST', '/api/customers/', { name: 'CANARY2' })
    expect(await response.text()).not.toContain('CANARY2')
  })
})

const notes = { fields: { title: text() }, access: open }
const typed = (types: Record<string, ReturnType<typeof entity>>) =>
  app({
    admins: 'admins',
    entities: { admins: entity({ login: { userType: 'admin' }, fields: {} }), ...types },
  })

onEveryStore('a key for a type', typed({ notes: entity(notes), pages: entity(notes) }), (server) => {
  test('keeps its rights if the type is renamed, and has none to another one that gets its name', async () => {
    const { id, key } = await server.expect(201, 'POST', '/api/auth/keys/', {
      name: 'x',
      can: { entities: { notes: ['read'], pages: ['read'] } },
    })
    const statusOf = async (type: string) =>
      (await server.call('GET', `/api/${type}/`, { token: key })).status
    const canOf = async () => (await server.expect(200, 'GET', `/api/auth/keys/${id}/`)).can.entities
    await server.restart(typed({ letters: entity({ ...notes, was: 'notes' }), pages: entity(notes) }))
    expect([await statusOf('letters'), await statusOf('pages')]).toEqual([200, 200])
    expect(await canOf()).toEqual({ pages: ['read'], letters: ['read'] })
    // Without the `was`, and with a new type that has the old name.
    await server.restart(typed({ letters: entity(notes), pages: entity(notes), notes: entity(notes) }))
    expect([await statusOf('letters'), await statusOf('notes')]).toEqual([200, 403])
    // A type that is dropped, and declared again.
    await server.restart(typed({ letters: entity(notes), notes: entity(notes) }))
    const { structure } = server.context.store
    await dropAside(structure, await findAside(structure, ['pages']))
    await server.restart(typed({ letters: entity(notes), notes: entity(notes), pages: entity(notes) }))
    expect([await statusOf('letters'), await statusOf('pages')]).toEqual([200, 403])
    expect(await canOf()).toEqual({ letters: ['read'] })
  })
})
