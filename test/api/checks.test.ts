import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { EntityDeclaration } from '../../src/declare/define.ts'
import { resolve } from '../../src/declare/resolve.ts'
import {
  boolean,
  datetime,
  decimal,
  entity,
  everyone,
  integer,
  list,
  object,
  ref,
  text,
} from '../../src/takeback.ts'
import { changing } from '../changing.ts'
import { forUsers, things, users, withAdmins } from '../declarations.ts'
import { expectInvalid, onEveryStore, onEveryStoreByHand, operationOf } from '../harness.ts'

const AFTER = 'must be after starts_at'
const STOCK = 'must not be more than what is in stock'

const shop = withAdmins({
  users,
  // Only admins see the stock.
  products: entity({ fields: { stock: integer({ min: 0 }) } }),
  orders: entity({
    fields: {
      product: ref('products'),
      quantity: integer({ min: 1, optional: true }),
      note: text({ optional: true }),
      secretly: integer({ default: 0, read: 'me.type == "admin"', write: 'me.type == "admin"' }),
    },
    check: [
      { that: 'quantity <= product.stock', at: 'quantity', says: STOCK },
      { that: 'secretly < 10', at: 'secretly', says: 'is out of the question' },
    ],
    access: forUsers,
  }),
  slots: entity({
    fields: {
      starts_at: datetime(),
      ends_at: datetime({ optional: true }),
      price: object({ net: decimal(), gross: decimal() }, { optional: true }),
      lines: list(object({ quantity: integer(), name: text() }), { default: [] }),
      from: text({ default: 'a' }),
      to: text({ default: 'b' }),
      owner: ref('users', { optional: true, onDelete: 'clear' }),
      open: boolean({ default: false }),
      note: text({ optional: true }),
    },
    check: [
      { that: 'ends_at > starts_at', at: 'ends_at', says: AFTER },
      { that: 'starts_at > created_at', at: 'starts_at', says: 'must be in the future' },
      { that: 'price.gross >= price.net', at: 'price.gross', says: 'must not be less than net' },
      { that: 'lines.all(l, l.quantity > 0)', at: 'lines', says: 'must have quantities from 1' },
      { that: 'from < to', at: 'to', says: 'must come after from' },
      { that: 'open || owner != null || note != "owned"', at: 'owner', says: 'must be there' },
    ],
    access: forUsers,
  }),
})

const at = (hour: number) => `2200-01-01T${String(hour).padStart(2, '0')}:00:00.000Z`
const slot = { starts_at: at(8), ends_at: at(9) }

