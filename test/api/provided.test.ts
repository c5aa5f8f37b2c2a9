import { expect, test } from 'bun:test'
import type { EntityDeclaration } from '../../src/declare/define.ts'
import { resolve } from '../../src/declare/resolve.ts'
import {
  boolean,
  cel,
  choice,
  date,
  datetime,
  decimal,
  entity,
  integer,
  me,
  now,
  object,
  ref,
  signedIn,
  text,
} from '../../src/takeback.ts'
import { changing } from '../changing.ts'
import { forUsers, things, withAdmins } from '../declarations.ts'
import { expectInvalid, onEveryStore, onEveryStoreByHand, operationOf } from '../harness.ts'

const shop = withAdmins({
  users: entity({
    login: { userType: 'user' },
    fields: { shop: text({ default: 'main' }) },
    access: { read: signedIn },
  }),
  products: entity({ fields: { price: decimal(), maker: ref('users', { optional: true }) } }),
  orders: entity({
    fields: {
      product: ref('products'),
      quantity: integer({ default: 1 }),
      owner: ref('users', { default: me, write: 'me.type == "admin"' }),
      ordered_at: datetime({ default: now }),
      day: date({ default: now, optional: true }),
      due: datetime({ default: cel('now + duration("24h")') }),
      price: decimal({ default: cel('product.price'), max: '100' }),
      maker: ref('users', { optional: true, default: cel('product.maker') }),
      shop: text({ optional: true, default: cel('me.shop') }),
      large: boolean({ default: cel('quantity > 10') }),
      status: choice(['open', 'closed'], { default: 'open' }),
      closed_at: datetime({ optional: true }),
      edit: object({ by: ref('users', { optional: true }), at: datetime(), note: text({ default: 'x' }) }),
      source: text({ optional: true }),
    },
    set: {
      create: { 'edit.at': now, source: 'api' },
      update: {
        'edit.by': me,
        'edit.at': now,
        source: 'edit',
        closed_at: cel('status == "closed" ? (closed_at == null ? now : closed_at) : closed_at'),
      },
    },
    check: [{ that: 'large || quantity < 5', at: 'quantity', says: 'is neither small nor large' }],
    access: { ...forUsers, create: 'owner.id == me.id' },
  }),
  // Order: the hook, then defaults, then what is set, then the check.
  hooked: entity({
    fields: { m: integer(), n: integer({ default: cel('m * 2') }), by: text({ optional: true }) },
    before: { create: (body) => ({ ...body, m: (body.m ?? 0) + 1 }), update: () => ({ m: 7 }) },
    set: { create: { by: cel('n > 4 ? "large" : "small"') }, update: { n: cel('m * 2') } },
    check: [{ that: 'n != 10 || by != "large"', at: 'n', says: 'is ten' }],
    access: forUsers,
  }),
  audits: entity({
    fields: { title: text(), audit: object({ by: ref('users'), at: datetime() }) },
    set: { create: { 'audit.by': me, 'audit.at': now }, update: { 'audit.at': now } },
    access: forUsers,
  }),
})

