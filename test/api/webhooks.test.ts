import { afterAll, expect, test } from 'bun:test'
import type { AppDeclaration } from '../../src/declare/define.ts'
import { app, entity, everyone, integer, ref, secret, signedIn, text } from '../../src/takeback.ts'
import { eventually, giant, onEveryStoreByHand, operationOf, TestServer } from '../harness.ts'
import { Receiver, SECRET } from '../webhook-receiver.ts'

const open = { create: everyone, read: everyone, update: everyone, delete: everyone, restore: everyone }

const entities = {
  admins: entity({ login: { userType: 'admin' }, fields: {} }),
  orders: entity({
    fields: {
      title: text(),
      total: integer({ optional: true }),
      margin: integer({ optional: true, read: 'false' }),
      pin: secret({ optional: true }),
    },
    access: open,
  }),
  invoices: entity({ fields: { order: ref('orders', { onDelete: 'cascade' }) }, access: open }),
  notes: entity({ fields: { title: text() }, access: { create: signedIn } }),
}

/** Untyped, because TypeScript would refuse events that do not exist. */
function declared(webhooks: unknown): AppDeclaration {
  return { ...app({ admins: 'admins', entities }), webhooks } as AppDeclaration
}

onEveryStoreByHand('webhooks', (store) => {
  const erp = new Receiver()
  const other = new Receiver()
  const webhooks = {
    erp: { to: erp.url, secret: SECRET, on: ['orders.*', 'invoices.create'], allow: [erp.host] },
  }
  const declaration = declared(webhooks)
  const server = new TestServer(store, declaration)
  afterAll(async () => {
    await server.remove()
    await Promise.all([erp.stop(), other.stop()])
  })
  const kinds = (from = 0) =>
    erp.told
      .slice(from)
      .map(({ body }) => body.changes.map((one: any) => `${one.entity}.${one.kind}`).join(' '))
  const create = async (title: string): Promise<string> =>
    operationOf(await server.call('POST', '/api/orders/', { body: { title } }))
  /** Waits until this many requests have come, and the server has their answers: otherwise it would repeat them. */
  const delivered = (requests: number) =>
    eventually(async () => erp.told.length >= requests && (await server.rows('takeback_tasks')) === 0)
  const state = async () => (await server.expect(200, 'GET', '/api/health/details')).webhooks.erp

  test('tells whole operations in the order of commits, and only the changes that it asked for', async () => {
    await server.start()
    const first = { title: 'first', total: 1, margin: 7, pin: '0000-1111' }
    const created = await server.call('POST', '/api/orders/', { body: first })
    await server.expect(201, 'POST', '/api/notes/', { title: 'not told' })
    const batch = await server.call('POST', '/api/batch/', {
      body: [
        { method: 'POST', path: '/api/notes/', body: { title: 'not told' } },
        { method: 'POST', path: '/api/invoices/', body: { order: { id: 1 } } },
        { method: 'PATCH', path: '/api/orders/1/', body: { total: 2 } },
      ],
    })
    await server.expect(200, 'DELETE', '/api/orders/1/')
    await server.expect(200, 'DELETE', '/api/orders/1/?restore=1')
    await server.expect(200, 'POST', `/api/operations/${operationOf(batch)}/undo/`)
    await delivered(5)
    expect(kinds()).toEqual([
      'orders.create',
      'invoices.create orders.update',
      'orders.delete',
      'orders.restore',
      'orders.update',
    ])
    const [one, two, three] = erp.told
    expect(one?.id).toBe(operationOf(created))
    expect(one?.path).toBe('/takeback')
    expect(one?.body).toEqual({
      type: 'operation',
      operation: operationOf(created),
      at: created.body.created_at,
      actor: 'admins/1',
      changes: [
        {
          entity: 'orders',
          id: 1,
          version: 1,
          kind: 'create',
          data: { ...created.body, margin: 7 },
        },
      ],
    })
    expect(JSON.stringify(erp.told)).not.toContain('0000-1111')
    const [, updated] = two?.body.changes ?? []
    expect([updated.before.total, updated.data.total, updated.version]).toEqual([1, 2, 2])
    expect(three?.body.changes[0].before.deleted_at).toBeNull()
    expect(three?.body.changes[0].data.deleted_at).not.toBeNull()
  })

  giant(
    'sends the next operation once the one before was accepted, whatever goes wrong meanwhile',
    async () => {
      const from = erp.told.length
      erp.answers.push(500, 302)
      const operations = [await create('a'), await create('b'), await create('c')]
      await delivered(from + 5)
      const [a, b, c] = operations
      const ids = erp.told.slice(from).map(({ id }) => id)
      expect(ids).toEqual([a, a, a, b, c] as string[])
      const failed = (await server.context.webhooks.deliveries('erp', 5)).toReversed()
      expect(failed.map(({ attempt, status, error }) => [attempt, status, error])).toEqual([
        [1, 500, 'answered 500'],
        [2, 302, 'answered 302, and redirects are not followed'],
        [3, 200, null],
        [1, 200, null],
        [1, 200, null],
      ])
      expect(erp.told.map(({ path }) => path)).not.toContain('/elsewhere')
    },
  )

  test('410 sets an operation aside at once; it can be sent again by hand', async () => {
    const from = erp.told.length
    erp.answers.push(410)
    const [gone, next] = [await create('gone'), await create('next')]
    await eventually(async () => (await state()).waiting === 0 && erp.told.length === from + 2)
    const { to, aside, last } = await state()
    expect([to, aside, last.operation, last.status]).toEqual([`http://${erp.host}`, 1, next, 200])
    expect(await server.context.webhooks.resend('erp', gone)).toBe(gone)
    await delivered(from + 3)
    expect(erp.told.at(-1)?.id).toBe(gone)
    expect(await server.context.webhooks.resend('erp', next)).toBe(next)
    await delivered(from + 4)
    expect(erp.told.at(-1)?.body).toEqual(erp.told[from + 1]?.body)
    const unheard = await server.call('POST', '/api/notes/', { body: { title: 'not told' } })
    expect(await server.context.webhooks.resend('erp', operationOf(unheard))).toBeUndefined()
    expect(await server.context.webhooks.resend('erp', 'nothing')).toBeUndefined()
  })

  test('an operation that is too large for one request comes in parts, each with its own id', async () => {
    const from = erp.told.length
    const body = Array.from({ length: 30 }, (_, at) => ({ title: `${at}`.padEnd(30_000, '.') }))
    const small = operationOf(await server.call('POST', '/api/orders/', { body: body.slice(0, 10) }))
    await server.expect(200, 'PATCH', '/api/orders/1/', { title: 'x' })
    const operation = operationOf(
      await server.call('POST', '/api/batch/', {
        body: body.flatMap(({ title }, at) => [
          { method: 'POST', path: '/api/orders/', body: { title } },
          { method: 'PATCH', path: `/api/orders/$${2 * at}.id/`, body: { total: 1 } },
        ]),
      }),
    )
    await delivered(from + 4)
    const parts = erp.told.slice(from + 2)
    expect(erp.told[from]?.id).toBe(small)
    expect(parts.length).toBeGreaterThan(1)
    expect(parts.map(({ id }) => id)).toEqual(parts.map((_, at) => `${operation}.${at + 1}`))
    expect(parts.map(({ body }) => [body.operation, body.part, body.last])).toEqual(
      parts.map((_, at) => [operation, at + 1, at === parts.length - 1]),
    )
    const versions = parts.flatMap(({ body }) => body.changes.map((one: any) => one.version))
    expect(versions).toEqual(body.flatMap(() => [1, 2]))
    for (const { body } of parts) expect(JSON.stringify(body).length).toBeLessThan(1_200_000)
  })

  test('a webhook that is removed stops; it goes on where it was once it is declared again', async () => {
    const from = erp.told.length
    await server.restart(declared(undefined))
    expect((await server.expect(200, 'GET', '/api/health/details')).webhooks).toEqual({})
    const missed = await create('meanwhile')
    const both = {
      ...webhooks,
      late: { ...webhooks.erp, to: `http://u:p%40@${other.host}/x`, allow: [other.host] },
    }
    await server.restart(declared(both))
    const heard = await create('afterwards')
    await eventually(() => other.told.length === 1)
    await delivered(from + 2)
    expect(erp.told.slice(from).map(({ id }) => id)).toEqual([missed, heard])
    expect(other.told.map(({ id }) => id)).toEqual([heard])
    expect(other.told[0]?.authorization).toBe(`Basic ${btoa('u:p@')}`)
  })

  test('a request that is under way when the server stops is finished, not sent twice', async () => {
    await delivered(0)
    await server.restart(declaration)
    const from = erp.told.length
    const { promise, resolve: answer } = Promise.withResolvers<void>()
    erp.wait = promise
    const operation = await create('under way')
    await eventually(() => erp.told.length > from)
    const restarted = server.restart()
    const isClosed = () =>
      fetch(`${server.url}/api/health`).then(
        () => false,
        () => true,
      )
    await eventually(isClosed)
    erp.wait = undefined
    answer()
    await restarted
    const next = await create('next')
    await delivered(from + 2)
    expect(erp.told.slice(from).map(({ id }) => id)).toEqual([operation, next])
  })

  test('what retention has cut before it was told is skipped, and the log says so', async () => {
    const from = erp.told.length
    await server.restart(declared(undefined))
    await create('cut before anybody was told')
    const [{ seq } = {}] = await server.query('SELECT max(seq) AS seq FROM takeback_journal')
    await server.query(`INSERT INTO takeback_meta (key, value) VALUES ('cut orders', '${seq}')`)
    const kept = await create('kept')
    await server.restart(declaration)
    await delivered(from + 1)
    expect(erp.told.slice(from).map(({ id }) => id)).toEqual([kept])
    const told = 'Retention erased changes before \\"webhook erp\\" could read'
    await eventually(() => server.logged.join().includes(told))
  })

  test('a filter selects Entities by their values after the change, and also through references', async () => {
    const from = erp.told.length
    const shared = { secret: SECRET, allow: [other.host] }
    const paid = { on: ['orders.*'], filter: 'total > 10 && margin == null' }
    const billed = { on: ['invoices.*'], filter: 'order.title == "filtered"' }
    await server.restart(
      declared({
        ...webhooks,
        paid: { ...shared, ...paid, to: `http://${other.host}/paid` },
        billed: { ...shared, ...billed, to: `http://${other.host}/billed` },
      }),
    )
    const toldOf = (path: string) => other.told.filter((one) => one.path === path)
    const order = await server.expect(201, 'POST', '/api/orders/', { title: 'filtered', total: 5 })
    const path = `/api/orders/${order.id}/`
    await server.expect(200, 'PATCH', path, { total: 11 })
    await server.expect(200, 'PATCH', path, { margin: 1 })
    await server.expect(200, 'PATCH', path, { margin: null })
    await server.expect(200, 'POST', '/api/batch/', [
      { method: 'POST', path: '/api/orders/', body: { title: 'a', total: 99 } },
      { method: 'POST', path: '/api/orders/', body: { title: 'b', total: 1 } },
      { method: 'POST', path: '/api/invoices/', body: { order: { id: order.id } } },
      { method: 'POST', path: '/api/invoices/', body: { order: { id: 1 } } },
    ])
    await eventually(() => toldOf('/paid').length === 3 && toldOf('/billed').length === 1)
    await server.expect(200, 'DELETE', path)
    await eventually(() => toldOf('/paid').length === 4)
    await server.expect(204, 'DELETE', `${path}?purge=1`)
    await eventually(() => toldOf('/paid').length === 5)
    const seen = toldOf('/paid').map(({ body }) => body.changes)
    expect(seen.map((changes) => changes.map((one: any) => `${one.kind} ${one.data?.total}`))).toEqual([
      ['update 11'],
      ['update 11'],
      ['create 99'],
      ['delete 11'],
      ['purge undefined'],
    ])
    const [bill] = toldOf('/billed')
    expect(bill?.body.changes.map((one: any) => [one.kind, one.data.order.id])).toEqual([
      ['create', order.id],
    ])
    await delivered(from + 7)
    await server.restart(declaration)
  })

  test('instances share the work: each operation comes in order, and once', async () => {
    const from = erp.told.length
    const second = new TestServer('', declaration, {}, await server.database())
    second.adminToken = server.adminToken
    await second.start()
    const made: string[] = []
    for (let at = 0; at < 20; at++) {
      const title = `n${at}`
      const on = at % 2 === 0 ? server : second
      made.push(operationOf(await on.call('POST', '/api/orders/', { body: { title } })))
    }
    await delivered(from + made.length)
    await second.stop()
    expect(erp.told.slice(from).map(({ id }) => id)).toEqual(made)
  })

  test('remembers the last deliveries only, and never a secret or a path', async () => {
    const from = erp.told.length
    for (let at = 0; at < 90; at++) await create('many')
    await delivered(from + 90)
    const kept = await server.query("SELECT * FROM takeback_deliveries WHERE webhook = 'erp'")
    expect(kept.length).toBe(100)
    const told = JSON.stringify([kept, server.logged, await server.call('GET', '/api/health/details')])
    for (const hidden of [SECRET.slice(6), '/takeback"', 'p%40', '"p@']) expect(told).not.toContain(hidden)
  })
})
