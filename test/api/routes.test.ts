import { expect, test } from 'bun:test'
import { resolve } from '../../src/declare/resolve.ts'
import { documentOf } from '../../src/openapi/document.ts'
import {
  ApiError,
  app,
  choice,
  date,
  entity,
  everyone,
  forbidden,
  integer,
  invalid,
  list,
  object,
  ref,
  signedIn,
  text,
} from '../../src/takeback.ts'
import { eventually, expectInvalid, onEveryStore, TestServer } from '../harness.ts'

const carts = entity({
  fields: { owner: ref('users'), open: choice(['yes', 'no'], { default: 'yes' }) },
  access: { create: signedIn, read: 'owner.id == me.id', update: 'owner.id == me.id' },
})

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user' }, fields: { name: text() } }),
    staff: entity({ login: { userType: 'staff' }, fields: {} }),
    carts,
    links: entity({ fields: { token: text(), limit: integer({ default: 1 }) } }),
  },
  routes: {
    'POST /api/checkout/': {
      access: signedIn,
      label: 'Check out',
      body: object({
        cart: ref('carts'),
        more: list(ref('carts'), { default: [] }),
        times: integer({ min: 1, default: 1 }),
        on: object({ day: date() }, { optional: true }),
      }),
      async run({ me, body, api }) {
        const cart = await api.carts.update(body.cart.id, { open: 'no' })
        return { cart, body, by: me?.type === 'user' ? me.name : null, at: new Date(0) }
      },
    },
    'GET /api/carts/:id/free/:day': {
      access: everyone,
      query: ['from', 'to'],
      run: ({ params, query, me }) => ({ params, query, me }),
    },
    'GET /api/shared/:token': {
      access: everyone,
      run: ({ params: { token }, api }) =>
        api.system.links.list({ where: { token }, fields: ['id', 'token'] }),
    },
    'GET /api/limited/': {
      access: everyone,
      run: ({ api }) => api.system.links.list({ where: { limit: 1 } }),
    },
    'POST /api/nothing': { access: 'me.type == "staff"', run() {} },
    'DELETE /api/all/': { run: async ({ api }) => (await api.system.carts.list()).data.length },
    'POST /api/wrong/:what/': {
      access: everyone,
      async run({ params, api }) {
        if (params.what === 'invalid') throw invalid({ a: 'is wrong', b: ['is too', 'and more'] })
        if (params.what === 'forbidden') throw forbidden('Not on Sundays.')
        if (params.what === 'gone') throw new ApiError(404, 'not_found', { message: 'No such day.' })
        if (params.what === 'odd') throw new ApiError(418, 'teapot', { message: 'No.' })
        if (params.what === 'caller') return api.carts.get(1)
        if (params.what === 'system') return api.system.carts.get(999)
        if (params.what === 'function') return () => 1
        if (params.what === 'response') return new Response('not JSON')
        throw new Error('my own secret')
      },
    },
  },
})

