import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  choice,
  decimal,
  entity,
  everyone,
  integer,
  json,
  list,
  number,
  object,
  ref,
  signedIn,
  text,
} from '../../src/takeback.ts'
import { users, withAdmins } from '../declarations.ts'
import {
  expectInvalid,
  FULL_POOL,
  onEveryStoreByHand,
  operationOf,
  runs,
  type TestRequest,
  TestServer,
} from '../harness.ts'

const shop = withAdmins({
  users,
  labels: entity({ fields: { name: text() }, access: { read: everyone } }),
  products: entity({
    fields: {
      name: text({ optional: true }),
      stock: integer({ min: 0, max: 1000, default: 0 }),
      price: decimal({ scale: 2, min: '0.00', optional: true }),
      weight: number({ optional: true }),
      labels: list(ref('labels'), { max: 3, default: [] }),
      notes: list(text({ max: 5 }), { max: 4, optional: true }),
      grid: list(object({ x: integer(), y: integer({ optional: true }) }), { default: [] }),
      size: object({ width: integer({ max: 10 }) }, { optional: true }),
      extra: json({ optional: true }),
      code: integer({ optional: true, unique: true }),
      margin: integer({ default: 7, min: 0, read: 'me.type == "admin"', write: signedIn }),
      cost: integer({ default: 7, min: 0, read: 'me.type == "admin"', write: 'me.type == "admin"' }),
      rating: integer({ default: 3, write: 'next.rating >= rating' }),
      state: choice(['on', 'off'], { default: 'on' }),
    },
    access: { read: signedIn, update: 'state == "on" && next.stock < 900' },
  }),
})

