import { expect, test } from 'bun:test'
import { app, entity, everyone, json, object, ref, secret, text } from '../../src/takeback.ts'
import { expectInvalid, onEveryStore } from '../harness.ts'

const admins = entity({ login: { userType: 'admin' }, fields: { meta: json({ optional: true }) } })

/** Edge cases of fields in an optional object. */
const corners = app({
  admins: 'admins',
  entities: {
    admins,
    // Types with names that our own statements might use.
    reached: entity({
      fields: { name: text({ unique: true }), up: ref('reached', { optional: true, onDelete: 'cascade' }) },
    }),
    back: entity({
      fields: { name: text({ unique: true }), up: ref('back', { optional: true, onDelete: 'cascade' }) },
    }),
    countries: entity({ fields: { code: text() } }),
    people: entity({
      fields: {
        name: text({ unique: true, optional: true }),
        meta: json({ optional: true }),
        pin: secret({ optional: true }),
        home: object({ city: text(), country: ref('countries') }, { optional: true }),
        work: object(
          { city: text(), country: ref('countries', { optional: true, onDelete: 'clear' }) },
          { optional: true },
        ),
        box: object({ label: text({ optional: true }), key: secret() }, { optional: true }),
      },
      access: { read: everyone },
    }),
  },
})

onEveryStore('objects and their corners', corners, (server) => {
  const make = (type: string, body: object) => server.expect(201, 'POST', `/api/${type}/`, body)
  const patch = (path: string, body: object) => server.call('PATCH', `/api/${path}/`, { body })

  test('a required reference is required only where its object is there', async () => {
    const { id } = await make('people', {})
    const country = await make('countries', { code: 'DE' })
    expect(
      (await patch(`people/${id}`, { home: { city: 'Bonn', country: { id: country.id } } })).body.home
        .country,
    ).toEqual({ id: country.id })
    expect((await patch(`people/${id}`, { home: null })).body.home).toBeNull()
    expectInvalid(await patch(`people/${id}`, { home: { city: 'Ulm' } }), { 'home.country': ['is required'] })
  })

  test('a secret beside JSON that merges is still kept as a hash only', async () => {
    const { id } = await make('people', { meta: { a: 1 } })
    expect((await patch(`people/${id}`, { pin: 'canary-of-a-pin', meta: { b: 2 } })).body.meta).toEqual({
      a: 1,
      b: 2,
    })
    const [row] = await server.query('SELECT pin FROM people WHERE id = $1', id)
    expect(row?.pin).toStartWith('$argon2id$')
    expect((await patch('admins/1', { password: 'another long password', meta: { x: 1 } })).status).toBe(200)
    const login = { email: 'admin@example.com', password: 'another long password' }
    server.adminToken = (await server.expect(200, 'POST', '/api/auth/login', login, { token: null })).token
  })

  test('a required secret must come with its object, in PATCH and in PUT', async () => {
    const { id } = await make('people', {})
    expectInvalid(await patch(`people/${id}`, { box: { label: 'x' } }), { 'box.key': ['is required'] })
    expectInvalid(await server.call('PUT', `/api/people/${id}/`, { body: { box: { label: 'x' } } }), {
      'box.key': ['is required'],
    })
    expect((await patch(`people/${id}`, { box: { key: 'secret key' } })).status).toBe(200)
    expect(
      (await server.call('PUT', `/api/people/${id}/`, { body: { box: { label: 'y' } } })).body.box,
    ).toEqual({ label: 'y' })
  })

  test('a restore sets nothing in an object that is gone, and a new object remembers nothing', async () => {
    const country = await make('countries', { code: 'FR' })
    const { id } = await make('people', { work: { city: 'Paris', country: { id: country.id } } })
    await server.expect(200, 'DELETE', `/api/countries/${country.id}/`)
    await server.expect(200, 'PATCH', `/api/people/${id}/`, { work: null })
    await server.expect(200, 'DELETE', `/api/countries/${country.id}/?restore=1`)
    expect((await server.expect(200, 'GET', `/api/people/${id}/`)).work).toBeNull()
    expect((await patch(`people/${id}`, { work: { city: 'Lyon' } })).body.work).toEqual({
      city: 'Lyon',
      country: null,
    })
    expect(await server.rows('takeback_cleared')).toBe(0)
  })

  test('a refused write blames only what was sent', async () => {
    await make('people', { name: 'taken' })
    const { id } = await make('people', { name: 'free' })
    const { status, body } = await patch(`people/${id}`, { name: 'taken' })
    expect([status, Object.keys(body.errors)]).toEqual([422, ['name']])
  })

  test('types may have names that our own statements use', async () => {
    for (const type of ['reached', 'back']) {
      const first = await make(type, { name: 'a' })
      await make(type, { name: 'b', up: { id: first.id } })
      await server.expect(200, 'DELETE', `/api/${type}/${first.id}/`)
      await make(type, { name: 'a' })
      expect(
        (await server.call('DELETE', `/api/${type}/${first.id}/?restore=1`)).body.errors.name[0],
      ).toStartWith('is taken by')
    }
  })

  test('a parameter with an emoji is just wrong', async () => {
    expect((await server.call('GET', '/api/people/?limit=%F0%9F%98%80')).status).toBe(422)
  })
})

const chain = app({
  admins: 'admins',
  entities: {
    admins,
    cs: entity({ fields: { name: text() } }),
    bs: entity({ fields: { c: ref('cs', { onDelete: 'cascade' }) } }),
    ts: entity({
      fields: {
        c: ref('cs', { optional: true, onDelete: 'clear' }),
        b: ref('bs', { optional: true, onDelete: 'clear' }),
      },
    }),
  },
})

onEveryStore('a deletion of which a part is purged', chain, (server) => {
  test('still gives back what else it had cleared', async () => {
    const c = await server.expect(201, 'POST', '/api/cs/', { name: 'c' })
    const b = await server.expect(201, 'POST', '/api/bs/', { c: { id: c.id } })
    const t = await server.expect(201, 'POST', '/api/ts/', { c: { id: c.id }, b: { id: b.id } })
    await server.expect(200, 'DELETE', `/api/cs/${c.id}/`)
    expect(await server.expect(200, 'GET', `/api/ts/${t.id}/`)).toMatchObject({ c: null, b: null })
    await server.expect(204, 'DELETE', `/api/bs/${b.id}/?purge=1`)
    await server.expect(200, 'DELETE', `/api/cs/${c.id}/?restore=1`)
    expect(await server.expect(200, 'GET', `/api/ts/${t.id}/`)).toMatchObject({ c: { id: c.id }, b: null })
    expect(await server.rows('takeback_cleared')).toBe(0)
  })
})