onEveryStore('checks', shop, (server) => {
  const post = (path: string, body: unknown) => server.call('POST', `/api/${path}`, { body })

  test('creates and updates that break one are refused, all failures at once', async () => {
    expectInvalid(
      await post('slots/', {
        starts_at: at(9),
        ends_at: at(9),
        price: { net: '2', gross: '1.99' },
        lines: [{ quantity: 0, name: 'x' }],
        from: 'z',
        to: 'Z',
        note: 'owned',
        open: 3,
      }),
      {
        ends_at: [AFTER],
        'price.gross': ['must not be less than net'],
        lines: ['must have quantities from 1'],
        to: ['must come after from'],
        // The check of the owner is skipped, because it reads this wrong value.
        open: ['must be true or false'],
      },
    )
    expectInvalid(await post('slots/', { starts_at: '2020-01-01T00:00:00Z', note: 'owned' }), {
      starts_at: ['must be in the future'],
      owner: ['must be there'],
      'owner.id': ['must be there'],
    })
    // A missing value breaks no check.
    const { id } = (await post('slots/', { starts_at: at(8) })).body
    const path = `/api/slots/${id}/`
    const patch = (body: unknown) => server.call('PATCH', path, { body })
    expectInvalid(await patch({ ends_at: at(7) }), { ends_at: [AFTER] })
    expectInvalid(await patch({ ends_at: at(7), lines: [{ quantity: 'x' }], nope: 1 }), {
      ends_at: [AFTER],
      'lines.0.quantity': ['must be an integer'],
      'lines.0.name': ['is required'],
      nope: ['is not a field of slots; did you mean "note"?'],
    })
    expect((await patch({ ends_at: at(9), price: { net: '1', gross: '1' } })).status).toBe(200)
    expectInvalid(await patch({ starts_at: at(10), price: { gross: '0.99' } }), {
      ends_at: [AFTER],
      'price.gross': ['must not be less than net'],
    })
    expectInvalid(await server.call('PUT', path, { body: { starts_at: at(10), ends_at: at(9) } }), {
      ends_at: [AFTER],
    })
    expect((await patch({ price: null, ends_at: null, starts_at: at(10) })).status).toBe(200)
    expect(await server.expect(200, 'GET', path)).toMatchObject({ starts_at: at(10), version: 3 })
  })

  test('are documented, except those at fields that strangers never see', async () => {
    const { components } = await server.expect(200, 'GET', '/api/openapi.json')
    expect(components.schemas.slots_create.description).toContain('`ends_at` must be after starts_at. ')
    expect(JSON.stringify(components.schemas)).not.toContain('out of the question')
    const page = await (await fetch(`${server.url}/docs`)).text()
    expect(page).toContain('must be after starts_at.')
    expect(page).not.toContain('out of the question')
  })

  test('lists and batches', async () => {
    const before = await server.rows('slots')
    expectInvalid(await post('slots/', [slot, { ...slot, ends_at: at(8) }, { ...slot, to: 'a' }]), {
      '1.ends_at': [AFTER],
      '2.to': ['must come after from'],
    })
    const batch = await post('batch/', [
      { method: 'POST', path: '/api/slots/', body: slot },
      { method: 'PATCH', path: '/api/slots/$0.id/', body: { ends_at: at(1) } },
    ])
    expectInvalid(batch, { '1.ends_at': [AFTER] })
    expect(await server.rows('slots')).toBe(before)
  })

  test('read through references, at the time of the write, also what the writer may not see', async () => {
    const { token } = await server.user('users', { email: 'a@example.com' })
    const product = { id: (await post('products/', { stock: 5 })).body.id }
    const order = (body: object) => server.call('POST', '/api/orders/', { body: { product, ...body }, token })
    expectInvalid(await order({ quantity: 6 }), { quantity: [STOCK] })
    expectInvalid(await order({ quantity: 6, note: 3 }), { quantity: [STOCK], note: ['must be a text'] })
    const made = await order({ quantity: 5 })
    expect(made.status).toBe(201)
    const path = `/api/orders/${made.body.id}/`
    await server.expect(200, 'PATCH', `/api/products/${product.id}/`, { stock: 1 })
    // The request sends no field that the check reads, so it is not evaluated.
    expect((await server.call('PATCH', path, { body: { note: 'x' }, token })).status).toBe(200)
    expectInvalid(await server.call('PATCH', path, { body: { quantity: 4 }, token }), { quantity: [STOCK] })
    // A field that the caller may not know of is not named.
    await server.query('UPDATE orders SET secretly = 10')
    await server.expect(200, 'DELETE', path, undefined, { token })
    expectInvalid(await server.call('DELETE', `${path}?restore=1`, { token }), {
      quantity: [STOCK],
      '': ['is out of the question'],
    })
    await server.query('UPDATE orders SET secretly = 0')
    expectInvalid(await server.call('DELETE', `${path}?restore=1`, { token }), { quantity: [STOCK] })
    await server.expect(200, 'PATCH', `/api/products/${product.id}/`, { stock: 5 })
    await server.expect(200, 'DELETE', `${path}?restore=1`, undefined, { token })
  })

  test('an order that takes its stock in the same operation can be undone and redone', async () => {
    const product = { id: (await post('products/', { stock: 5 })).body.id }
    const done = await post('batch/', [
      { method: 'POST', path: '/api/orders/', body: { product, quantity: 5 } },
      { method: 'PATCH', path: `/api/products/${product.id}/`, body: { stock: 0 } },
    ])
    expect(done.status).toBe(200)
    const undone = await post(`operations/${operationOf(done)}/undo/`, {})
    expect(undone.status).toBe(200)
    const redone = await post(`operations/${operationOf(undone)}/undo/`, {})
    expect(redone.status).toBe(200)
    expect(await server.expect(200, 'GET', `/api/products/${product.id}/`)).toMatchObject({ stock: 0 })
  })

  test('undo, revert and deletes that clear', async () => {
    const { id } = (await post('slots/', slot)).body
    const path = `/api/slots/${id}/`
    const later = await server.call('PATCH', path, { body: { starts_at: at(12), ends_at: at(13) } })
    await server.expect(200, 'PATCH', path, { starts_at: at(10), ends_at: at(11) })
    const name = `slots/${id}`
    const sentence = `would break a check: ends_at ${AFTER}`
    // Undoing the first change alone conflicts; a version that breaks a check cannot be written again.
    await server.query(`UPDATE takeback_journal SET data = replace(data, '${at(9)}', '${at(7)}')`)
    const reverted = await server.call('POST', `${path}revert/`, { body: { version: 1 } })
    expect(reverted.status).toBe(409)
    expect(reverted.body).toMatchObject({ code: 'cannot_undo', errors: { [name]: [sentence] } })
    await server.expect(200, 'PATCH', path, { starts_at: at(12), ends_at: at(13) })
    const undone = await post(`operations/${operationOf(later)}/undo/`, {})
    expect(undone.status).toBe(409)
    expect(undone.body.errors).toEqual({ [name]: [sentence] })
    const skipped = await post(`operations/${operationOf(later)}/undo/?skip_conflicts=1`, {})
    expect(skipped.body).toMatchObject({ operation: null, skipped: { [name]: [sentence] } })

    const owner = await server.user('users', { email: 'b@example.com' })
    const owned = (await post('slots/', { ...slot, owner: { id: owner.id }, note: 'owned' })).body.id
    const deleted = await server.call('DELETE', `/api/users/${owner.id}/`)
    expect(deleted.status).toBe(409)
    expect(deleted.body.errors).toEqual({
      [`slots/${owned}.owner`]: ['must be there'],
      [`slots/${owned}.owner.id`]: ['must be there'],
    })
    expect(await server.expect(200, 'GET', `/api/slots/${owned}/`)).toMatchObject({ owner: { id: owner.id } })
  })
})

