import { beforeAll, expect, test } from 'bun:test'
import type { EntityDeclaration } from '../../src/declare/define.ts'
import { resolve } from '../../src/declare/resolve.ts'
import {
  choice,
  datetime,
  decimal,
  entity,
  integer,
  list,
  number,
  object,
  ref,
  signedIn,
  text,
} from '../../src/takeback.ts'
import { forUsers, withAdmins } from '../declarations.ts'
import { expectInvalid, onEveryStore } from '../harness.ts'

const shop = withAdmins({
  users: entity({
    login: { userType: 'user' },
    fields: { first: text({ default: 'Ada' }), last: text({ default: 'Byron' }) },
    computed: { name: 'first + " " + last' },
    access: { read: signedIn },
  }),
  products: entity({
    fields: { price: decimal(), cost: decimal({ read: 'me.type == "admin"' }) },
    computed: { margin: 'price - cost' },
    access: { read: signedIn },
  }),
  orders: entity({
    fields: {
      product: ref('products', { as: 'orders' }),
      quantity: integer({ optional: true }),
      // Visible only in open orders.
      discount: decimal({ default: '0.00', read: 'status == "open" || me.type == "admin"' }),
      status: choice(['open', 'done'], { default: 'open' }),
      due: datetime({ optional: true }),
      size: object({ width: number({ default: 2 }), height: number({ default: 0.5 }) }, { optional: true }),
      tags: list(text(), { default: [] }),
    },
    computed: {
      total: 'quantity * product.price',
      reduced: 'total - discount',
      gross: 'total * 1.19',
      area: 'size.width * size.height',
      overdue: 'due < now',
      urgent: '"urgent" in tags',
      profit: 'quantity * product.margin',
      reminder: 'due - duration("24h")',
    },
    check: [{ that: 'total <= 1000', at: 'quantity', says: 'makes more than 1000 in total' }],
    access: { ...forUsers, delete: 'total < 500' },
  }),
})