onEveryStore('what the server provides', shop, (server) => {
  const edit = {}
  const post = (path: string, body: unknown, token?: string) =>
    server.call('POST', `/api/${path}/`, { body, ...(token !== undefined && { token }) })

  test('defaults: me, now, expressions', async () => {
    const a = await server.user('users', { email: 'a@example.com', shop: 'north' })
    const product = { id: (await post('products', { price: '9.50', maker: { id: a.id } })).body.id }
    const before = new Date().toISOString()
    const { status, body } = await post('orders', { product, edit }, a.token)
    expect([status, body]).toEqual([201, expect.anything()])
    expect(body).toMatchObject({
      owner: { id: a.id },
      price: '9.50',
      maker: { id: a.id },
      shop: 'north',
      large: false,
      source: 'api',
      closed_at: null,
      day: body.ordered_at.slice(0, 10),
    })
    expect(body.ordered_at >= before).toBe(true)
    expect(body.edit).toEqual({ by: null, at: body.ordered_at, note: 'x' })
    expect(Date.parse(body.due) - Date.parse(body.ordered_at)).toBe(86_400_000)
    // A value that is sent wins; null, too, where it is allowed.
    const own = await post(
      'orders',
      { product, edit, price: '1', maker: null, day: null, large: true },
      a.token,
    )
    expect(own.body).toMatchObject({ price: '1.00', maker: null, day: null, large: true })
    // An admin is not one of the users, and the price of a product may not fit.
    const dear = { id: (await post('products', { price: '100.50' })).body.id }
    expectInvalid(await post('orders', { product, edit }), {
      owner: ['is required'],
      'owner.id': ['is required'],
    })
    // The price is missing only because the product does not exist.
    const nothing = ['refers to nothing']
    const unknown = { product: { id: 999_999 }, edit }
    expectInvalid(await post('orders', unknown, a.token), { product: nothing, 'product.id': nothing })
    expectInvalid(await post('orders', [{ product, edit }, unknown], a.token), {
      '1.product': nothing,
      '1.product.id': nothing,
    })
    expectInvalid(await post('orders', { product: dear, edit, quantity: 7 }, a.token), {
      price: ['must be at most 100'],
      quantity: ['is neither small nor large'],
    })
    expectInvalid(await post('orders', { product, edit, quantity: 7 }, a.token), {
      quantity: ['is neither small nor large'],
    })
    expectInvalid(await post('orders', { product, edit: {}, owner: { id: a.id } }, a.token), {
      owner: ['is not yours to set'],
    })
    const many = await post(
      'orders',
      [
        { product, edit },
        { product, edit, quantity: 20 },
      ],
      a.token,
    )
    expect(many.body.data.map((one: { large: boolean }) => one.large)).toEqual([false, true])
  })

  test('what is set on an action is never sent', async () => {
    const [a, b] = [
      await server.user('users', { email: 'c@example.com' }),
      await server.user('users', { email: 'd@example.com' }),
    ]
    const product = { id: (await post('products', { price: '1' })).body.id }
    const refused = { 'edit.at': ['is set by the server'], source: ['is set by the server'] }
    const sent = { product, edit: { at: '2020-01-01T00:00:00Z' }, source: 'me' }
    expectInvalid(await post('orders', sent, a.token), refused)
    const { id, edit: first } = (await post('orders', { product, edit }, a.token)).body
    const path = `/api/orders/${id}/`
    const patch = (body: unknown, token = b.token) => server.call('PATCH', path, { body, token })
    expectInvalid(await patch({ edit: { at: '2020-01-01T00:00:00Z' }, source: 'me' }), refused)
    // Nothing is written, so nothing is set.
    expect((await patch({})).body.edit).toEqual(first)
    const quantity = await patch({ quantity: 2 })
    expect(quantity.body).toMatchObject({
      quantity: 2,
      edit: { by: { id: b.id }, note: 'x' },
      source: 'edit',
      closed_at: null,
      owner: { id: a.id },
    })
    const closed = (await patch({ status: 'closed' }, a.token)).body
    expect(closed.closed_at).toBe(closed.edit.at)
    expect(closed.edit.by).toEqual({ id: a.id })
    const put = await server.call('PUT', path, {
      body: { product, quantity: 3, edit: { note: 'y' }, status: 'closed' },
      token: b.token,
    })
    // A PUT keeps the values that the server has provided.
    expect(put.body).toMatchObject({
      quantity: 3,
      owner: { id: a.id },
      price: '1.00',
      edit: { by: { id: b.id }, note: 'y' },
      closed_at: closed.closed_at,
      ordered_at: closed.ordered_at,
    })
    // An admin is not one of the users.
    expect((await patch({ status: 'open' }, server.adminToken)).body.edit.by).toBeNull()
    // The field of the last editor does not conflict with an undo.
    await server.expect(200, 'POST', `/api/operations/${operationOf(await patch({ quantity: 4 }))}/undo/`, {})
    const undone = await patch({ quantity: 4 }, a.token)
    await patch({ status: 'closed' })
    await server.expect(200, 'POST', `/api/operations/${operationOf(undone)}/undo/`, {}, { token: a.token })
    expect(await server.expect(200, 'GET', path)).toMatchObject({ quantity: 3, edit: { by: { id: b.id } } })
  })

  test('hooks come first, then defaults, then what is set, then checks', async () => {
    expect((await post('hooked', { m: 1 })).body).toMatchObject({ m: 2, n: 4, by: 'small' })
    expectInvalid(await post('hooked', { m: 4 }), { n: ['is ten'] })
    const { id } = (await post('hooked', { m: 5 })).body
    expect(await server.expect(200, 'PATCH', `/api/hooked/${id}/`, { m: 1 })).toMatchObject({ m: 7, n: 14 })
    expectInvalid(await post('hooked', { m: 1, n: 3 }), { n: ['is set by the server'] })
  })

  test('an object of nothing else need not be sent', async () => {
    const { id, token } = await server.user('users', { email: 'e@example.com' })
    const made = (await post('audits', { title: 'x' }, token)).body
    expect(made.audit).toEqual({ by: { id }, at: expect.any(String) })
    expectInvalid(await post('audits', { title: 'x', audit: { by: { id } } }, token), {
      'audit.by': ['is set by the server'],
    })
    // Only users can create them, but everybody can change them.
    expectInvalid(await post('audits', { title: 'x' }), {
      'audit.by': ['is required'],
      'audit.by.id': ['is required'],
    })
    const path = `/api/audits/${made.id}/`
    const changed = await server.expect(200, 'PUT', path, { title: 'y' })
    expect(changed).toMatchObject({ title: 'y', audit: { by: { id } } })
    const batch = await server.call('POST', '/api/batch/', {
      body: [{ method: 'POST', path: '/api/audits/', body: { title: 'z' } }],
      token,
    })
    expect(batch.body.results[0].body.audit.by).toEqual({ id })
  })

  test('is documented', async () => {
    const { components } = await server.expect(200, 'GET', '/api/openapi.json')
    const { orders, orders_create: body } = components.schemas
    expect(orders.properties.source.readOnly).toBe(true)
    expect(Object.keys(body.properties)).not.toContain('source')
    expect(Object.keys(components.schemas.audits_create.properties)).toEqual(['title'])
    expect(body.required).toEqual(['product', 'edit'])
    expect(body.properties.owner.description).toBe('Refers to a user. Default: the user who acts.')
    const page = await (await fetch(`${server.url}/docs`)).text()
    expect(page).toContain('set by the server')
    expect(page).not.toContain('product.price')
  })
})

