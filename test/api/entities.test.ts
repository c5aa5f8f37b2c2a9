import { expect, test } from 'bun:test'
import { bookings } from '../declarations.ts'
import { ADMIN, expectInvalid, onEveryStore } from '../harness.ts'

onEveryStore('create, read and update', bookings, (server) => {
  let serial = 0
  const room = async () =>
    (await server.expect(201, 'POST', '/api/rooms/', { title: `room ${++serial}`, beds: 2 })).id as number
  const booking = async (more = {}) =>
    server.expect(201, 'POST', '/api/bookings/', {
      room: { id: await room() },
      starts_at: '2026-12-31T15:00:00Z',
      ...more,
    })

  test('a create answers with the whole Entity, where it is, its version and its operation', async () => {
    const id = await room()
    const { status, body, headers } = await server.call('POST', '/api/bookings/', {
      body: { room: { id }, starts_at: '2026-12-31T17:00:00+02:00', address: { city: 'Bonn', zip: '53111' } },
    })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: body.id,
      room: { id },
      owner: null,
      starts_at: '2026-12-31T15:00:00.000Z',
      guests: 1,
      status: 'open',
      address: { city: 'Bonn', zip: '53111', kind: 'home', country: null },
      version: 1,
      created_at: body.created_at,
      updated_at: body.created_at,
      deleted_at: null,
    })
    expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(headers.get('Location')).toBe(`/api/bookings/${body.id}/`)
    expect(headers.get('ETag')).toStartWith('"1-')
    expect(headers.get('Takeback-Operation')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/)
    expect((await server.call('GET', headers.get('Location') ?? '')).body).toEqual(body)
  })

  test('all failures come at once, the database’s included', async () => {
    await server.expect(201, 'POST', '/api/rooms/', { title: 'taken', beds: 1 })
    expectInvalid(await server.call('POST', '/api/rooms/', { body: { title: 'taken', beds: 0 } }), {
      title: [expect.stringMatching(/^is taken by rooms\/\d+$/) as unknown as string],
      beds: ['must be at least 1'],
    })
    const before = await server.rows('bookings')
    expectInvalid(
      await server.call('POST', '/api/bookings/', {
        body: {
          room: { id: 999 },
          owner: 3,
          guests: '3',
          extra: 1,
          id: 5,
          address: { zip: '1', country: { id: 77, x: 1 } },
        },
      }),
      {
        room: ['refers to nothing'],
        'room.id': ['refers to nothing'],
        owner: ['must be a reference, such as {"id": 5}'],
        'owner.id': ['must be a reference, such as {"id": 5}'],
        starts_at: ['is required'],
        guests: ['must be an integer'],
        extra: ['is not a field of bookings'],
        id: ['is set by the server'],
        'address.city': ['is required'],
        'address.zip': ['must match the pattern ^[0-9]{5}$'],
        'address.country': ['refers to nothing'],
        'address.country.id': ['refers to nothing'],
        'address.country.x': ['is not a field of a reference'],
      },
    )
    expect(await server.rows('bookings')).toBe(before)
  })

  test('a reference that is missing, ill-typed, unknown or deleted has two keys', async () => {
    const gone = await room()
    await server.expect(200, 'DELETE', `/api/rooms/${gone}/`)
    for (const [reference, sentence] of [
      [undefined, 'is required'],
      [null, 'must not be null'],
      [{}, 'is required'],
      [{ id: '5' }, 'must be a whole number from 1'],
      [{ id: 0 }, 'must be a whole number from 1'],
      [{ id: 1.5 }, 'must be a whole number from 1'],
      [5, 'must be a reference, such as {"id": 5}'],
      [[5], 'must be a reference, such as {"id": 5}'],
      [{ id: 123456 }, 'refers to nothing'],
      [{ id: gone }, 'refers to nothing'],
    ] as const)
      expectInvalid(
        await server.call('POST', '/api/bookings/', {
          body: { room: reference, starts_at: '2026-12-31T15:00:00Z' },
        }),
        {
          room: [sentence],
          'room.id': [sentence],
        },
      )
  })

  test('server-owned and undeclared keys are refused in every write', async () => {
    const { id } = await booking()
    const keys = ['id', 'version', 'created_at', 'updated_at', 'deleted_at']
    for (const method of ['PATCH', 'PUT'] as const) {
      const { status, body } = await server.call(method, `/api/bookings/${id}/`, {
        body: Object.fromEntries([...keys, 'deletion', 'email_key'].map((key) => [key, 1])),
      })
      expect(status).toBe(422)
      for (const key of keys) expect(body.errors[key]).toEqual(['is set by the server'])
      expect(body.errors.deletion).toEqual(['is not a field of bookings'])
    }
    const polluted = await server.call('POST', '/api/rooms/', {
      raw: '{"title":"p","beds":1,"__proto__":{"admin":true},"constructor":{"prototype":{}}}',
    })
    expect(Object.keys(polluted.body.errors).sort()).toEqual(['__proto__', 'constructor'])
  })

  test('PATCH merges what is sent, and nothing else', async () => {
    const { id, room } = await booking({ guests: 3, address: { city: 'Bonn', zip: '53111', kind: 'work' } })
    const patch = (body: unknown) => server.expect(200, 'PATCH', `/api/bookings/${id}/`, body)
    expect(await patch({ guests: 4 })).toMatchObject({
      guests: 4,
      room,
      version: 2,
      address: { city: 'Bonn', kind: 'work' },
    })
    expect(await patch({ address: { city: 'Köln' } })).toMatchObject({
      address: { city: 'Köln', zip: '53111', kind: 'work' },
      version: 3,
    })
    expect(await patch({ address: { kind: null } })).toMatchObject({ address: { kind: 'home' } })
    expect(await patch({ guests: null })).toMatchObject({ guests: 1 })
    expect(await patch({ address: null })).toMatchObject({ address: null })
    expectInvalid(
      await server.call('PATCH', `/api/bookings/${id}/`, { body: { address: { city: 'Ulm' } } }),
      { 'address.zip': ['is required'] },
    )
    expect(await patch({ address: { city: 'Ulm', zip: '89073' } })).toMatchObject({
      address: { city: 'Ulm', zip: '89073', kind: 'home', country: null },
    })
    expectInvalid(
      await server.call('PATCH', `/api/bookings/${id}/`, { body: { room: null, status: 'gone' } }),
      {
        room: ['is required'],
        'room.id': ['is required'],
        status: ['must be one of open, held, paid'],
      },
    )
  })

  test('an empty PATCH writes nothing', async () => {
    const { id } = await booking()
    const { status, body, headers } = await server.call('PATCH', `/api/bookings/${id}/`, { body: {} })
    expect([status, body.version, headers.get('Takeback-Operation')]).toEqual([200, 1, null])
  })

  test('PUT replaces: what is left out falls back', async () => {
    const { id, room } = await booking({ guests: 3, status: 'held', address: { city: 'Bonn', zip: '53111' } })
    const body = await server.expect(200, 'PUT', `/api/bookings/${id}/`, {
      room,
      starts_at: '2027-01-01T00:00:00Z',
    })
    expect(body).toMatchObject({
      guests: 1,
      status: 'open',
      address: null,
      starts_at: '2027-01-01T00:00:00.000Z',
      version: 2,
    })
    expectInvalid(await server.call('PUT', `/api/bookings/${id}/`, { body: { guests: 2 } }), {
      room: ['is required'],
      'room.id': ['is required'],
      starts_at: ['is required'],
    })
  })

  test('PUT of a user keeps the password that nobody can read to send back', async () => {
    const { id } = await server.user('users', { email: 'put@example.com', name: 'before' })
    await server.expect(200, 'PUT', `/api/users/${id}/`, { email: 'put2@example.com' })
    const login = await server.call('POST', '/api/auth/login', {
      body: { email: 'PUT2@example.com', password: ADMIN.password },
      token: null,
    })
    expect([login.status, login.body.user.name]).toEqual([200, null])
  })

  test('uniqueness over several values, in create and in update', async () => {
    const first = await booking()
    const second = await booking()
    const taken = [`is taken by bookings/${first.id}, together with the other value`]
    expectInvalid(
      await server.call('POST', '/api/bookings/', { body: { room: first.room, starts_at: first.starts_at } }),
      { 'room.id': taken, starts_at: taken },
    )
    expectInvalid(await server.call('PATCH', `/api/bookings/${second.id}/`, { body: { room: first.room } }), {
      'room.id': taken,
      starts_at: taken,
    })
    await server.expect(200, 'PATCH', `/api/bookings/${second.id}/`, {
      room: first.room,
      starts_at: '2026-12-31T16:00:00Z',
    })
    await server.expect(200, 'PATCH', `/api/bookings/${first.id}/`, {
      room: first.room,
      starts_at: first.starts_at,
    })
  })

  test('ETag, If-None-Match and If-Match', async () => {
    const { id } = await booking()
    const path = `/api/bookings/${id}/`
    const withTag = (method: string, name: string, value: string, body?: unknown) =>
      server.call(method, path, { body, headers: { [name]: value } })
    const own = (await server.call('GET', path)).headers.get('ETag') ?? ''
    expect(own).toMatch(/^"1-[0-9a-z]+"$/)
    for (const tag of [own, `W/${own}`, `"9", ${own}`, '*']) {
      const { status, text, headers } = await withTag('GET', 'If-None-Match', tag)
      expect([tag, status, text, headers.get('ETag')]).toEqual([tag, 304, '', own])
    }
    expect((await withTag('GET', 'If-None-Match', '"2"')).status).toBe(200)
    expect((await withTag('PATCH', 'If-Match', '"1"', { guests: 2 })).headers.get('ETag')).toStartWith('"2-')
    // A tag without quotes is malformed, not outdated.
    const codes = { [own]: 'stale', '2': 'malformed_header', '%': 'malformed_header' }
    for (const tag of [own, '"1"', 'W/"2"', '2', '"x"', '%', '""', '"2-"', '"2-X"'])
      for (const method of ['PATCH', 'PUT', 'DELETE']) {
        const body = {
          DELETE: undefined,
          PATCH: { guests: 5 },
          PUT: { room: { id: 1 }, starts_at: '2026-12-31T15:00:00Z' },
        }[method]
        expect([tag, method, (await withTag(method, 'If-Match', tag, body)).body.code]).toEqual([
          tag,
          method,
          codes[tag] ?? 'stale',
        ])
      }
    expect((await withTag('PATCH', 'If-Match', '"1"', {})).status).toBe(412)
    expect((await withTag('PATCH', 'If-Match', '"7", "2"', { guests: 6 })).status).toBe(200)
    expect(
      (await withTag('PUT', 'If-Match', '*', { room: { id: 1 }, starts_at: '2030-12-31T15:00:00Z' })).status,
    ).toBe(200)
    expect((await withTag('DELETE', 'If-Match', '"4"')).status).toBe(200)
    expect((await withTag('DELETE', 'If-Match', '"1"')).status).toBe(412)
  })

  test('what is deleted or never was is 404', async () => {
    const { id } = await booking()
    await server.expect(200, 'DELETE', `/api/bookings/${id}/`)
    for (const path of [`/api/bookings/${id}/`, '/api/bookings/424242/'])
      for (const [method, body] of [
        ['GET', undefined],
        ['PATCH', { guests: 2 }],
        ['PATCH', {}],
        ['PUT', { room: { id: 1 }, starts_at: '2026-12-31T15:00:00Z' }],
      ] as const)
        expect([method, (await server.call(method, path, { body })).status]).toEqual([method, 404])
    expect((await server.call('DELETE', '/api/bookings/424242/')).status).toBe(404)
    expect((await server.call('DELETE', '/api/bookings/424242/?restore=1')).status).toBe(404)
  })

  test('fields chooses what comes back', async () => {
    const { id } = await booking({ address: { city: 'Bonn', zip: '53111' } })
    const choose = async (fields: string) =>
      (await server.call('GET', `/api/bookings/${id}/?fields=${fields}`)).body
    expect(await choose('id,address.city')).toEqual({ id, address: { city: 'Bonn' } })
    expect(await choose('address,room.id,version')).toMatchObject({
      address: { city: 'Bonn', zip: '53111' },
      version: 1,
    })
    expectInvalid(await server.call('GET', `/api/bookings/${id}/?fields=nothing`), {
      fields: ['"nothing" is not a field of bookings'],
    })
    expectInvalid(await server.call('GET', '/api/users/1/?fields=password'), {
      fields: ['"password" is not a field of users'],
    })
  })

  test('rules: 401 without a token, 403 or 404 for other users', async () => {
    const { token } = await server.user('users', { email: 'rules@example.com' })
    const { id } = await server.expect(201, 'POST', '/api/notes/', { text: 'hidden' })
    const status = async (method: string, path: string, body?: unknown, who: string | null = token) =>
      (await server.call(method, path, { body, token: who })).status
    expect(await status('GET', '/api/notes/', undefined, null)).toBe(401)
    expect(await status('POST', '/api/notes/', { text: 'x' }, null)).toBe(401)
    expect(await status('GET', '/api/notes/')).toBe(403)
    expect(await status('POST', '/api/notes/', { text: 'x' })).toBe(403)
    expect(await status('GET', `/api/notes/${id}/`)).toBe(404)
    expect(await status('PATCH', `/api/notes/${id}/`, { text: 'x' })).toBe(404)
    expect(await status('DELETE', `/api/notes/${id}/`)).toBe(404)
    expect(await status('GET', '/api/rooms/', undefined, null)).toBe(200)
    expect(await status('PATCH', '/api/rooms/1/', { beds: 3 })).toBe(403)
    expect(await status('DELETE', '/api/rooms/1/')).toBe(403)
    expect(await status('GET', '/api/rooms/?trashed=only')).toBe(403)
    expect(await status('GET', '/api/rooms/?trashed=with', undefined, null)).toBe(401)
    expect(await status('GET', '/api/bookings/?trashed=only')).toBe(200)
    expect(await status('DELETE', '/api/bookings/1/?purge=1')).toBe(403)
  })

  test('a user cannot take over an account through PATCH', async () => {
    const { id } = await server.user('users', { email: 'patch@example.com' })
    const { token } = await server.user('users', { email: 'other@example.com' })
    expect(
      (await server.call('PATCH', `/api/users/${id}/`, { body: { password: 'taken over now' }, token }))
        .status,
    ).toBe(404)
  })

  test('the holder of a taken value is named only to those who may read it', async () => {
    await server.expect(201, 'POST', '/api/users/', { email: 'holder@example.com', password: ADMIN.password })
    const body = { email: 'holder@example.com', password: ADMIN.password }
    expect((await server.call('POST', '/api/users/', { body, token: null })).body.errors).toEqual({
      email: ['is taken'],
    })
    expect((await server.call('POST', '/api/users/', { body })).body.errors.email[0]).toStartWith(
      'is taken by users/',
    )
  })

  test('two writers: both are in the journal, the last one wins', async () => {
    const { id } = await booking()
    await Promise.all(
      [1, 2, 3, 4, 5].map((guests) => server.expect(200, 'PATCH', `/api/bookings/${id}/`, { guests })),
    )
    const rows = await server.query(
      'SELECT version, kind FROM takeback_journal WHERE entity = $1 AND entity_id = $2 ORDER BY version',
      'bookings',
      id,
    )
    expect(rows.map(({ version, kind }) => [version, kind])).toEqual([
      [1, 'create'],
      [2, 'update'],
      [3, 'update'],
      [4, 'update'],
      [5, 'update'],
      [6, 'update'],
    ])
  })

  test('one of many who want the same value gets it', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        server.call('POST', '/api/rooms/', { body: { title: 'the one', beds: 1 } }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(422)])
  })
})