onEveryStoreByHand('new checks', (store) => {
  const { started, refusal, planOf } = changing(store)
  const declared = (check: EntityDeclaration['check'], more = {}) =>
    things({ a: integer(), b: integer({ optional: true }), ...more }, check === undefined ? {} : { check })

  test('name the rows that break them, and are refused', async () => {
    const server = await started(
      declared(undefined),
      { a: 1, b: 2 },
      { a: 3, b: 2 },
      { a: 4 },
      { a: 9, b: 1 },
    )
    const less = declared([{ that: 'a < b', at: 'b', says: 'must be more than a' }])
    const said =
      'things.b has the check "must be more than a", which is not met by 2 things (things/2, things/4): change them first'
    expect(await refusal(server, less)).toContain(said)
    await server.start().catch(() => {})
    // Together with other changes, the check is evaluated after them; if it fails, none of them stays.
    const beside = declared([{ that: 'a < c', at: 'a', says: 'must be less than c' }], {
      c: integer({ default: 5 }),
    })
    expect((await planOf(server, beside)).map(({ effect }) => effect)).toEqual(['safe', 'safe'])
    expect(await refusal(server, beside)).toContain(
      '"must be less than c", which is not met by 1 thing (things/4)',
    )
    await server.restart(declared(undefined))
    await server.expect(200, 'DELETE', '/api/things/4/')
    await server.expect(200, 'PATCH', '/api/things/2/', { b: 4 })
    expect(await planOf(server, less)).toEqual([
      { effect: 'safe', path: 'things.b', what: 'has the check "must be more than a", which all rows meet' },
    ])
    await server.restart(less)
    expect((await server.call('DELETE', '/api/things/4/?restore=1')).body.errors).toEqual({
      b: ['must be more than a'],
    })
    await server.restart(beside)
    expectInvalid(await server.call('POST', '/api/things/', { body: { a: 5 } }), {
      a: ['must be less than c'],
    })
    await server.restart(declared(undefined))
    await server.expect(201, 'POST', '/api/things/', { a: 5, b: 1 })
  })
})