onEveryStoreByHand('a default that is not a constant', (store) => {
  const { started, refusal } = changing(store)

  test('fills no rows that are there already', async () => {
    const server = await started(things({ a: integer() }), { a: 1 })
    expect(await refusal(server, things({ a: integer(), at: datetime({ default: now }) }))).toContain(
      'things.at is new and required, but is missing in 1 thing',
    )
    await server.restart(things({ a: integer(), at: datetime({ default: now, optional: true }) }))
    expect(await server.expect(200, 'GET', '/api/things/1/')).toMatchObject({ at: null })
    expect((await server.expect(201, 'POST', '/api/things/', { a: 2 })).at).toBeString()
  })
})

test('mistakes are found at start', () => {
  const problems = (declaration: Partial<EntityDeclaration>) => {
    try {
      const fields = {
        a: integer({ optional: true }),
        b: decimal({ optional: true }),
        at: datetime(),
        who: ref('admins', { optional: true }),
        what: ref('others', { optional: true }),
        o: object({ x: datetime({ optional: true }) }, { optional: true }),
      }
      resolve(
        withAdmins({
          others: entity({ fields: {} }),
          things: entity({ ...declaration, fields: { ...fields, ...declaration.fields } } as never),
        }),
      )
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  const withField = (field: unknown) => problems({ fields: { f: field } as never })
  expect(withField(datetime({ default: now }))).toBe('')
  expect(withField(integer({ default: cel('a') }))).toBe('')
  expect(withField(decimal({ default: cel('a') }))).toBe('')
  expect(withField(ref('admins', { default: cel('who') }))).toBe('')
  for (const [field, said] of [
    [
      integer({ default: now as never }),
      'things.fields.f.default: is now, which is for date() and datetime()',
    ],
    [text({ default: me as never }), 'is me, which is for references to a login type'],
    [ref('others', { default: me }), 'f.default: is me, but refers to others, which cannot log in'],
    [ref('others', { default: 3 as never }), "must be me, or cel('…') with an expression for it"],
    [ref('others', { default: cel('who') }), 'must give one of others at column 1, in "who"'],
    [integer({ default: cel('b') }), 'gives decimal, not integer at column 1'],
    [decimal({ scale: 1, default: cel('b') }), 'gives 2 decimal places, but the field has 1'],
    [integer({ default: cel('c') }), 'unknown field "c"'],
    [integer({ default: cel('f') }), 'reads f, which is an expression itself'],
    [
      object({ i: datetime({ default: now }) }, { optional: true }),
      'cannot be provided inside an optional object',
    ],
  ] as const)
    expect(withField(field)).toContain(said)
  const withSet = (set: unknown) => problems({ set: set as never })
  expect(withSet({ create: { at: now }, update: { at: now, who: me } })).toBe('')
  for (const [set, said] of [
    [3, 'entities.things.set: must be an object'],
    [{ delete: {} }, 'set.delete: is not an action here'],
    [{ update: { at: now } }, 'set.update.at: is never sent, and new Entities need it too'],
    [{ update: { aa: 1 } }, 'set.update.aa: is not a field of this type; did you mean "a"?'],
    [{ update: { a: 'x' } }, 'set.update.a: must be an integer'],
    [{ update: { who: { id: 1 } } }, 'set.update.who: must be me or cel(…)'],
    [{ update: { o: now } }, 'only references and single values can'],
    [{ update: { 'o.x': now } }, 'set.update.o.x: cannot be provided inside an optional object'],
    [{ update: { a: cel('now') } }, 'gives datetime, not integer'],
  ] as const)
    expect(withSet(set)).toContain(said)
})