onEveryStore('routes', declaration, (server) => {
  test('compare with any field that where names, and not with a parameter', async () => {
    for (const token of ['a', 'b']) await server.expect(201, 'POST', '/api/links/', { token })
    const shared = await server.expect(200, 'GET', '/api/shared/b', undefined, { token: null })
    expect(shared.data).toEqual([{ id: 2, token: 'b' }])
    // A mistake in the code, not of the caller.
    expect((await server.call('GET', '/api/limited/', { token: null })).status).toBe(500)
    await eventually(() => server.logged.join('').includes('GET /api/limited/'))
  })

  test('a route has a checked body, a caller and their API', async () => {
    const user = await server.user('users', { email: 'u@example.com', name: 'U' })
    const other = await server.user('users', { email: 'v@example.com', name: 'V' })
    const { id } = await server.expect(201, 'POST', '/api/carts/', { owner: { id: user.id } }, user)
    const body = { cart: { id } }
    const done = await server.expect(200, 'POST', '/api/checkout', body, user)
    expect(done).toMatchObject({
      cart: { id, open: 'no' },
      body: { cart: { id }, more: [], times: 1, on: null },
      by: 'U',
      at: '1970-01-01T00:00:00.000Z',
    })
    const wrong = { cart: { id: 99 }, more: [{ id }, { id: 98 }], times: 0, on: {}, x: 1 }
    expectInvalid(await server.call('POST', '/api/checkout/?y=1', { body: wrong, token: user.token }), {
      cart: ['refers to nothing'],
      'cart.id': ['refers to nothing'],
      'more.1': ['refers to nothing'],
      'more.1.id': ['refers to nothing'],
      times: ['must be at least 1'],
      'on.day': ['is required'],
      x: ['is not a field here'],
      y: ['is not a parameter here'],
    })
    // With the caller's rights: what they cannot see does not exist.
    expect((await server.call('POST', '/api/checkout/', { body, token: other.token })).status).toBe(404)
    expect((await server.call('POST', '/api/checkout/', { body, token: null })).status).toBe(401)
    expect((await server.call('GET', '/api/checkout/')).headers.get('allow')).toBe('POST')
    expect((await server.call('POST', '/api/checkout/', { raw: 'x', token: user.token })).status).toBe(400)
    expect(
      (await server.call('POST', '/api/checkout/', { body, headers: { Accept: 'text/html' } })).status,
    ).toBe(406)
  })

  test('many references in a body take few statements', async () => {
    const more = Array.from({ length: 1000 }, (_, at) => ({ id: at === 5 ? 1 : 10_000 + at }))
    const { store } = server.context
    const read = store.read.bind(store)
    let reads = 0
    store.read = (...asked) => {
      reads++
      return read(...asked)
    }
    const { status, body } = await server.call('POST', '/api/checkout/', { body: { cart: { id: 1 }, more } })
    store.read = read
    expect([status, body.errors['more.4'], body.errors['more.5']]).toEqual([
      422,
      ['refers to nothing'],
      undefined,
    ])
    expect(reads).toBeLessThan(20)
  })

  test('parameters of the path and the query', async () => {
    const free = await server.expect(200, 'GET', '/api/carts/7/free/a%20b/?from=x', undefined, {
      token: null,
    })
    expect(free).toEqual({ params: { id: '7', day: 'a b' }, query: { from: 'x' }, me: null })
    expect((await server.call('GET', '/api/carts/7/free/x/?form=1')).body.errors).toEqual({
      form: ['is not a parameter here; did you mean "from"?'],
    })
    // A path that is not UTF-8 is refused, never read as something else.
    for (const day of ['%ff', '%C3%28', 'a%E2%82', '%ED%A0%80', '%', '100%', '%zz'])
      expect([day, (await server.call('GET', `/api/carts/7/free/${day}/`)).status]).toEqual([day, 404])
    for (const day of ['100%25', '%C3%A4', '%EF%BF%BD', '%F0%9F%90%92', '%2f', '%00'])
      expect((await server.expect(200, 'GET', `/api/carts/7/free/${day}/`)).params.day).toBe(
        decodeURIComponent(day),
      )
  })

  test('access by type; without it, for admins only; nothing returned is a 204', async () => {
    const staff = await server.user('staff', { email: 's@example.com' })
    const user = await server.user('users', { email: 'w@example.com', name: 'W' })
    expect((await server.call('POST', '/api/nothing/', staff)).status).toBe(204)
    expect((await server.call('POST', '/api/nothing/', user)).status).toBe(403)
    expect((await server.call('POST', '/api/nothing/', { token: null })).status).toBe(401)
    expect((await server.call('DELETE', '/api/all/', staff)).status).toBe(403)
    expect(await server.expect(200, 'DELETE', '/api/all/')).toBe(1)
  })

  test('what code throws is an answer, or a 500 that names the route in the log', async () => {
    const post = (what: string) => server.call('POST', `/api/wrong/${what}/`, { token: null })
    expectInvalid(await post('invalid'), { a: ['is wrong'], b: ['is too', 'and more'] })
    expect(await post('forbidden')).toMatchObject({ status: 403, body: { message: 'Not on Sundays.' } })
    expect(await post('gone')).toMatchObject({
      status: 404,
      body: { message: 'No such day.', code: 'not_found' },
    })
    expect(await post('caller')).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
    for (const what of ['odd', 'system', 'function', 'response', 'error'])
      expect(await post(what)).toMatchObject({ status: 500, body: { code: 'internal' } })
    await eventually(() => server.logged.join('').includes('POST /api/wrong/:what/ failed: my own secret'))
    expect((await post('error')).text).not.toContain('secret')
  })

  test('the document and the reference page have them', async () => {
    const document = await server.expect(200, 'GET', '/api/openapi.json')
    const { post } = document.paths['/api/checkout/']
    expect(post).toMatchObject({ operationId: 'postCheckout', tags: ['Custom'], summary: 'Check out' })
    expect(post.security).not.toContainEqual({})
    expect(post.requestBody.content['application/json'].schema.required).toEqual(['cart'])
    const { get } = document.paths['/api/carts/{id}/free/{day}/']
    expect(get.parameters.map(({ name, in: where }: any) => [name, where])).toEqual([
      ['id', 'path'],
      ['day', 'path'],
      ['from', 'query'],
      ['to', 'query'],
    ])
    const page = await (await fetch(`${server.url}/docs`)).text()
    expect(page).toContain('What this app adds')
    expect(page).toContain('id="call-getCartsIdFreeDay"')
  })
})