onEveryStoreByHand('atomic changes', (store) => {
  const server = new TestServer(store, shop, FULL_POOL)
  let second: TestServer
  let token = ''
  let labels: number[] = []
  const make = async (body = {}) => (await server.expect(201, 'POST', '/api/products/', body)).id as number
  const patch = (id: number, body: unknown, sent: TestRequest = {}) =>
    server.call('PATCH', `/api/products/${id}/`, { ...sent, body })
  const get = (id: number) => server.expect(200, 'GET', `/api/products/${id}/`)

  beforeAll(async () => {
    await server.start()
    second = new TestServer(store, shop, FULL_POOL, await server.database())
    second.adminToken = server.adminToken
    await second.start()
    token = (await server.user('users', { email: 'u@example.com' })).token
    const made = await server.expect(
      201,
      'POST',
      '/api/labels/',
      ['a', 'b', 'c', 'd'].map((name) => ({ name })),
    )
    labels = made.data.map(({ id }: { id: number }) => id)
  })
  afterAll(async () => {
    await second?.stop()
    await server.remove()
  })
  const refs = (...at: number[]) => at.map((one) => ({ id: labels[one] }))

  test('numbers are added to, decimals exactly, and lists added to and taken from', async () => {
    const id = await make({
      stock: 5,
      price: '0.10',
      weight: 0.5,
      labels: refs(0, 1),
      notes: ['x', 'y', 'x'],
    })
    const { status, body } = await patch(id, {
      name: 'Lamp',
      stock: { $add: -2 },
      price: { $add: '0.2' },
      weight: { $add: 1.25 },
      labels: { $remove: refs(0), $add: refs(1, 2, 2) },
      notes: { $add: ['y', 'z'], $remove: ['x', 'nothing'] },
      grid: { $add: [{ x: 1 }] },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      name: 'Lamp',
      stock: 3,
      price: '0.30',
      weight: 1.75,
      labels: refs(1, 2),
      notes: ['y', 'y', 'z'],
      grid: [{ x: 1, y: null }],
    })
    expect((await patch(id, { grid: { $remove: [{ y: null, x: 1 }] } })).body.grid).toEqual([])
    const [{ changed }] = (await server.expect(200, 'GET', `/api/products/${id}/history/`)).data.slice(1)
    expect(changed.stock).toEqual({ from: 5, to: 3 })
    expect(await server.expect(200, 'GET', `/api/labels/?filter=id == ${labels[2]}`)).toBeDefined()
    const found = await server.expect(
      200,
      'GET',
      `/api/products/?filter=labels.exists(l, l.id == ${labels[2]})`,
    )
    expect(found.data.map((one: { id: number }) => one.id)).toEqual([id])
  })

  test('the result is held to the limits, with the same words as a value that is sent', async () => {
    const id = await make({ stock: 1, price: '1.00', labels: refs(0, 1), size: { width: 9 }, code: 1 })
    const other = await make({ code: 3 })
    const before = await get(id)
    expectInvalid(
      await patch(id, { stock: { $add: -2 }, price: { $add: '-1.01' }, size: { width: { $add: 2 } } }),
      {
        stock: ['must be at least 0'],
        price: ['must be at least 0.00'],
        'size.width': ['must be at most 10'],
      },
    )
    expectInvalid(await patch(id, { stock: { $add: 9007199254740991 } }), { stock: ['must be at most 1000'] })
    expectInvalid(await patch(id, { labels: { $add: refs(2, 3) } }), {
      labels: ['must have at most 3 items'],
    })
    expectInvalid(await patch(id, { labels: { $add: [...refs(1), { id: 999 }] } }), {
      'labels.$add.1': ['refers to nothing'],
      'labels.$add.1.id': ['refers to nothing'],
    })
    expectInvalid(await patch(id, { code: { $add: 2 } }), { code: [`is taken by products/${other}`] })
    expectInvalid(await patch(id, { notes: { $add: ['a'] }, weight: { $add: 1 } }), {
      notes: ['has no value: set it first'],
      weight: ['has no value: set it first'],
    })
    expect(await get(id)).toEqual(before)
  })

  test('what is not an operator, and wrong operands, are refused where they are', async () => {
    const id = await make({ notes: ['a'], size: { width: 1 } })
    expectInvalid(
      await patch(id, {
        stock: { $inc: 1 },
        price: { $add: 1.5 },
        labels: { $add: { id: 1 }, $push: [] },
        notes: { $add: ['longer', 5, null], x: 1 },
        size: { width: { $add: 1.5 } },
        rating: {},
      }),
      {
        'stock.$inc': ['is not an operator here; use $add'],
        'price.$add': [
          'must be a decimal as a string, such as "10.50", with at most 16 digits before the point and 2 after it',
        ],
        'labels.$push': ['is not an operator here; use $add or $remove'],
        'labels.$add': ['must be a list'],
        'notes.x': ['is not an operator here; use $add or $remove'],
        'notes.$add.0': ['must have at most 5 characters'],
        'notes.$add.1': ['must be a text'],
        'notes.$add.2': ['must not be null'],
        'size.width.$add': ['must be an integer'],
        rating: ['must be an integer'],
      },
    )
    expect((await server.call('PUT', `/api/products/${id}/`, { body: { stock: { $add: 1 } } })).status).toBe(
      422,
    )
    expect((await server.call('POST', '/api/products/', { body: { stock: { $add: 1 } } })).status).toBe(422)
  })

  test('an object with such a key is a value in a json field', async () => {
    const id = await make({ extra: 5 })
    expect((await patch(id, { extra: { $add: 1 }, stock: { $add: 1 } })).body.extra).toEqual({ $add: 1 })
    expect((await patch(id, { extra: { $remove: [1] } })).body.extra).toEqual({ $add: 1, $remove: [1] })
  })

  test('rules hold for the result; what one does not see tells nothing', async () => {
    const id = await make({ stock: 5 })
    const as = { token }
    expect((await patch(id, { stock: { $add: 1 } }, as)).body.stock).toBe(6)
    expect((await patch(id, { stock: { $add: 895 } }, as)).status).toBe(403)
    expectInvalid(await patch(id, { rating: { $add: -1 } }, as), { rating: ['is not yours to set'] })
    expect((await patch(id, { rating: { $add: 1 } }, as)).body.rating).toBe(4)
    // Otherwise, somebody could find out a hidden value by counting down to a limit.
    for (const by of [1, -8])
      expectInvalid(await patch(id, { margin: { $add: by } }, as), { margin: ['must be an integer'] })
    for (const name of ['cost', 'nothing'])
      expectInvalid(await patch(id, { [name]: { $add: 1 }, stock: { $add: 1 } }, as), {
        [name]: ['is not a field of products'],
      })
    await patch(id, { state: 'off' })
    expect((await patch(id, { stock: { $nothing: 1 } }, as)).status).toBe(403)
    expect((await patch(999, { stock: { $add: 1 } }, as)).status).toBe(404)
    expect((await get(id)).stock).toBe(6)
  })

  test('If-Match, Idempotency-Key, batches and undo', async () => {
    const id = await make({ stock: 5 })
    expect((await patch(id, { stock: { $add: 1 } }, { headers: { 'If-Match': '"2"' } })).status).toBe(412)
    const headers = { 'If-Match': '"1"', 'Idempotency-Key': `once-${store}` }
    const first = await patch(id, { stock: { $add: 1 } }, { headers })
    const again = await patch(id, { stock: { $add: 1 } }, { headers })
    expect([first.body, again.body, (await get(id)).stock]).toEqual([first.body, first.body, 6])
    const path = `/api/products/${id}/`
    const batch = await server.call('POST', '/api/batch/', {
      body: [
        { method: 'PATCH', path, body: { stock: { $add: 2 } } },
        { method: 'POST', path: '/api/labels/', body: { name: 'new' } },
        { method: 'PATCH', path, body: { stock: { $add: 3 }, labels: { $add: [{ id: '$1.id' }] } } },
      ],
    })
    expect(batch.body.results[2].body).toMatchObject({
      stock: 11,
      labels: [{ id: batch.body.results[1].body.id }],
    })
    await server.expect(200, 'POST', `/api/operations/${operationOf(batch)}/undo/`)
    expect(await get(id)).toMatchObject({ stock: 6, labels: [] })
    const refused = [{ method: 'PATCH', path, body: { stock: { $add: -7 } } }]
    expectInvalid(await server.call('POST', '/api/batch/', { body: refused }), {
      '0.stock': ['must be at least 0'],
    })
  })

  test('many clients on two instances: nothing is lost, and no limit is passed', async () => {
    const id = await make({ stock: 20 })
    const take = (at: number) =>
      (at % 2 === 0 ? server : second).call('PATCH', `/api/products/${id}/`, {
        body: { stock: { $add: -1 } },
      })
    const taken = await Promise.all(Array.from({ length: 30 }, (_, at) => take(at)))
    const count = (status: number) => taken.filter((one) => one.status === status).length
    expect([count(200), count(422), (await get(id)).stock]).toEqual([20, 10, 0])
    const left = taken.filter((one) => one.status === 200).map(({ body }) => body.stock)
    expect(left.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at))
    for (const one of taken) if (one.status === 422) expectInvalid(one, { stock: ['must be at least 0'] })
  })

  test('any sequence comes to the same as sets of the results', async () => {
    const id = await make({ price: '0.00', notes: [] })
    const cents = fc.integer({ min: -500, max: 500 })
    const few = fc.array(fc.constantFrom<string>('a', 'b', 'c'), { maxLength: 2 })
    const steps = fc.array(fc.tuple(cents, few, few), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        await patch(id, { price: '0.00', notes: [] })
        let [price, notes] = [0, [] as string[]]
        for (const [by, $add, $remove] of all) {
          const next = [...notes.filter((one) => !$remove.includes(one)), ...$add]
          const fits = price + by >= 0 && next.length <= 4
          const sent = { price: { $add: (by / 100).toFixed(2) }, notes: { $add, $remove } }
          const { status } = await patch(id, sent)
          expect(status).toBe(fits ? 200 : 422)
          if (fits) [price, notes] = [price + by, next]
        }
        expect(await get(id)).toMatchObject({ price: (price / 100).toFixed(2), notes })
      }),
      { numRuns: runs(15) },
    )
  })
})
