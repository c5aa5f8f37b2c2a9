import { expect, spyOn, test } from 'bun:test'
import Ajv from 'ajv/dist/2020.js'
import { Viewer } from '../../src/plan/viewer/viewer.ts'
import {
  app,
  cel,
  choice,
  datetime,
  decimal,
  entity,
  everyone,
  integer,
  list,
  me,
  now,
  object,
  ref,
  secret,
  signedIn,
  text,
} from '../../src/takeback.ts'
import { onEveryStore } from '../harness.ts'

const own = 'owner.id == me.id'

const declaration = app({
  admins: 'admins',
  rules: { mine: own },
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({
      login: { userType: 'user', second: 'optional' },
      fields: {
        name: text({ optional: true }),
        level: integer({ default: 77, read: 'false', write: 'false' }),
      },
      access: { create: everyone, read: 'id == me.id' },
    }),
    rooms: entity({
      label: 'Rooms',
      fields: {
        title: text({ unique: true, max: 200, search: true }),
        price: decimal({ min: '0.50', optional: true }),
        cost: integer({ default: 4711, read: 'false', write: 'false' }),
        pin: secret({ optional: true }),
        place: object({ city: text(), code: text({ read: 'false', write: 'false' }) }, { optional: true }),
        days: list(object({ name: text(), open: integer({ default: 8 }) }), { optional: true }),
      },
      computed: { double: 'price * 2', hidden: 'cost * 2' },
      check: [
        { that: 'price < "1000"', at: 'price', says: 'is too much' },
        { that: 'cost < 5000', at: 'cost', says: 'must be below the secret sum' },
      ],
      unique: [['title', 'cost']],
      access: { read: everyone },
    }),
    bookings: entity({
      title: 'guest',
      fields: {
        status: choice(['open', 'held'], { default: 'open' }),
        guest: text(),
        room: ref('rooms', { as: 'bookings', onDelete: 'cascade' }),
        vault: ref('vault', { optional: true }),
        owner: ref('users', { default: me, write: 'false' }),
        at: datetime({ default: now }),
        fee: integer({ default: cel('3') }),
        tags: list(ref('rooms'), { default: [] }),
        edited_at: datetime({ optional: true }),
      },
      set: { update: { edited_at: now } },
      access: { create: signedIn, read: 'mine', update: own, history: own },
    }),
    places: entity({
      fields: { size: integer(), address: object({ city: text() }) },
      access: { read: everyone },
    }),
    wishes: entity({
      fields: {
        word: text({ default: 'unseen-word' }),
        lines: list(object({ note: text({ default: 'unseen-note' }) }), { optional: true }),
      },
      access: { create: everyone },
    }),
    vault: entity({ fields: { phrase: text(), room: ref('rooms', { as: 'vaults' }) } }),
  },
})