onEveryStore('computed fields', shop, (server) => {
  let product = 0
  const orders: number[] = []
  const token = { user: '' }
  const get = (path: string, as?: string) =>
    server.expect(200, 'GET', `/api/${path}`, undefined, as === undefined ? {} : { token: as })

  beforeAll(async () => {
    token.user = (await server.user('users', { email: 'a@example.com' })).token
    product = (await server.expect(201, 'POST', '/api/products/', { price: '2.50', cost: '1' })).id
    for (const body of [
      { quantity: 3, due: '2020-01-02T00:00:00Z', size: {}, tags: ['urgent'] },
      { quantity: 300, discount: '1.5', due: '2200-01-01T00:00:00Z' },
      { status: 'done', discount: '0.5' },
      { quantity: 10, status: 'done', discount: '0.5', due: '2020-01-02T00:00:00Z' },
    ])
      orders.push(
        (await server.expect(201, 'POST', '/api/orders/', { product: { id: product }, ...body })).id,
      )
  })

  test('are in every answer, and cannot be sent', async () => {
    const sent = { product: { id: product }, quantity: 4, tags: [] }
    const made = await server.call('POST', '/api/orders/', { body: sent, token: token.user })
    const computed = {
      total: '10.00',
      reduced: '10.00',
      gross: '11.9000',
      area: null,
      overdue: null,
      urgent: false,
      reminder: null,
    }
    expect(made.body).toMatchObject(computed)
    // The caller does not see the fields that it is computed from.
    expect(made.body).not.toHaveProperty('profit')
    const path = `/api/orders/${made.body.id}/`
    expect(await server.expect(200, 'GET', path)).toMatchObject({ ...computed, profit: '6.00' })
    expect((await server.expect(200, 'PATCH', path, { quantity: 6 })).total).toBe('15.00')
    const batch = [{ method: 'PATCH', path, body: { quantity: 8 } }]
    expect((await server.expect(200, 'POST', '/api/batch/', batch)).results[0].body.total).toBe('20.00')
    expect((await server.expect(200, 'DELETE', path)).total).toBe('20.00')
    expect((await server.expect(200, 'DELETE', `${path}?restore=1`)).total).toBe('20.00')
    expect((await server.expect(200, 'POST', `${path}revert/`, { version: 1 })).total).toBe('10.00')
    const seen = 'is set by the server'
    expectInvalid(await server.call('PATCH', path, { body: { total: '1', profit: '1' } }), {
      total: [seen],
      profit: [seen],
    })
    expectInvalid(await server.call('PATCH', path, { body: { profit: '1' }, token: token.user }), {
      profit: ['is not a field of orders'],
    })
    const changes = (await get(`orders/${made.body.id}/history/`)).data
    expect(JSON.stringify(changes)).not.toContain('total')
    await server.expect(200, 'DELETE', path)
    expect(await get('auth/me', token.user)).toMatchObject({ name: 'Ada Byron' })
  })

  test('are filtered, sorted, summed and chosen', async () => {
    const list = async (query: string, as?: string) =>
      (await get(`orders/?${query}`, as)).data.map((one: { id: number }) => orders.indexOf(one.id))
    const filter = (text: string) => `filter=${encodeURIComponent(text)}`
    expect(await list(filter('total > 7.5'))).toEqual([1, 3])
    expect(await list(filter('gross == 8.925'))).toEqual([0])
    expect(await list(filter('total == null'))).toEqual([2])
    expect(await list('total=7.50')).toEqual([0])
    expect(await list('total=null')).toEqual([2])
    expect(await list('overdue=true')).toEqual([0, 3])
    expect(await list(filter('urgent && area == 1.0'))).toEqual([0])
    expect(await list(filter('reminder < timestamp("2020-01-02T00:00:00Z") && quantity > 5'))).toEqual([3])
    expect(await list('sort=-total')).toEqual([1, 3, 0, 2])
    expect(await list('sort=gross,-id&limit=2')).toEqual([2, 0])
    const { next } = await get('orders/?sort=-gross&limit=2')
    expect(await list(`sort=-gross&limit=2&cursor=${next}`)).toEqual([0, 2])
    expect((await get('orders/?fields=total,id&total=7.50')).data).toEqual([{ id: orders[0], total: '7.50' }])
    expect(await get(`orders/${orders[0]}/?fields=urgent`)).toEqual({ urgent: true })
    const summary = await get('orders/summary/?group=overdue&sum=total&max=gross')
    expect(summary.data).toContainEqual({
      group: { overdue: true },
      sum: { total: '32.50' },
      max: { gross: '29.7500' },
    })
    // Computed fields work through references, in both directions, and in expansions.
    expect((await get(`products/?${filter('orders.exists(o, o.total > 700.0)')}`)).data).toHaveLength(1)
    const expanded = await get(`orders/${orders[0]}/?expand=product`)
    expect(expanded.product).toMatchObject({ margin: '1.50' })
    // They work in rules and checks.
    await server.expect(403, 'DELETE', `/api/orders/${orders[1]}/`, undefined, { token: token.user })
    expectInvalid(await server.call('PATCH', `/api/orders/${orders[0]}/`, { body: { quantity: 401 } }), {
      quantity: ['makes more than 1000 in total'],
    })
  })

  test('what one may not see cannot be asked about through them', async () => {
    const ask = (query: string) => server.call('GET', `/api/orders/?${query}`, { token: token.user })
    for (const query of [
      'filter=profit > 1',
      'sort=profit',
      'profit=1',
      'fields=profit',
      'sort=product.margin',
    ]) {
      const [hidden, unknown] = [await ask(query), await ask(query.replace(/profit|margin/, 'zzzzzz'))]
      expect(hidden.status).toBe(422)
      expect(hidden.text.replaceAll(/profit|margin/g, 'zzzzzz')).toBe(unknown.text)
    }
    const summary = await server.call('GET', '/api/orders/summary/?sum=profit', { token: token.user })
    expect(summary.status).toBe(422)
    expect((await get(`products/${product}/`, token.user)).margin).toBeUndefined()
    // If a source is hidden in some Entities, the computed field is missing there.
    const { data } = await get('orders/?sort=id', token.user)
    expect(data.map((one: { reduced: unknown }) => one.reduced)).toEqual(['7.50', '748.50', null, null])
    expect((await ask('filter=reduced == 24.5')).body.data).toEqual([])
    expect((await get('orders/?filter=reduced == 24.5')).data).toHaveLength(1)
    expect((await get('orders/summary/?sum=reduced', token.user)).data[0].sum).toEqual({ reduced: '756.00' })
  })

  test('of the past are made of the values of then', async () => {
    const path = `/api/orders/${orders[3]}/`
    const before = await server.expect(200, 'GET', path)
    await Bun.sleep(2)
    await server.expect(200, 'PATCH', path, { quantity: 1 })
    const { updated_at: later } = before
    expect(await server.expect(200, 'GET', `${path}?at=${later}`)).toMatchObject({ total: '25.00' })
    const { data } = await get(`orders/?at=${new Date(Date.parse(later)).toISOString()}&total=25.00`)
    expect(data.map(({ id }: { id: number }) => id)).toEqual([orders[3]])
    await server.expect(200, 'PATCH', path, { quantity: 10 })
  })

  test('are documented as read-only', async () => {
    const { components, paths } = await get('openapi.json')
    const { orders: one, orders_create: body } = components.schemas
    expect(one.properties.total).toMatchObject({ readOnly: true })
    expect(body.properties).not.toHaveProperty('total')
    expect(JSON.stringify(paths['/api/orders/'].get.parameters)).toContain('-gross')
    const page = await (await fetch(`${server.url}/docs`)).text()
    expect(page).toContain('computed')
    expect(page).not.toContain('product.margin')
  })
})

