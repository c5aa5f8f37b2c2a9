import { afterAll, expect, test } from 'bun:test'
import { app, entity, everyone, integer, text } from '../../src/takeback.ts'
import { eventually, onEveryStoreByHand, operationOf, TestServer } from '../harness.ts'
import { Receiver, SECRET } from '../webhook-receiver.ts'

onEveryStoreByHand('the system', (store) => {
  const erp = new Receiver()
  let works = false
  let ran = 0
  const all = { create: everyone, read: everyone, update: everyone }
  const declaration = app({
    admins: 'admins',
    entities: {
      admins: entity({ login: { userType: 'admin' }, fields: {} }),
      users: entity({ login: { userType: 'user' }, fields: {} }),
      orders: entity({ fields: { title: text() }, access: all }),
    },
    reactions: {
      'orders.create'() {
        if (!works) throw new Error('the printer is out of paper')
      },
    },
    jobs: {
      nightly: {
        every: '0 3 1 1 *',
        run() {
          ran++
        },
      },
    },
    webhooks: { erp: { to: erp.url, secret: SECRET, on: ['orders.update'], allow: [erp.host] } },
  })
  const server = new TestServer(store, declaration)
  afterAll(async () => {
    await server.remove()
    await erp.stop()
  })
  const tasks = async (query = '') => (await server.expect(200, 'GET', `/api/system/tasks/${query}`)).data

  test('shows tasks that fail, and tries them again', async () => {
    await server.start()
    const made = await server.call('POST', '/api/orders/', { body: { title: 'one' } })
    await eventually(async () => (await tasks())[0]?.attempts === 1 && (await tasks())[0].state === 'waiting')
    const [task] = await tasks('?queue=reactions&state=waiting')
    expect(task).toMatchObject({
      kind: 'reaction',
      name: 'orders.create',
      state: 'waiting',
      entity: 'orders/1',
      operation: operationOf(made),
      aside_at: null,
    })
    expect([task.error, Date.parse(task.next_at) > Date.parse(task.at)]).toEqual([
      expect.stringContaining('out of paper'),
      true,
    ])
    works = true
    expect(await server.expect(200, 'POST', `/api/system/tasks/${task.id}/retry/`)).toEqual({ retried: 1 })
    await eventually(async () => (await tasks()).length === 0)
    expect((await server.call('POST', `/api/system/tasks/${task.id}/retry/`)).status).toBe(404)
  })

  test('shows webhooks with their requests, and sends again what was set aside', async () => {
    erp.answers.push(410)
    const made = await server.call('PATCH', '/api/orders/1/', { body: { title: 'two' } })
    await eventually(async () => (await tasks('?state=aside')).length === 1)
    const [task] = await tasks()
    expect([task.kind, task.name, task.operation, task.next_at]).toEqual([
      'webhook',
      'erp',
      operationOf(made),
      null,
    ])
    const { queues } = await server.expect(200, 'GET', '/api/system/tasks/?limit=1')
    expect(queues['webhook erp'].aside).toBe(1)
    const [shown] = (await server.expect(200, 'GET', '/api/system/webhooks/')).data
    expect([shown.name, shown.aside, shown.deliveries[0].status]).toEqual(['erp', 1, 410])
    const resend = (body: object, name = 'erp') =>
      server.call('POST', `/api/system/webhooks/${name}/resend/`, { body })
    expect((await resend({ aside: true })).body).toEqual({ resent: 1 })
    await eventually(async () => (await tasks()).length === 0)
    expect((await resend({ operation: operationOf(made) })).body).toEqual({ resent: 1 })
    await eventually(async () => (await tasks()).length === 0)
    const [after] = (await server.expect(200, 'GET', '/api/system/webhooks/')).data
    expect(after.deliveries.map(({ status }: { status: number }) => status)).toEqual([200, 200, 410])
    expect([(await resend({})).status, (await resend({ aside: true }, 'none')).status]).toEqual([422, 404])
    for (const operation of ['a\u0000b', '\ud800']) expect((await resend({ operation })).status).toBe(404)
  })

  test('shows jobs, and runs one', async () => {
    const list = async () => (await server.expect(200, 'GET', '/api/system/jobs/')).data
    await eventually(async () => (await list())[0].next !== null)
    expect(await list()).toMatchObject([
      { name: 'nightly', every: '0 3 1 1 *', status: 'never', error: null },
    ])
    expect(await server.expect(202, 'POST', '/api/system/jobs/nightly/run/')).toEqual({ name: 'nightly' })
    await eventually(async () => (await list())[0].status === 'ok')
    expect(ran).toBe(1)
    expect((await server.call('POST', '/api/system/jobs/none/run/')).status).toBe(404)
  })

  test('tells how long requests and statements take, without values', async () => {
    const { slow } = server.context.store
    slow.atLeastMs = 0
    await server.expect(200, 'GET', '/api/orders/?filter=title%20%3D%3D%20%22hush%22&title=hush')
    await server.expect(201, 'POST', '/api/orders/', { title: 'hush' })
    await server.expect(404, 'GET', '/api/orders/999/')
    slow.atLeastMs = 60_000
    const figures = await server.expect(200, 'GET', '/api/system/requests/')
    const of = (method: string, path: string) =>
      figures.endpoints.find((one: any) => one.method === method && one.path === path)
    expect(of('GET', '/api/orders')).toMatchObject({ count: 1, errors: 0 })
    expect(of('GET', '/api/orders/{id}').count).toBe(1)
    expect(of('POST', '/api/orders').max_ms).toBeGreaterThan(0)
    expect(figures.minutes.at(-1).count).toBeGreaterThan(0)
    const statements = figures.slow.map((one: any) => one.statement).join('\n')
    expect(statements).toContain('INSERT INTO "orders"')
    expect(statements).not.toContain('hush')
    expect(figures.slow.length).toBeLessThanOrEqual(100)
  })

  test('tells what migrations did, and what is kept aside', async () => {
    const path = '/api/system/migrations/'
    expect(await server.expect(200, 'GET', path)).toMatchObject({ applied: [], aside: [], plan: [] })
    const { entities } = declaration
    const changed = entity({ fields: { beds: integer({ default: 2 }) }, access: all })
    await server.restart({ admins: 'admins', entities: { admins: entities.admins, orders: changed } })
    const told = await server.expect(200, 'GET', path)
    expect(told.applied.map(({ entity, path, change }: any) => [entity, path, change.kind])).toEqual(
      expect.arrayContaining([
        ['orders', 'beds', 'add'],
        ['orders', 'title', 'aside'],
      ]),
    )
    expect(told.aside.map((one: any) => one.path).sort()).toEqual(['orders.title', 'users'])
    expect(told.plan).toEqual([])
    await server.restart(declaration)
  })

  test('is for admins', async () => {
    const { token } = await server.user('users', { email: 'ann@example.com' })
    const { paths } = await server.expect(200, 'GET', '/api/openapi.json')
    const calls = Object.entries<object>(paths).filter(([path]) => path.startsWith('/api/system/'))
    expect(calls.length).toBeGreaterThan(4)
    for (const [path, methods] of calls)
      for (const method of Object.keys(methods))
        for (const [asked, status] of [
          [token, 403],
          [null, 401],
        ] as const) {
          const place = path.replace(/\{\w+\}/, '1')
          const body = method === 'post' ? { body: {} } : {}
          const answer = await server.call(method.toUpperCase(), place, { token: asked, ...body })
          expect([method, path, answer.status]).toEqual([method, path, status])
        }
  })
})