onEveryStore('the model', declaration, (server) => {
  const read = (token: string | null) => server.expect(200, 'GET', '/api/model/', undefined, { token })
  const named = (model: any, name: string) => model.entities.find((one: any) => one.name === name)
  const field = (model: any, name: string, path: string) =>
    named(model, name)?.fields.find((one: any) => one.path === path)

  test('tells what a form and a list need', async () => {
    const { token } = await server.user('users', { email: 'ann@example.com' })
    const model = await read(token)
    expect(model.entities.map((one: any) => one.name)).toEqual([
      'users',
      'rooms',
      'bookings',
      'places',
      'wishes',
    ])
    expect(named(model, 'places').title).toBe(null)
    const bookings = named(model, 'bookings')
    expect([bookings.title, named(model, 'rooms').title]).toEqual(['guest', 'title'])
    expect(bookings.may).toEqual({
      list: true,
      create: true,
      read: 'some',
      update: 'some',
      delete: false,
      restore: false,
      purge: false,
      history: 'some',
    })
    expect(field(model, 'bookings', 'status')).toEqual({
      path: 'status',
      name: 'status',
      type: 'choice',
      label: null,
      description: null,
      required: false,
      nullable: false,
      choices: ['open', 'held'],
      unique: false,
      search: false,
      fold: false,
      read_only: false,
      may: { read: 'some', create: true, update: 'some' },
      sortable: true,
      filterable: true,
      default: 'open',
    })
    const of = (path: string) => field(model, 'bookings', path)
    expect(of('room')).toMatchObject({ type: 'ref', to: 'rooms', on_delete: 'cascade', required: true })
    expect(of('tags')).toMatchObject({ type: 'list', default: [], items: { type: 'ref', to: 'rooms' } })
    expect([of('owner').read_only, of('owner').provided, of('owner').required]).toEqual([true, 'me', false])
    expect([of('at').provided, of('fee').provided, of('edited_at').read_only]).toEqual([
      'now',
      'server',
      true,
    ])
    expect(field(model, 'rooms', 'price')).toMatchObject({ min: '0.50', scale: 2, nullable: true })
    expect(field(model, 'rooms', 'days').items.fields[1]).toMatchObject({ path: 'open', default: 8 })
    expect(field(model, 'rooms', 'double')).toMatchObject({
      type: 'decimal',
      computed: true,
      read_only: true,
    })
    expect(named(model, 'rooms').referrers).toEqual([
      { entity: 'bookings', path: 'room', as: 'bookings', on_delete: 'cascade', list: false },
      { entity: 'bookings', path: 'tags', as: null, on_delete: 'restrict', list: true },
    ])
    expect([named(model, 'rooms').search, named(model, 'rooms').checks]).toEqual([
      true,
      [{ at: 'price', says: 'is too much' }],
    ])
    expect(field(model, 'users', 'email')).toMatchObject({ unique: true, type: 'email' })
    expect(named(model, 'users').login).toMatchObject({
      user_type: 'user',
      second: 'optional',
      sign_up: true,
    })
    expect([model.limits.batch, model.admin]).toEqual([1000, false])
  })

  test('has nothing that the caller may not know', async () => {
    const { token } = await server.user('users', { email: 'bob@example.com' })
    for (const asked of [null, token]) {
      const { text: said } = await server.call('GET', '/api/model/', { token: asked })
      for (const word of [
        '4711',
        '77',
        'cost',
        'level',
        'vaults',
        'phrase',
        'secret sum',
        'hidden',
        'me.id',
        'mine',
        'unseen-word',
        'unseen-note',
      ])
        expect([asked === null, word, said.includes(word)]).toEqual([asked === null, word, false])
      expect(said).not.toContain('"code"')
    }
    const stranger = await read(null)
    expect(stranger.entities.map((one: any) => one.name)).toEqual(['users', 'rooms', 'places', 'wishes'])
    expect(named(stranger, 'users').may.list).toBe(false)
    expect(named(stranger, 'users').fields.map((one: any) => one.path)).toEqual(['email', 'password', 'name'])
    expect(named(stranger, 'rooms').referrers).toEqual([])
    expect(stranger.sign_in.types.map((one: any) => [one.user_type, one.entity, one.sign_up])).toEqual([
      ['admin', null, false],
      ['user', 'users', true],
    ])
    expect(field(await read(token), 'bookings', 'vault').to).toBe(null)
  })

  test('a key sees no more than it may', async () => {
    const { token } = await server.user('users', { email: 'key@example.com' })
    const asked = { name: 'a key', can: { entities: { rooms: ['read'] } } }
    const { key } = await server.expect(201, 'POST', '/api/auth/keys/', asked, { token })
    const model = await read(key)
    expect(model.entities.map((one: any) => one.name)).toEqual(['rooms'])
  })

  test('looks at each type a few times, not once for every other', async () => {
    const types = ['users', 'rooms', 'bookings', 'places', 'wishes', 'vault']
    const can = { entities: Object.fromEntries(types.map((name) => [name, ['read']])) }
    const { key } = await server.expect(201, 'POST', '/api/auth/keys/', { name: 'all', can })
    const seen = spyOn(Viewer.prototype, 'seen')
    try {
      expect((await read(key)).entities.length).toBe(types.length)
      const whole = seen.mock.calls.filter(([, fields]) => fields === undefined)
      expect(whole.length).toBeLessThanOrEqual(3 * types.length)
    } finally {
      seen.mockRestore()
    }
  })

  test('tells admins the rules, and fits the document', async () => {
    const model = await read(server.adminToken)
    expect(model.admin).toBe(true)
    expect(named(model, 'bookings').rules).toEqual({
      access: { create: 'signedIn', read: 'mine', update: own, history: own },
      named: { mine: own },
    })
    expect(field(model, 'rooms', 'cost').rules).toEqual({ read: 'false', write: 'false' })
    expect(field(model, 'rooms', 'hidden').expression).toBe('cost * 2')
    const document = await server.expect(200, 'GET', '/api/openapi.json')
    const ajv = new Ajv({ strict: false, allErrors: true })
    const fits = ajv.addSchema({ ...document, $id: 'document' }).compile({
      $ref: 'document#/components/schemas/Model',
    })
    for (const one of [model, await read(null)]) expect([fits(one), fits.errors]).toEqual([true, null])
  })

  test('has an ETag for each caller', async () => {
    const { headers } = await server.call('GET', '/api/model/')
    const again = { 'If-None-Match': headers.get('etag') ?? '' }
    const same = await server.call('GET', '/api/model/', { headers: again })
    expect([same.status, same.text]).toEqual([304, ''])
    expect((await server.call('GET', '/api/model/', { headers: again, token: null })).status).toBe(200)
  })
})
