import { describe, expect, test } from 'bun:test'
import { resolve } from '../../src/declare/resolve.ts'
import {
  type ApiError,
  app,
  choice,
  entity,
  everyone,
  forbidden,
  InvalidData,
  integer,
  invalid,
  list,
  object,
  ref,
  signedIn,
  text,
} from '../../src/takeback.ts'
import { eventually, expectInvalid, onEveryStore } from '../harness.ts'

/** What hooks received, and the errors they met. */
const seen: { hook: string; given: any; me?: any; before?: any; error?: any }[] = []
/** What the hook of `things` does next. */
let act: (given: any, call: any) => unknown = () => undefined

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user' }, fields: { name: text() }, access: { read: everyone } }),
    products: entity({
      fields: { sku: text({ unique: true }), stock: integer({ min: 0 }) },
      access: { read: everyone },
    }),
    orders: entity({
      fields: {
        number: integer({ write: 'me.type == "admin"' }),
        owner: ref('users'),
        status: choice(['open', 'paid'], { default: 'open' }),
        lines: list(object({ sku: text(), count: integer({ default: 1 }) })),
        checked: integer({ default: 0 }),
        secret_note: text({ optional: true, read: 'me.type == "admin"', write: 'me.type == "admin"' }),
      },
      access: {
        create: signedIn,
        read: 'owner.id == me.id',
        update: 'owner.id == me.id',
        delete: 'owner.id == me.id',
      },
      before: {
        async create(order, { me, api }) {
          seen.push({ hook: 'create', given: structuredClone(order), me })
          const faults: Record<string, string> = {}
          for (const [at, { sku }] of (order.lines ?? []).entries())
            if ((await api.products.list({ where: { sku } })).data.length === 0)
              faults[`lines.${at}.sku`] = 'is sold out'
          if (Object.keys(faults).length > 0) throw invalid(faults)
          const { total } = await api.system.orders.list({ count: true, limit: 1, trashed: 'with' })
          return {
            ...order,
            owner: { id: me?.id ?? 0 },
            number: (total ?? 0) + 1,
            secret_note: 'made by code',
          }
        },
        update(changes, { before }) {
          seen.push({ hook: 'update', given: structuredClone(changes), before })
          if (before.status === 'paid') throw forbidden('A paid order stays as it is.')
          changes.secret_note = `checked ${changes.checked ?? before.checked}`
        },
        delete(order) {
          seen.push({ hook: 'delete', given: order })
          if (order.status === 'paid') throw invalid({ status: 'is paid' })
        },
      },
    }),
    things: entity({
      fields: { name: text({ optional: true }), code: text({ optional: true, unique: true }) },
      access: { create: everyone, read: everyone, update: everyone, delete: everyone },
      before: {
        create: (given, call) => act(given, call) as undefined,
        update(given, { before }) {
          given.name = `${given.name ?? ''} after ${before.name}`
        },
      },
    }),
  },
})