onEveryStoreByHand('a check that came later', (store) => {
  const { started } = changing(store)
  const fields = {
    a: integer(),
    b: integer({ default: 5 }),
    other: ref('things', { optional: true, onDelete: 'clear' }),
  }
  const small = fc.integer({ min: 0, max: 9 })
  const which = fc.integer({ min: 1, max: 8 })
  const step = fc.oneof(
    fc.record({ do: fc.constant('create'), a: small, b: small }),
    fc.record({ do: fc.constant('patch'), id: which, a: small }),
    fc.record({ do: fc.constant('add'), id: which, a: small }),
    fc.record({ do: fc.constant('put'), id: which, a: small }),
    fc.record({ do: fc.constant('all'), a: small }),
    fc.record({ do: fc.constant('delete'), id: which }),
    fc.record({ do: fc.constant('restore'), id: which }),
    fc.record({ do: fc.constant('revert'), id: which, version: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ do: fc.constant('undo'), back: fc.integer({ min: 0, max: 20 }), skip: fc.boolean() }),
    fc.record({ do: fc.constant('batch'), id: which, a: small, b: small }),
  )
  type Step = {
    do: string
    id?: number
    a?: number
    b?: number
    version?: number
    back?: number
    skip?: boolean
  }

  test('holds whatever is written, taken back or restored', async () => {
    const server = await started(things(fields))
    const operations: string[] = []
    const call = async (method: string, path: string, body?: unknown) => {
      const received = await server.call(method, `/api/${path}`, body === undefined ? {} : { body })
      expect([method, path, received.status < 500]).toEqual([method, path, true])
      operations.push(...[operationOf(received)].filter(Boolean))
      return received.status
    }
    const run = ({ do: what, id = 0, a = 0, b = 0, version = 1, back = 0, skip }: Step) => {
      const path = `things/${id}/`
      const undone = operations[Math.max(0, operations.length - 1 - back)]
      if (what === 'create') return call('POST', 'things/', { a, b })
      if (what === 'patch') return call('PATCH', path, { a })
      if (what === 'add') return call('PATCH', path, { b: { $add: -a } })
      if (what === 'put') return call('PUT', path, { a })
      if (what === 'all') return call('PATCH', 'things/?filter=a%20%3C%209', { a })
      if (what === 'delete') return call('DELETE', path)
      if (what === 'restore') return call('DELETE', `${path}?restore=1`)
      if (what === 'revert') return call('POST', `${path}revert/`, { version })
      if (what === 'undo')
        return call('POST', `operations/${undone}/undo/${skip ? '?skip_conflicts=1' : ''}`, {})
      return call('POST', 'batch/', [
        { method: 'PATCH', path: `/api/${path}`, body: { a: 0, b: 9 } },
        { method: 'PATCH', path: `/api/${path}`, body: { a, b } },
      ])
    }
    // Data from before the check, some of which breaks it.
    for (const a of [1, 9, 3, 8, 5, 7]) await run({ do: 'create', a, b: 4 })
    for (const id of [1, 2, 3, 4]) await run({ do: 'patch', id, a: 2 })
    for (const id of [5, 6]) await run({ do: 'delete', id })
    await server.restart(
      things(fields, { check: [{ that: 'a <= b', at: 'a', says: 'must not be above b' }] }),
    )
    const broken = () => server.query('SELECT id, a, b FROM things WHERE a > b AND deleted_at IS NULL')
    const seen = new Set<number>()
    // Reaches each status once, whatever the random steps do: the undo would set the second one to 9 again.
    const each = [
      { do: 'undo', back: 4, skip: false },
      { do: 'create', a: 1, b: 4 },
      { do: 'patch', id: 1, a: 9 },
      { do: 'patch', id: 1, a: 1 },
    ] as const
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 15 }), async (steps) => {
        for (const one of steps as Step[]) {
          seen.add(await run(one))
          expect([one, await broken()]).toEqual([one, []])
        }
      }),
      { numRuns: 12, endOnFailure: true, examples: [[[...each]]] },
    )
    for (const status of [200, 201, 409, 422]) expect(seen).toContain(status)
  })
})

test('mistakes in checks are found at start', () => {
  const problems = (check: unknown) => {
    try {
      resolve(
        withAdmins({
          things: entity({
            fields: { a: integer(), o: object({ b: integer() }), when: datetime() },
            access: { read: everyone },
            check: check as never,
          }),
        }),
      )
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  const good = { that: 'a > o.b', at: 'o.b', says: 'must be less than a' }
  expect(problems([good])).toBe('')
  expect(problems(good)).toContain('entities.things.check: must be a list')
  expect(problems([3])).toContain('entities.things.check.0: must be an object with that, at and says')
  const wrong = problems([
    { ...good, says: '', at: 'o.bb', tat: 1 },
    { ...good, that: 'a > c' },
  ])
  for (const said of [
    'check.0.says: must be a text of 1 to 200 characters',
    'check.0.at: must be the dot path of the field whose error it is; did you mean "o.b"?',
    'check.0.tat: is not an option',
    'check.1.that: unknown field "c" at column 5; did you mean "a"?, in "a > c"',
  ])
    expect(wrong).toContain(said)
  expect(problems([{ ...good, that: 'me.type == "admin"' }])).toContain(
    'uses me, but a check must be the same',
  )
  expect(problems([{ ...good, that: 'when > now' }])).toContain('compare with created_at')
  expect(problems([{ ...good, that: '1 == 1' }])).toContain('does not depend on the Entity')
})
