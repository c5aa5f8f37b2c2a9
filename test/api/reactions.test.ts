import { expect, test } from 'bun:test'
import { openApp } from '../../src/app.ts'
import { apiOf } from '../../src/code/api.ts'
import { readConfig } from '../../src/config.ts'
import type { Api } from '../../src/declare/api-types.ts'
import { resolve } from '../../src/declare/resolve.ts'
import { system } from '../../src/plan/viewer/actor.ts'
import { app, choice, entity, integer, ref, signedIn, text } from '../../src/takeback.ts'
import { eventually, giant, onEveryStore, operationOf } from '../harness.ts'

/** What reactions received, in order. */
let seen: {
  on: string
  kind: string
  id: number
  before: any
  after: any
  operation: any
  attempt: number
}[] = []
/** What the reaction to orders throws. */
let refuse: (id: number) => unknown = () => undefined

const note = (on: string) => (call: any) => {
  const { kind, id, before, after, operation, attempt } = call
  seen.push({ on, kind, id, before, after, operation, attempt })
}

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user' }, fields: {} }),
    orders: entity({
      fields: { status: choice(['open', 'paid'], { default: 'open' }), total: integer() },
      access: { create: signedIn, read: signedIn, update: signedIn },
    }),
    invoices: entity({ fields: { order: ref('orders', { onDelete: 'cascade' }), total: integer() } }),
    notes: entity({ fields: { title: text() } }),
    loops: entity({ fields: { count: integer() } }),
  },
  reactions: {
    'orders.*': note('orders.*'),
    async 'orders.update'({ before, after, api }) {
      const thrown = refuse(after.id)
      if (thrown !== undefined) throw thrown
      if (after.status === 'paid' && before.status !== 'paid')
        await api.invoices.create({ order: { id: after.id }, total: after.total })
    },
    'invoices.create': note('invoices.create'),
    'invoices.delete': note('invoices.delete'),
    async 'loops.*'({ after, api }) {
      if (after !== null) await api.loops.update(after.id, { count: { $add: 1 } })
    },
  },
})

