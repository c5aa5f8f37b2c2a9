import { beforeAll, expect, test } from 'bun:test'
import { choice, date, decimal, entity, integer, number, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

const shop = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {} }),
  shops: entity({ fields: { name: text() }, access: { read: 'me != null' } }),
  sales: entity({
    fields: {
      shop: ref('shops', { optional: true }),
      owner: ref('users', { optional: true }),
      status: choice(['open', 'paid'], { optional: true }),
      pieces: integer({ optional: true }),
      price: decimal({ scale: 3, optional: true }),
      weight: number({ optional: true }),
      day: date({ optional: true }),
      margin: integer({ optional: true, read: 'me.type == "admin"' }),
    },
    access: { read: 'owner.id == me.id' },
  }),
})

onEveryStore('summaries', shop, (server) => {
  let ann = { id: 0, token: '' }
  const get = (query: string, token?: string) =>
    server.expect(200, 'GET', `/api/sales/summary/?${query}`, undefined, token === undefined ? {} : { token })

  beforeAll(async () => {
    ann = await server.user('users', { email: 'ann@example.com' })
    await server.expect(201, 'POST', '/api/shops/', [{ name: 'A' }, { name: 'B' }])
    await server.expect(201, 'POST', '/api/sales/', [
      {
        shop: { id: 1 },
        status: 'open',
        pieces: 2,
        price: '1.005',
        weight: 0.5,
        day: '2026-01-02',
        margin: 5,
      },
      { shop: { id: 1 }, status: 'paid', pieces: -3, price: '2', weight: 1.5, day: '2026-01-01' },
      { shop: { id: 2 }, status: 'open', pieces: 9007199254740991, owner: { id: ann.id } },
      { shop: { id: 2 }, status: 'open', pieces: 9007199254740991, price: '999999999999999.999' },
      { status: null, pieces: null, price: '999999999999999.999', owner: { id: ann.id }, margin: 7 },
    ])
  })

  test('count, add up, average and bound, by group', async () => {
    expect(await get('')).toEqual({ data: [{ count: 5 }], next: null })
    expect(await get('group=status&count=1')).toEqual({
      data: [
        { group: { status: null }, count: 1 },
        { group: { status: 'open' }, count: 3 },
        { group: { status: 'paid' }, count: 1 },
      ],
      next: null,
    })
    expect(await get('group=shop.name&sum=pieces,price&avg=weight,price&min=day&max=day,price')).toEqual({
      data: [
        {
          group: { 'shop.name': null },
          sum: { pieces: null, price: '999999999999999.999' },
          avg: { weight: null, price: 1e15 },
          min: { day: null },
          max: { day: null, price: '999999999999999.999' },
        },
        {
          group: { 'shop.name': 'A' },
          sum: { pieces: -1, price: '3.005' },
          avg: { weight: 1, price: 1.5025 },
          min: { day: '2026-01-01' },
          max: { day: '2026-01-02', price: '2.000' },
        },
        {
          group: { 'shop.name': 'B' },
          sum: { pieces: '18014398509481982', price: '999999999999999.999' },
          avg: { weight: null, price: 1e15 },
          min: { day: null },
          max: { day: null, price: '999999999999999.999' },
        },
      ],
      next: null,
    })
    expect((await get('sum=price')).data).toEqual([{ sum: { price: '2000000000000003.003' } }])
  })

  test('see what the list would show', async () => {
    expect((await get('filter=pieces<5&sum=pieces&count=1')).data).toEqual([
      { count: 2, sum: { pieces: -1 } },
    ])
    expect((await get('shop.name=A&group=status')).data).toHaveLength(2)
    expect((await get('count=1', ann.token)).data).toEqual([{ count: 2 }])
    await server.expect(403, 'GET', '/api/sales/summary/?trashed=only', undefined, { token: ann.token })
    await server.expect(401, 'GET', '/api/sales/summary/', undefined, { token: null })
    for (const name of ['group', 'sum', 'min']) {
      const [hidden, unknown] = await Promise.all(
        ['margin', 'morgan'].map((path) =>
          server.call('GET', `/api/sales/summary/?${name}=${path}`, { token: ann.token }),
        ),
      )
      expect(hidden?.text.replace('margin', 'morgan')).toBe(unknown?.text ?? '')
      expect(hidden?.status).toBe(422)
    }
    expect((await get('sum=margin')).data).toEqual([{ sum: { margin: 12 } }])
  })

  test('come a page at a time', async () => {
    const first = await get('group=shop.id,status&limit=2')
    const second = await get(`group=shop.id,status&limit=2&cursor=${first.next}`)
    const whole = await get('group=shop.id,status')
    expect([...first.data, ...second.data]).toEqual(whole.data)
    expect([whole.data.length, second.next]).toEqual([4, null])
  })

  test('refuse what is no number, no value or no parameter', async () => {
    for (const [query, errors] of [
      ['sum=status', { sum: ['"status" is not a number of sales'] }],
      ['avg=day', { avg: ['"day" is not a number of sales'] }],
      ['min=status', { min: ['"status" is not a number, a date or a time of sales'] }],
      ['group=nothing', { group: ['"nothing" is not a value of sales'] }],
      ['group=status,status', { group: ['names a value twice'] }],
      ['sort=status', { sort: ['is not a parameter, nor a value of sales'] }],
      ['count=2', { count: ['must be 1 or 0'] }],
    ] as const) {
      const { status, body } = await server.call('GET', `/api/sales/summary/?${query}`)
      expect([query, status, body.errors]).toEqual([query, 422, errors])
    }
  })
})