onEveryStore('hooks', declaration, (server) => {
  const users: { id: number; token: string }[] = []
  const order = { lines: [{ sku: 'a' }] }
  const last = () => seen.at(-1)

  test('a create hook adds what is required, as the caller, and past their write rules', async () => {
    users.push(
      await server.user('users', { email: 'u@example.com', name: 'U' }),
      await server.user('users', { email: 'v@example.com', name: 'V' }),
    )
    await server.expect(201, 'POST', '/api/products/', { sku: 'a', stock: 3 })
    const token = users[0]?.token ?? ''
    const made = await server.expect(201, 'POST', '/api/orders/', order, { token })
    expect(made).toMatchObject({
      number: 1,
      owner: { id: users[0]?.id },
      status: 'open',
      lines: [{ sku: 'a', count: 1 }],
    })
    expect(made.secret_note).toBeUndefined()
    expect(last()).toMatchObject({
      hook: 'create',
      given: order,
      me: { type: 'user', id: users[0]?.id, name: 'U', email: 'u@example.com' },
    })
    expect(await server.expect(200, 'GET', '/api/orders/1/')).toMatchObject({ secret_note: 'made by code' })
    // The caller's values must still pass the caller's rules.
    expectInvalid(await server.call('POST', '/api/orders/', { token, body: { ...order, number: 7 } }), {
      number: ['is not yours to set'],
    })
  })

  test('what was sent has the right types before a hook sees it, and the rule comes first', async () => {
    const before = seen.length
    const token = users[0]?.token ?? ''
    expectInvalid(await server.call('POST', '/api/orders/', { token, body: { lines: 3, statu: 'x' } }), {
      lines: ['must be a list'],
      statu: ['is not a field of orders; did you mean "status"?'],
    })
    expect((await server.call('POST', '/api/orders/', { token: null, body: order })).status).toBe(401)
    expect(
      (await server.call('PATCH', '/api/orders/1/', { token: users[1]?.token ?? '', body: { checked: 1 } }))
        .status,
    ).toBe(404)
    expect((await server.call('DELETE', '/api/orders/1/', { token: users[1]?.token ?? '' })).status).toBe(404)
    expect(
      (
        await server.call('PATCH', '/api/orders/1/', {
          token,
          body: { checked: 1 },
          headers: { 'If-Match': '"7"' },
        })
      ).status,
    ).toBe(412)
    expect(seen.length).toBe(before)
  })

  test('refusals come back with all failures, in lists and batches at their place', async () => {
    const token = users[0]?.token ?? ''
    const bad = { lines: [{ sku: 'a' }, { sku: 'x' }, { sku: 'y' }] }
    expectInvalid(await server.call('POST', '/api/orders/', { token, body: bad }), {
      'lines.1.sku': ['is sold out'],
      'lines.2.sku': ['is sold out'],
    })
    expectInvalid(await server.call('POST', '/api/orders/', { token, body: [order, bad, { lines: 1 }] }), {
      '1.lines.1.sku': ['is sold out'],
      '1.lines.2.sku': ['is sold out'],
      '2.lines': ['must be a list'],
    })
    const parts = [
      { method: 'POST', path: '/api/orders/', body: order },
      { method: 'POST', path: '/api/orders/', body: bad },
    ]
    expectInvalid(await server.call('POST', '/api/batch/', { token, body: parts }), {
      '1.lines.1.sku': ['is sold out'],
      '1.lines.2.sku': ['is sold out'],
    })
    expect(await server.rows('orders')).toBe(1)
    const listed = await server.expect(201, 'POST', '/api/orders/', [order, order], { token })
    expect(listed.data.map(({ id }: any) => id)).toHaveLength(2)
  })

  test('an update hook sees the Entity as it is and what was sent; $add is still an addition', async () => {
    const token = users[0]?.token ?? ''
    const changed = await server.expect(200, 'PATCH', '/api/orders/1/', { checked: { $add: 2 } }, { token })
    expect(changed).toMatchObject({ checked: 2 })
    expect(last()).toMatchObject({
      hook: 'update',
      given: { checked: 2 },
      before: { id: 1, checked: 0, secret_note: 'made by code' },
    })
    expect(await server.expect(200, 'GET', '/api/orders/1/')).toMatchObject({
      checked: 2,
      secret_note: 'checked 2',
    })
    // A PUT replaces the rest, but the hook's own value stays.
    const put = { owner: { id: users[0]?.id }, lines: [], status: 'paid' }
    await server.expect(200, 'PUT', '/api/orders/1/', put, { token })
    expect(await server.expect(200, 'GET', '/api/orders/1/')).toMatchObject({
      number: 1,
      status: 'paid',
      checked: 0,
      secret_note: 'checked 2',
    })
    const refused = await server.call('PATCH', '/api/orders/1/', { token, body: { checked: 9 } })
    expect([refused.status, refused.body]).toEqual([
      403,
      { message: 'A paid order stays as it is.', code: 'forbidden' },
    ])
    const part = await server.call('POST', '/api/batch/', {
      token,
      body: [{ method: 'PATCH', path: '/api/orders/1/', body: { checked: 1 } }],
    })
    expect([part.status, part.body]).toEqual([
      403,
      {
        message: 'A paid order stays as it is.',
        errors: { 0: ['A paid order stays as it is.'] },
        code: 'forbidden',
      },
    ])
    expectInvalid(await server.call('DELETE', '/api/orders/1/', { token }), { status: ['is paid'] })
  })

  test('undo, revert and restore run no hooks; a preview does; a batch runs them before anything is written', async () => {
    const token = users[0]?.token ?? ''
    await server.expect(200, 'DELETE', '/api/orders/2/?dry_run=1', undefined, { token })
    expect(last()).toMatchObject({ hook: 'delete', given: { id: 2 } })
    await server.expect(200, 'DELETE', '/api/orders/2/', undefined, { token })
    const count = seen.length
    await server.expect(200, 'DELETE', '/api/orders/2/', undefined, { token })
    await server.expect(200, 'DELETE', '/api/orders/2/?restore=1', undefined)
    const { id } = (await server.expect(200, 'GET', '/api/operations/?limit=1')).data[0]
    await server.expect(200, 'POST', `/api/operations/${id}/undo/`)
    expect(seen.length).toBe(count)
    const parts = [
      { method: 'POST', path: '/api/orders/', body: order },
      { method: 'PATCH', path: '/api/orders/$0.id/', body: { checked: 1 } },
    ]
    expectInvalid(await server.call('POST', '/api/batch/', { body: parts }), {
      '1.path': ['must name an Entity that exists: orders have code before update'],
    })
    const user = { email: 'w@example.com', password: 'correct horse battery', name: 'W' }
    const made = await server.expect(200, 'POST', '/api/batch/', [
      { method: 'POST', path: '/api/users/', body: user },
      { method: 'POST', path: '/api/orders/', body: { lines: [], owner: { id: '$0.id' } } },
    ])
    // The Entity of an earlier part does not exist yet when the hook runs.
    expect(last()?.given).toEqual({ lines: [], owner: { id: '$0.id' } })
    expect(made.results[1].body.owner).toEqual({ id: 1 })
  })

  test('a repeated request with an Idempotency-Key does not run them again', async () => {
    const sent = { token: users[0]?.token ?? '', headers: { 'Idempotency-Key': `k${Math.random()}` } }
    const first = await server.expect(201, 'POST', '/api/orders/', order, sent)
    const count = seen.length
    expect(await server.expect(201, 'POST', '/api/orders/', order, sent)).toEqual(first)
    expect(seen.length).toBe(count)
    expect((await server.call('POST', '/api/orders/', { ...sent, body: {} })).status).toBe(422)
  })

  test('a replace or create by unique values runs the hook of what it is', async () => {
    act = (given) => ({ ...given, name: `new ${given.name}` })
    const put = (body: unknown) => server.call('PUT', '/api/things/?match=code', { body })
    expect(await put({ code: 'c', name: 'a' })).toMatchObject({ status: 201, body: { name: 'new a' } })
    expect(await put({ code: 'c', name: 'b' })).toMatchObject({
      status: 200,
      body: { name: 'b after new a' },
    })
    const list = await put([
      { code: 'c', name: 'd' },
      { code: 'e', name: 'e' },
    ])
    expect(list.body.data.map(({ name }: any) => name)).toEqual(['d after b after new a', 'new e'])
    const part = { method: 'PUT', path: '/api/things/?match=code', body: { code: 'f' } }
    const { results } = await server.expect(200, 'POST', '/api/batch/', [
      part,
      { ...part, body: { code: 'e' } },
    ])
    expect(results.map(({ body }: any) => body.name)).toEqual(['new undefined', ' after new e'])
    const race = await Promise.all(Array.from({ length: 8 }, () => put({ code: 'r', name: 'r' })))
    expect(race.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201])
    act = () => undefined
  })

  describe('code that goes wrong', () => {
    const post = () => server.call('POST', '/api/things/', { body: { name: 'x' } })

    test('is a 500 that names the hook in the log, and nowhere else', async () => {
      for (const wrong of [
        () => {
          throw new Error('my own secret')
        },
        async () => Promise.reject('my own secret'),
        () => 'my own secret',
        (_: unknown, { api }: any) => api.thngs,
        (_: unknown, { api }: any) => api.products.get(999),
      ]) {
        act = wrong
        const { status, body } = await post()
        expect([status, body.code, Object.keys(body)]).toEqual([
          500,
          'internal',
          ['message', 'code', 'request_id'],
        ])
      }
      await eventually(() => server.logged.join('').includes('failed: There is nothing here.'))
      const lines = server.logged.join('')
      expect(lines).toContain('entities.things.before.create failed: my own secret')
      expect(lines).toContain('there is no Entity type \\"thngs\\"; did you mean \\"things\\"?')
      expect(lines).toContain('entities.things.before.create failed: There is nothing here.')
    })

    test('is stopped where it calls itself', async () => {
      act = (_, { api }) => api.things.create({ name: 'again' })
      expect((await post()).status).toBe(500)
      await eventually(() => server.logged.join('').includes('code calls itself more than 10 calls deep'))
      act = () => undefined
      expect((await post()).status).toBe(201)
    })

    test('catches the errors of the API, which are those of HTTP', async () => {
      const errors: ApiError[] = []
      act = async (_, { api }) => {
        for (const run of [
          () => api.products.create({ sku: 'b' }),
          () => api.system.products.create({ sku: 'a', stock: -1 }),
          () => api.system.products.get(5.5),
          () => api.system.products.list({ filter: 'nme == 1' }),
          () => api.products.list({ limit: 1, trashed: 'only' }),
        ])
          await run().catch((error: ApiError) => errors.push(error))
      }
      expect((await server.call('POST', '/api/things/', { token: null, body: {} })).status).toBe(201)
      expect(errors.map(({ status, code }) => [status, code])).toEqual([
        [401, 'unauthenticated'],
        [422, 'invalid_data'],
        [404, 'not_found'],
        [422, 'invalid_data'],
        [401, 'unauthenticated'],
      ])
      expect(errors[1]).toBeInstanceOf(InvalidData)
      expect(errors[1]?.errors).toEqual({ sku: ['is taken by products/1'], stock: ['must be at least 0'] })
    })

    test('writes through api, as one operation if it likes', async () => {
      let result: any
      act = async (_, { api }) => {
        act = () => undefined
        const batch = await api.system.batch([
          { create: 'products', body: { sku: 'c', stock: 1 } },
          { update: 'products', id: '$0.id', body: { stock: 5 } },
          { delete: 'products', id: '$0.id' },
        ])
        const restored = await api.system.products.restore(batch.results[0].id)
        const updated = await api.system.products.update(
          restored.id,
          { stock: { $add: 1 } },
          { version: restored.version },
        )
        const history = await api.system.products.history(restored.id)
        const undone = await api.system.operations.undo(history.data[0].operation)
        result = {
          batch,
          updated,
          history,
          undone,
          after: await api.products.get(restored.id, { fields: 'stock' }),
        }
        const stale = await api.system.products
          .update(restored.id, { stock: 1 }, { version: 1 })
          .catch((error: ApiError) => error.code)
        result.stale = stale
        result.changed = await api.system.products
          .update(restored.id, { stock: 1 }, { base: 1 })
          .catch((error: ApiError) => error.code)
        await api.system.products.delete(restored.id)
        await api.system.products.purge(restored.id)
      }
      expect((await post()).status).toBe(201)
      expect(result.batch.results.map(({ stock, version }: any) => [stock, version])).toEqual([
        [1, 1],
        [5, 2],
        [5, 3],
      ])
      expect(result.batch.operation).toMatch(/^[0-9a-f-]{36}$/)
      expect(result.updated.stock).toBe(6)
      expect(result.history.data).toHaveLength(5)
      expect(result.undone).toMatchObject({ undone: 1, total: 1 })
      expect(result.after).toEqual({ stock: 5 })
      expect([result.stale, result.changed]).toEqual(['stale', 'changed_meanwhile'])
    })
  })
})

test('hooks that do not exist are named at the start', () => {
  const wrong = {
    entities: { notes: { fields: {}, before: { creat() {}, update: 3 } }, more: { fields: {}, before: 5 } },
  }
  expect(() => resolve(wrong)).toThrow(
    'entities.notes.before.creat: is not a hook; did you mean "create"? (there are: create, update, delete)\n  entities.notes.before.update: must be a function\n  entities.more.before: must be functions by name: { create(body, { me, api }) { … } }',
  )
})