onEveryStore('reactions', declaration, (server) => {
  const kindsOf = (on: string, id: number) =>
    seen.filter((one) => one.on === on && one.id === id).map(({ kind }) => kind)
  const order = async (body: object = { total: 5 }) =>
    (await server.expect(201, 'POST', '/api/orders/', body)).id
  const queue = async () => (await server.context.work.state()).queues.reactions

  test('every change once, in order, with the Entity before and after, and writes that name their cause', async () => {
    seen = []
    const id = await order()
    const paid = await server.call('PATCH', `/api/orders/${id}/`, { body: { status: 'paid' } })
    await eventually(() => kindsOf('invoices.create', 1).length === 1)
    expect(seen.filter(({ on }) => on === 'orders.*')).toMatchObject([
      { kind: 'create', id, before: null, after: { id, status: 'open', version: 1, deleted_at: null } },
      { kind: 'update', id, before: { status: 'open' }, after: { status: 'paid', version: 2 }, attempt: 1 },
    ])
    const operation = operationOf(paid)
    expect(seen[1]?.operation).toMatchObject({ id: operation, actor: 'admins/1', cause: null })
    const { data } = await server.expect(200, 'GET', '/api/operations/?actor=reactions/orders.update')
    expect(data).toMatchObject([{ actor: 'reactions/orders.update', cause: operation }])
    const caused = await server.expect(200, 'GET', `/api/operations/?cause=${operation}`)
    expect(caused.data).toEqual(data)
    await server.expect(422, 'GET', '/api/operations/?cause=nothing')
    expect(seen.at(-1)).toMatchObject({
      on: 'invoices.create',
      operation: { actor: 'reactions/orders.update', cause: operation },
    })
  })

  test('undo shows what an operation set off, and takes it back if asked to', async () => {
    const id = await order({ total: 7 })
    const operation = operationOf(
      await server.call('PATCH', `/api/orders/${id}/`, { body: { status: 'paid' } }),
    )
    const invoices = async () =>
      (await server.expect(200, 'GET', `/api/invoices/?order.id=${id}`)).data.length
    await eventually(async () => (await invoices()) === 1)
    const undo = `/api/operations/${operation}/undo/`
    const preview = await server.expect(200, 'POST', `${undo}?dry_run=1`)
    expect(preview).toMatchObject({
      undone: 1,
      total: 1,
      effects: [{ actor: 'reactions/orders.update', changes: 1 }],
    })
    const whole = await server.expect(200, 'POST', undo, { dry_run: true, with_effects: true })
    expect(whole).toMatchObject({ undone: 2, total: 2 })
    expect(whole.plan).not.toBe(preview.plan)
    const done = await server.expect(200, 'POST', `${undo}?with_effects=1&plan=${whole.plan}`)
    expect(done.changes.map(({ entity, kind }: any) => [entity, kind])).toEqual([
      ['invoices', 'delete'],
      ['orders', 'update'],
    ])
    expect(await server.expect(200, 'GET', `/api/orders/${id}/`)).toMatchObject({ status: 'open' })
    expect(await invoices()).toBe(0)
    // All of it can be undone together.
    await server.expect(200, 'POST', `/api/operations/${done.operation}/undo/`)
    expect(await invoices()).toBeGreaterThan(0)
  })

  test('others neither see nor take back what their operations set off', async () => {
    const { token } = await server.user('users', { email: 'u@example.com' })
    const { id } = await server.expect(201, 'POST', '/api/orders/', { total: 7 }, { token })
    const paid = await server.call('PATCH', `/api/orders/${id}/`, { body: { status: 'paid' }, token })
    await eventually(
      async () => (await server.expect(200, 'GET', `/api/invoices/?order.id=${id}`)).data.length === 1,
    )
    const undo = `/api/operations/${operationOf(paid)}/undo/`
    expect(
      (await server.expect(200, 'POST', `${undo}?dry_run=1`, undefined, { token })).effects,
    ).toBeUndefined()
    expect((await server.call('POST', `${undo}?with_effects=1`, { token })).status).toBe(403)
    await server.expect(200, 'POST', undo, undefined, { token })
  })

  test('undo, restore and purge are the changes that they are', async () => {
    seen = []
    const id = await order()
    const changed = await server.call('PATCH', `/api/orders/${id}/`, { body: { total: 9 } })
    await server.expect(200, 'POST', `/api/operations/${operationOf(changed)}/undo/`)
    await server.expect(200, 'DELETE', `/api/orders/${id}/`)
    await server.expect(200, 'DELETE', `/api/orders/${id}/?restore=1`)
    await server.expect(200, 'DELETE', `/api/orders/${id}/`)
    await eventually(() => kindsOf('orders.*', id).length === 6)
    await server.expect(204, 'DELETE', `/api/orders/${id}/?purge=1`)
    await eventually(() => kindsOf('orders.*', id).length === 7)
    expect(kindsOf('orders.*', id)).toEqual([
      'create',
      'update',
      'update',
      'delete',
      'restore',
      'delete',
      'purge',
    ])
    const [, , undone, deleted, restored, , purged] = seen.filter(
      (one) => one.id === id && one.on === 'orders.*',
    )
    expect(undone).toMatchObject({ before: { total: 9 }, after: { total: 5 } })
    expect([deleted?.before.deleted_at, typeof deleted?.after.deleted_at]).toEqual([null, 'string'])
    expect(restored?.after.deleted_at).toBeNull()
    expect(purged).toMatchObject({ before: null, after: null })
  })

  test('a reaction that fails is tried again, and holds up its own Entity only', async () => {
    seen = []
    const [stuck, free] = [await order(), await order()]
    refuse = (id) => (id === stuck ? new Error('the bank is closed') : undefined)
    await server.expect(200, 'PATCH', `/api/orders/${stuck}/`, { total: 6 })
    await server.expect(200, 'PATCH', `/api/orders/${stuck}/`, { total: 7 })
    await server.expect(200, 'PATCH', `/api/orders/${free}/`, { total: 6 })
    await eventually(() => kindsOf('orders.*', free).length === 2)
    await eventually(() =>
      server.logged
        .join('')
        .includes(`reactions.orders.update of orders/${stuck} failed: the bank is closed`),
    )
    expect(kindsOf('orders.*', stuck)).toEqual(['create', 'update'])
    refuse = () => undefined
    await eventually(() => kindsOf('orders.*', stuck).length === 3)
    expect(seen.filter(({ id }) => id === stuck).map(({ after }) => after.total)).toEqual([5, 6, 7])
    await eventually(async () => (await queue())?.waiting === 0)
  })

  giant('one that is set aside can be listed and tried again', async () => {
    seen = []
    refuse = () => new Error('never')
    const id = await order()
    await server.expect(200, 'PATCH', `/api/orders/${id}/`, { total: 6 })
    await eventually(
      async () => (await server.query(`SELECT 1 FROM takeback_tasks WHERE error LIKE '%never'`)).length === 1,
    )
    await eventually(async () => {
      // As if it had failed for a day. A task cannot be changed while it runs.
      await server.query(
        `UPDATE takeback_tasks SET attempts = 35 WHERE queue = 'reactions' AND holder IS NULL AND attempts < 35`,
      )
      return (await queue())?.aside === 1
    })
    const [aside] = await server.context.work.aside('reactions')
    expect(aside).toMatchObject({
      payload: { reaction: 'orders.update', entity: 'orders', id, version: 2 },
      attempts: 36,
    })
    expect(aside?.error).toContain('never')
    // Later tasks go on.
    await server.expect(200, 'PATCH', `/api/orders/${id}/`, { total: 8 })
    await eventually(() => kindsOf('orders.*', id).length === 3)
    refuse = () => undefined
    expect(await server.context.work.retryAside('reactions', aside?.payload)).toBe(1)
    await eventually(async () => (await queue())?.waiting === 0 && (await queue())?.aside === 0)
  })

  test('changes that were made while no server ran are caught up with, lists too', async () => {
    seen = []
    await server.stop()
    const config = readConfig({ database: await server.databaseUrl() }, {})
    const other = await openApp(config, resolve(declaration))
    const caller = { actor: system, session: undefined, expired: false }
    const acting = { caller, signal: new AbortController().signal, depth: 0 }
    const api = apiOf(other.context, acting) as Api<typeof declaration.entities>
    await api.orders.create(Array.from({ length: 30 }, () => ({ total: 1 })))
    await other.close()
    await server.start()
    await eventually(() => seen.length === 30)
    await eventually(async () => (await queue())?.waiting === 0)
    expect(seen.length).toBe(30)
  })

  test('reactions that are taken out of the declaration go on if they are back within a day, and else begin anew', async () => {
    seen = []
    const cursors = async () =>
      (await server.query('SELECT name FROM takeback_cursors ORDER BY name')).map(({ name }) => name)
    const { reactions: _, ...without } = declaration
    const reduced = { ...without, reactions: { 'invoices.create': note('invoices.create') } }
    await server.restart(reduced)
    const kept = await order()
    await server.restart(declaration)
    await eventually(() => kindsOf('orders.*', kept).length === 1)
    await server.restart(reduced)
    await server.query(`UPDATE takeback_cursors SET updated_at = '2020-01-01T00:00:00.000Z'`)
    await server.restart(reduced)
    await eventually(async () => `${await cursors()}` === 'reactions/invoices')
    const missed = await order()
    await server.restart(declaration)
    await eventually(async () => (await cursors()).length === 3)
    const id = await order()
    await eventually(() => kindsOf('orders.*', id).length === 1)
    expect(kindsOf('orders.*', missed)).toEqual([])
  })

  test('a loop is stopped and named', async () => {
    const { id } = await server.expect(201, 'POST', '/api/loops/', { count: 0 })
    await eventually(() =>
      server.logged.join('').includes('by reactions/loops.* ends a long chain of reactions'),
    )
    expect(await server.expect(200, 'GET', `/api/loops/${id}/`)).toMatchObject({ count: 10 })
  })
})

test('a reaction that is wrong is named at the start, with what would be right', () => {
  const run = () => {}
  const reactions = { 'order.update': run, 'orders.updat': run, 'orders.create': 5, orders: run }
  expect(() => resolve({ entities: { orders: { fields: {} } }, reactions })).toThrow(
    [
      'reactions.order.update: "order" is not an Entity type; did you mean "orders"?',
      'reactions.orders.updat: must be an Entity type and a kind of change (create, update, delete, restore, purge or *), such as orders.update; did you mean "update"?',
      'reactions.orders.create: must be a function',
      'reactions.orders: must be an Entity type and a kind of change (create, update, delete, restore, purge or *), such as orders.update',
    ].join('\n  '),
  )
})