test('mistakes are found at start', () => {
  const problems = (computed: unknown, more: Partial<EntityDeclaration> = {}) => {
    try {
      resolve(
        withAdmins({
          things: entity({
            fields: { a: integer(), t: text(), thing: ref('things', { optional: true, as: 'things' }) },
            computed,
            ...more,
          } as never),
        }),
      )
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  expect(problems({ b: 'a * 2', c: 'b + 1' })).toBe('')
  for (const [computed, said] of [
    [3, 'entities.things.computed: must be an object'],
    [{ a: 'a + 1' }, 'computed.a: is the name of a field already; choose another'],
    [{ A: 'a + 1' }, 'computed.A: is the name of a field already'],
    [{ id: 'a + 1' }, 'computed.id: is a name that is taken'],
    [{ things: 'a + 1' }, 'has the name of a reference to it'],
    [{ 'b.c': 'a' }, 'must be named with letters'],
    [{ b: 3 }, "must be an expression in CEL, such as 'quantity * price'"],
    [{ b: 'a +' }, 'computed.b: ends too early'],
    [{ b: 'a + x' }, 'computed "b": unknown field "x" at column 5'],
    [{ b: 'me.id' }, 'uses me, but a computed field must be the same for everybody'],
    [{ b: 'b + 1' }, 'uses itself: b → b'],
    [{ b: 'c + 1', c: 'b + 1' }, 'uses itself: b → c → b'],
    [{ b: '1 + 1' }, 'must give a single value'],
    [{ b: 'thing' }, 'must give a single value'],
    [{ b: 'size(things)' }, 'uses referrers, which a computed field cannot use'],
  ] as const)
    expect(problems(computed)).toContain(said)
  expect(problems({ late: 'a > 1' }, { check: [{ that: '!late', at: 'a', says: 'is late' }] })).toBe('')
})
