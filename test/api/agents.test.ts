import { expect, test } from 'bun:test'
import { fromSystem, performOnce } from '../../src/api/idempotency.ts'
import { Failure } from '../../src/errors.ts'
import { AgentCalls, declaration, hooked, stateOf, withPlan } from '../agents.ts'
import { ADMIN, onEveryStore } from '../harness.ts'

onEveryStore('agents', declaration, (server) => {
  const calls = new AgentCalls(server)
  const agent = (more?: object) => calls.agent(more)
  const room = (fields?: object) => calls.room(fields)
  const title = () => calls.title()
  const send = (...sent: Parameters<AgentCalls['send']>) => calls.send(...sent)
  const write = (...sent: Parameters<AgentCalls['write']>) => calls.write(...sent)

  test('write nothing through code that forgets to plan', async () => {
    const { key } = await agent()
    const request = { ...fromSystem({}), caller: await server.context.identities.identify(key) }
    const write = () => performOnce(server.context, request, () => expect.unreachable())
    expect(write).toThrow(new Failure('forbidden').message)
  })

  test('show what a write would do, and do exactly that with the plan', async () => {
    const { key, id } = await agent()
    const name = title()
    const shown = await send(key, 'POST', '/api/rooms/', { title: name, beds: 2 })
    expect([shown.status, shown.body]).toEqual([
      200,
      {
        operation: null,
        total: 1,
        changes: [
          {
            entity: 'rooms',
            id: null,
            kind: 'create',
            changed: { title: { from: null, to: name }, beds: { from: null, to: 2 } },
          },
        ],
        plan: expect.any(String),
        next: null,
      },
    ])
    const done = await send(key, 'POST', withPlan('/api/rooms/', shown.body.plan), { title: name, beds: 2 })
    expect([done.status, done.body.title]).toEqual([201, name])
    const { data } = await server.expect(200, 'GET', `/api/rooms/${done.body.id}/history/`)
    expect(data[0].actor).toBe(`keys/${id}`)
    // The plan belongs to another request.
    const other = await send(key, 'POST', withPlan('/api/rooms/', shown.body.plan), {
      title: title(),
      beds: 2,
    })
    expect([other.status, other.body.code, other.body.preview.total]).toEqual([412, 'plan_changed', 1])
    const again = { title: title(), beds: 3 }
    const changed = await write(key, 'PATCH', `/api/rooms/${done.body.id}/`, again)
    expect([changed.status, changed.body.beds]).toEqual([200, 3])
  })

  test('get a new plan if the extent has changed', async () => {
    const { key } = await agent()
    const { id } = await room()
    const path = `/api/rooms/${id}/`
    await server.expect(201, 'POST', '/api/bookings/', { name: 'a', room: { id } })
    const shown = await send(key, 'DELETE', path)
    expect(shown.body.changes.map((one: any) => [one.entity, one.kind])).toEqual([
      ['bookings', 'delete'],
      ['rooms', 'delete'],
    ])
    await server.expect(201, 'POST', '/api/bookings/', { name: 'b', room: { id } })
    const refused = await send(key, 'DELETE', withPlan(path, shown.body.plan))
    expect([refused.status, refused.body.preview.total]).toEqual([412, 3])
    await server.expect(200, 'GET', path)
    const done = await send(key, 'DELETE', withPlan(path, refused.body.preview.plan))
    expect([done.status, done.body.deleted_at]).toEqual([200, expect.any(String)])
    const restored = await write(key, 'DELETE', `${path}?restore=1`)
    expect([restored.status, restored.body.deleted_at]).toEqual([200, null])
  })

  test('see a large extent in pages, and are held to their limits before they write', async () => {
    const { key } = await agent({ limits: { changes_per_operation: 250 } })
    const { id } = await room()
    const booking = { name: 'x', room: { id } }
    await server.expect(
      201,
      'POST',
      '/api/bookings/',
      Array.from({ length: 220 }, () => booking),
    )
    const path = `/api/rooms/${id}/`
    const first = (await send(key, 'DELETE', path)).body
    const second = (await send(key, 'DELETE', `${path}?cursor=${first.next}`)).body
    const third = (await send(key, 'DELETE', `${path}?cursor=${second.next}`)).body
    expect(
      [first, second, third].map((page) => [page.total, page.changes.length, page.plan === first.plan]),
    ).toEqual([
      [221, 100, true],
      [221, 100, true],
      [221, 21, true],
    ])
    expect(third.next).toBeNull()
    await server.expect(
      201,
      'POST',
      '/api/bookings/',
      Array.from({ length: 40 }, () => booking),
    )
    const over = await send(key, 'DELETE', path)
    expect([over.status, over.body.errors]).toEqual([
      429,
      { changes_per_operation: ['has 261 changes, and at most 250 are allowed'] },
    ])
  })

  test('can send a planned write again', async () => {
    const { key } = await agent()
    const body = { title: title() }
    const shown = await send(key, 'POST', '/api/rooms/', body)
    const headers = { 'Idempotency-Key': `again-${body.title.replaceAll(' ', '-')}` }
    const path = withPlan('/api/rooms/', shown.body.plan)
    const [first, second] = [
      await server.call('POST', path, { token: key, body, headers }),
      await server.call('POST', path, { token: key, body, headers }),
    ]
    expect([first.status, second.status, second.text]).toEqual([201, 201, first.text])
    expect(second.headers.get('idempotent-replay')).toBe('true')
  })

  test('cannot purge, nor touch secrets and accounts, not even by a cascade', async () => {
    const { key } = await agent()
    const { id } = await room({ pin: '1234' })
    const company = await server.expect(201, 'POST', '/api/companies/', { name: 'c' })
    await server.member('users', {
      email: `u${title().replaceAll(' ', '-')}@example.com`,
      company: { id: company.id },
    })
    const path = `/api/rooms/${id}/`
    const pinned = await server.call('PATCH', path, { body: { pin: '9999' } })
    const operation = pinned.headers.get('takeback-operation')
    await server.expect(200, 'DELETE', path)
    const before = await stateOf(server)
    const refused: readonly (readonly [number, string, string, unknown?])[] = [
      [403, 'DELETE', `${path}?purge=1`],
      [422, 'POST', '/api/rooms/', { title: title(), pin: '1' }],
      [422, 'PATCH', path, { pin: '1' }],
      [403, 'POST', `/api/operations/${operation}/undo/`],
      [403, 'POST', '/api/users/', { email: 'x@example.com', password: ADMIN.password }],
      [403, 'POST', '/api/users/?invite=1', { email: 'x@example.com' }],
      [403, 'PATCH', '/api/users/1/', { company: null }],
      [403, 'DELETE', '/api/users/1/'],
      [403, 'DELETE', `/api/companies/${company.id}/`],
      [403, 'DELETE', `/api/companies/?filter=true`],
      [403, 'POST', '/api/batch/', [{ method: 'DELETE', path: `/api/companies/${company.id}/` }]],
      [403, 'POST', '/api/auth/keys/', { name: 'x' }],
      [403, 'POST', '/api/auth/password/forgot', { email: ADMIN.email }],
      [403, 'POST', '/api/do/'],
      [200, 'GET', '/api/tally/'],
      [403, 'GET', '/api/sly/'],
    ]
    await server.expect(200, 'DELETE', `${path}?restore=1`)
    const restored = await stateOf(server)
    for (const [status, method, to, body] of refused)
      expect([method, to, (await send(key, method, to, body)).status]).toEqual([method, to, status])
    expect(await stateOf(server)).toBe(restored)
    expect(restored.length).toBeGreaterThan(before.length)
  })

  test('run hooks in previews too, which may read, but write nothing', async () => {
    const { key } = await agent()
    const count = hooked.length
    const done = await write(key, 'POST', '/api/letters/', { to: 'count' })
    expect([done.status, hooked.length - count]).toEqual([201, 2])
    const rooms = await server.rows('rooms')
    for (const to of ['rooms', 'system'])
      expect((await send(key, 'POST', '/api/letters/', { to })).status).toBe(403)
    expect(await server.rows('rooms')).toBe(rooms)
  })

  test('may ask what they may, and read', async () => {
    const { key } = await agent()
    const may = await send(key, 'POST', '/api/may/', {
      method: 'POST',
      path: '/api/rooms/',
      body: { title: 'x' },
    })
    expect(may.status).not.toBe(403)
    expect((await send(key, 'GET', '/api/rooms/')).status).toBe(200)
    expect((await send(key, 'GET', '/api/operations/')).status).toBe(200)
  })
})
