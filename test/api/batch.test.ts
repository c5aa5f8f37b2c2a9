import { beforeAll, expect, test } from 'bun:test'
import { bookings } from '../declarations.ts'
import { ADMIN, expectInvalid, onEveryStore, type TestRequest } from '../harness.ts'

onEveryStore('batches', bookings, (server) => {
  const send = (body: unknown, sent: TestRequest = {}) =>
    server.call('POST', '/api/batch/', { ...sent, body })
  const made = async (title: string) =>
    (await server.expect(201, 'POST', '/api/rooms/', { title, beds: 1 })).id as number
  const undo = (operation: string | null) => server.expect(200, 'POST', `/api/operations/${operation}/undo/`)
  const post = (path: string, body: unknown) => ({ method: 'POST', path, body })
  let room = 0

  beforeAll(async () => {
    room = await made('Attic')
  })

  test('one transaction, one operation, results in order', async () => {
    const other = await made('Cellar')
    const received = await send([
      post('/api/rooms/', { title: 'Loft', beds: 2 }),
      { method: 'PATCH', path: '/api/rooms/$0.id/', body: { beds: 3 } },
      post('/api/bookings', { room: { id: '$0.id' }, starts_at: '2026-05-01T10:00:00Z' }),
      { method: 'DELETE', path: `/api/rooms/${other}/` },
      { method: 'DELETE', path: `/api/rooms/${other}?restore=1` },
      { method: 'PUT', path: `/api/rooms/${other}`, body: { title: 'Vault', beds: 9 }, if_match: '"3"' },
    ])
    expect([received.status, received.text]).toEqual([200, expect.any(String)])
    const { results } = received.body
    expect(results.map(({ status }: { status: number }) => status)).toEqual([201, 200, 201, 200, 200, 200])
    const { id } = results[0].body
    expect(results[0]).toMatchObject({ etag: expect.stringMatching(/^"1-/), location: `/api/rooms/${id}/` })
    expect(Object.keys(results[1])).toEqual(['status', 'body', 'etag'])
    expect(results[2].body.room).toEqual({ id })
    for (const [path, at] of [
      [`rooms/${id}`, 1],
      [`bookings/${results[2].body.id}`, 2],
      [`rooms/${other}`, 5],
    ] as const)
      expect(await server.expect(200, 'GET', `/api/${path}/`)).toEqual(results[at].body)
    const operation = received.headers.get('takeback-operation')
    const { data } = await server.expect(200, 'GET', `/api/operations/${operation}/`)
    expect(data.map(({ kind }: { kind: string }) => kind)).toEqual([
      'create',
      'update',
      'create',
      'delete',
      'restore',
      'update',
    ])

    expect((await undo(operation)).total).toBe(3)
    for (const path of [`rooms/${id}`, `bookings/${results[2].body.id}`])
      await server.expect(404, 'GET', `/api/${path}/`)
    expect(await server.expect(200, 'GET', `/api/rooms/${other}/`)).toMatchObject({
      title: 'Cellar',
      beds: 1,
    })
  })

  test('the first failure undoes all, with its own status and its place', async () => {
    const before = [await server.rows('rooms'), await server.rows('takeback_journal')]
    const first = post('/api/rooms/', { title: 'never', beds: 1 })
    expectInvalid(await send([first, first]), {
      '1.title': [expect.stringMatching(/^is taken by rooms\//) as any],
    })
    expectInvalid(await send([first, post('/api/bookings/', { room: { id: 999 }, starts_at: 5 })]), {
      '1.starts_at': [expect.any(String) as any],
      '1.room': ['refers to nothing'],
      '1.room.id': ['refers to nothing'],
    })
    const gone = await send([first, { method: 'DELETE', path: '/api/rooms/999/' }])
    expect([gone.status, gone.body]).toEqual([
      404,
      { message: 'There is nothing here.', errors: { '1': ['There is nothing here.'] }, code: 'not_found' },
    ])
    const stale = await send([
      first,
      { method: 'PATCH', path: `/api/rooms/${room}/`, body: { beds: 2 }, if_match: '"7"' },
    ])
    expect([stale.status, Object.keys(stale.body.errors)]).toEqual([412, ['1']])
    expectInvalid(await send([first, { method: 'DELETE', path: `/api/rooms/${room}/?restore=2` }]), {
      '1.restore': ['must be 1 or 0'],
    })
    expect([await server.rows('rooms'), await server.rows('takeback_journal')]).toEqual(before)
  })

  test('the rules hold for each part', async () => {
    const { token } = await server.user('users', { email: 'b@example.com' })
    const starts_at = '2026-06-01T10:00:00Z'
    const booking = post('/api/bookings/', { room: { id: room }, starts_at })
    const forbidden = await send([booking, post('/api/rooms/', { title: 'mine', beds: 1 })], { token })
    expect([forbidden.status, Object.keys(forbidden.body.errors)]).toEqual([403, ['1']])
    const nobody = await send([booking], { token: null })
    expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect((await send([booking], { token })).status).toBe(200)
  })

  test('only an exact reference is read as one', async () => {
    const texts = ['$5.00', '$', '$x.id', '$0', '$0.', '$0.id ', '$$', '$00.id', 'a $0.id']
    const received = await send([
      ...texts.map((text) => post('/api/notes/', { text })),
      post('/api/notes/', { text: '$$0.id' }),
      post('/api/notes/', { text: '$$$0.id' }),
      post('/api/notes/', { text: '$0.text' }),
    ])
    expect(received.body.results.map(({ body }: any) => body.text)).toEqual([
      ...texts,
      '$0.id',
      '$$0.id',
      '$5.00',
    ])
  })

  test('a reference to nothing is reported at its place', async () => {
    const note = post('/api/notes/', { text: 'x' })
    const later = (part: number) => [`refers to part ${part}, which is not an earlier part`]
    const nothing = ['refers to a value that is not in the answer of part 0']
    const booking = (id: string) =>
      post('/api/bookings/', { room: { id }, starts_at: '2026-05-01T10:00:00Z' })
    expectInvalid(await send([note, booking('$1.id')]), { '1.room.id': later(1) })
    expectInvalid(await send([note, booking('$2.id'), note]), { '1.room.id': later(2) })
    expectInvalid(await send([note, booking('$0.nothing')]), { '1.room.id': nothing })
    expectInvalid(await send([note, booking('$0.text.length')]), { '1.room.id': nothing })
    expectInvalid(await send([note, booking('$0.constructor')]), { '1.room.id': nothing })
    expectInvalid(await send([note, { method: 'DELETE', path: '/api/rooms/$3.id/' }]), { '1.path': later(3) })
    // A reference to an existing value may still have the wrong type.
    expectInvalid(await send([note, booking('$0.text')]), {
      '1.room': ['must be a whole number from 1'],
      '1.room.id': ['must be a whole number from 1'],
    })
    expect((await send([note, { method: 'DELETE', path: '/api/rooms/$0.text/' }])).status).toBe(404)
  })

  test('all mistakes in the parts themselves are reported at once', async () => {
    for (const number of [0, 1001])
      expectInvalid(await send(Array.from({ length: number }, () => ({}))), {
        '': [`must be a list of 1 to 1000 items, not ${number}`],
      })
    expectInvalid(await send({}), { '': ['must be a list of parts'] })
    const where = 'must be /api/<entity>/ or /api/<entity>/<id>/ of a declared Entity type'
    expectInvalid(
      await send([
        5,
        { method: 'GET', path: '/api/rooms/' },
        { method: 'POST', path: '/api/nothing/', body: {} },
        { method: 'POST', path: '/api/rooms/1/', body: {} },
        { method: 'DELETE', path: '/api/rooms/', body: {}, headers: {} },
        { method: 'PATCH', path: '/api/rooms/1/history/' },
        { method: 'PUT', path: '/api/rooms/1/?token=x', body: [], if_match: 3 },
        { method: 'POST', path: '/api/rooms/', if_match: '"3"' },
      ]),
      {
        '0': ['must be an object with method, path and, if the method needs one, body'],
        '1.method': ['must be one of POST, PATCH, PUT, DELETE'],
        '2.path': [where],
        '3.method': ['is not allowed for this path'],
        '4.headers': ['is not known here'],
        '4.method': ['is not allowed for this path'],
        '4.body': ['is not allowed with DELETE'],
        '5.path': [where],
        '6.path': ['must not have a token: the batch has one'],
        '6.body': ['must be an object'],
        '6.if_match': ['must be a text, such as "3" with its quotes'],
        '7.body': ['is required'],
        '7.if_match': ['is not allowed with POST'],
      },
    )
    expect((await send([{}], { headers: { Accept: 'text/html' } })).status).toBe(406)
    expectInvalid(await server.call('POST', '/api/batch/?x=1', { body: [] }), {
      x: ['is not a parameter here'],
    })
  })

  test('a purge is a part like any other', async () => {
    const id = await made('to be purged')
    const path = `/api/rooms/${id}/`
    const received = await send([
      { method: 'DELETE', path },
      { method: 'DELETE', path: `${path}?purge=1` },
    ])
    expect(received.body.results[1]).toEqual({ status: 204, body: null })
    expect(await server.query('SELECT 1 FROM rooms WHERE id = $1', id)).toEqual([])
    const early = await send([{ method: 'DELETE', path: `/api/rooms/${room}/?purge=1` }])
    expect([early.status, early.body.code, Object.keys(early.body.errors)]).toEqual([
      409,
      'not_deleted',
      ['0'],
    ])
  })

  test('a batch that writes nothing has no operation', async () => {
    const received = await send([{ method: 'PATCH', path: `/api/rooms/${room}/`, body: {} }])
    expect([received.status, received.headers.get('takeback-operation')]).toEqual([200, null])
  })

  test('a reference that is cleared twice comes back as it was last', async () => {
    const country = async (code: string) => (await server.expect(201, 'POST', '/api/countries/', { code })).id
    const [one, two] = [await country('c1'), await country('c2')]
    const seat = await server.expect(201, 'POST', '/api/seats/', { name: 'S', country: { id: one } })
    const received = await send([
      { method: 'DELETE', path: `/api/countries/${one}/` },
      { method: 'PATCH', path: `/api/seats/${seat.id}/`, body: { country: { id: two } } },
      { method: 'DELETE', path: `/api/countries/${two}/` },
    ])
    expect(received.status).toBe(200)
    const countryOf = async () => (await server.expect(200, 'GET', `/api/seats/${seat.id}/`)).country
    expect(await countryOf()).toBeNull()
    await server.expect(200, 'DELETE', `/api/countries/${two}/?restore=1`)
    expect(await countryOf()).toEqual({ id: two })
  })

  test('a deletion that cascades, with what was made and changed beside it, is undone as one', async () => {
    const { id: owner } = await server.user('users', { email: 'owner@example.com' })
    const starts = (day: number) => `2026-07-0${day}T10:00:00.000Z`
    const book = (day: number, more = {}) =>
      post('/api/bookings/', { room: { id: room }, starts_at: starts(day), ...more })
    const kept = (await server.expect(201, 'POST', '/api/bookings/', book(1, { owner: { id: owner } }).body))
      .id
    const received = await send([
      book(2, { owner: { id: owner } }),
      { method: 'PATCH', path: `/api/bookings/${kept}/`, body: { guests: 5 } },
      { method: 'DELETE', path: `/api/users/${owner}/` },
      book(3),
    ])
    expect(received.status).toBe(200)
    await server.expect(404, 'GET', `/api/bookings/${kept}/`)
    await undo(received.headers.get('takeback-operation'))
    expect(await server.expect(200, 'GET', `/api/bookings/${kept}/`)).toMatchObject({ guests: 1 })
    await server.expect(200, 'GET', `/api/users/${owner}/`)
    for (const at of [0, 3])
      await server.expect(404, 'GET', `/api/bookings/${received.body.results[at].body.id}/`)
  })

  test('a password in it is hashed, and a user that it deletes is out at once', async () => {
    const login = { email: 'batch@example.com', password: ADMIN.password }
    const received = await send([post('/api/users/', login), post('/api/notes/', { text: 'x' })])
    expect(received.status).toBe(200)
    const { token } = await server.expect(200, 'POST', '/api/auth/login', login, { token: null })
    const { id } = received.body.results[0].body
    await server.expect(200, 'GET', '/api/auth/me', undefined, { token })
    expect((await send([{ method: 'DELETE', path: `/api/users/${id}/` }])).status).toBe(200)
    await server.expect(401, 'GET', '/api/auth/me', undefined, { token })
  })

  test('batches that get into each other’s way are all done', async () => {
    const rooms = [await made('left'), await made('right')]
    const parts = rooms.map((id) => ({ method: 'PATCH', path: `/api/rooms/${id}/`, body: { beds: 2 } }))
    const received = await Promise.all(
      Array.from({ length: 6 }, (_, at) => send(at % 2 === 0 ? parts : parts.toReversed())),
    )
    expect(received.map(({ status }) => status)).toEqual(received.map(() => 200))
    for (const id of rooms) expect((await server.expect(200, 'GET', `/api/rooms/${id}/`)).version).toBe(7)
  })
})