test('a route that is wrong is named at the start, with what would be right', () => {
  const run = () => {}
  const routes = {
    'FETCH /api/x': { run },
    'GET /x': { run },
    'GET /api/a': 5,
    'GET /api/b': { run, acces: everyone, body: object({ a: text() }), query: 'from' },
    'POST /api/c': { run, access: 'owner.id == me.id', body: text() },
    'POST /api/d': {
      run,
      access: 'me.name == "x"',
      body: object({ a: text({ unique: true }), b: ref('usrs') }),
    },
    'GET /api/e/:id/:id': { run },
  }
  const users = entity({ login: { userType: 'user' }, fields: { name: text() } })
  expect(() => resolve({ entities: { users }, routes })).toThrow(
    [
      "routes.FETCH /api/x: must be a method (GET, POST, PUT, PATCH, DELETE) and a path in lower case under /api/, such as 'POST /api/checkout/' or 'GET /api/rooms/:id/free/'",
      "routes.GET /x: must be a method (GET, POST, PUT, PATCH, DELETE) and a path in lower case under /api/, such as 'POST /api/checkout/' or 'GET /api/rooms/:id/free/'",
      'routes.GET /api/a: must be a route: { access: signedIn, async run({ me, body, api }) { … } }',
      'routes.GET /api/b.acces: is not an option of a route; did you mean "access"?',
      'routes.GET /api/b.body: is not possible for GET: use query',
      "routes.GET /api/b.query: must be a list of names of parameters, such as ['from', 'to']",
      'routes.POST /api/c.body: must be made by object({ … })',
      'routes.POST /api/c.access: unknown field "owner" at column 1',
      'routes.POST /api/d.body.b: refers to "usrs", which is not declared; did you mean "users"?',
      'routes.POST /api/d.body.a.unique: means nothing in the body of a route: remove it',
      'routes.POST /api/d.access: can only be about me.type: check the rest in run, and throw forbidden()',
      'routes.GET /api/e/:id/:id: has a parameter twice',
    ].join('\n  '),
  )
})

test('a route cannot shadow what is there', async () => {
  const entities = { notes: entity({ fields: { title: text() } }) }
  const run = () => {}
  for (const [key, other] of [
    ['POST /api/auth/login/', 'POST /api/auth/login'],
    ['GET /api/notes/free/', 'GET /api/notes/{id}/'],
    ['POST /api/:any/', 'POST /api/login'],
    ['POST /api/notes/:x/undo', 'POST /api/notes/{id}/undo/'],
  ] as const) {
    const server = new TestServer('sqlite', { entities, routes: { [key]: { run } } })
    await expect(server.start()).rejects.toThrow(
      `routes.${key}: conflicts with ${other}, which already exists`,
    )
    await server.remove()
  }
  const twice = { 'GET /api/a/:b': { run }, 'GET /api/a/c/': { run } }
  const server = new TestServer('sqlite', { entities, routes: twice })
  await expect(server.start()).rejects.toThrow('routes.GET /api/a/c/: conflicts with GET /api/a/{b}/')
  await server.remove()
  expect(documentOf(resolve({ entities }))).not.toHaveProperty('paths./api/a/{b}/')
})
