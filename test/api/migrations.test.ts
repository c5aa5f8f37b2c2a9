import { afterAll, expect, test } from 'bun:test'
import type { AppDeclaration } from '../../src/declare/define.ts'
import { boolean, decimal, entity, integer, list, object, ref, secret, text } from '../../src/takeback.ts'
import { things, withAdmins } from '../declarations.ts'
import { onEveryStoreByHand, TestServer } from '../harness.ts'

onEveryStoreByHand('a changed declaration', (store) => {
  const servers: TestServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.remove())))

  /** Starts a server with some rows. Tests restart it with other declarations. */
  async function started(declaration: AppDeclaration, ...bodies: object[]): Promise<TestServer> {
    const server = new TestServer(store, declaration)
    servers.push(server)
    await server.start()
    for (const body of bodies) await server.expect(201, 'POST', '/api/things/', body)
    return server
  }
  const first = async (server: TestServer) =>
    (await server.expect(200, 'GET', '/api/things/1/')) as Record<string, unknown>
  const refusal = (server: TestServer, declaration: AppDeclaration) =>
    server.restart(declaration).then(
      () => 'started',
      (error: Error) => error.message,
    )

  test('new types, optional fields and fields with a default are added', async () => {
    const server = await started(things({ a: text() }), { a: 'x' })
    await server.restart(
      withAdmins({
        things: entity({
          fields: {
            a: text(),
            b: text({ optional: true }),
            c: decimal({ default: '1.5' }),
            d: boolean({ default: true }),
            e: list(text(), { default: ["it's"] }),
            o: object({ p: text() }, { optional: true }),
          },
        }),
        more: entity({ fields: { thing: ref('things') } }),
      }),
    )
    expect(await first(server)).toMatchObject({ a: 'x', b: null, c: '1.50', d: true, e: ["it's"], o: null })
    await server.expect(201, 'POST', '/api/more/', { thing: { id: 1 } })
  })

  test('what is no longer declared is kept, and is back when it is declared again', async () => {
    const server = await started(things({ a: text(), b: text({ optional: true }) }), { a: 'x', b: 'kept' })
    await server.restart(things({ a: text() }))
    expect(await first(server)).not.toHaveProperty('b')
    await server.restart(things({ a: text(), b: text({ optional: true }) }))
    expect(await first(server)).toMatchObject({ a: 'x', b: 'kept' })
  })

  test('a required object that becomes optional is still there, and the other way round is refused where it is not', async () => {
    const required = things({ o: object({ city: text() }) })
    const optional = things({ o: object({ city: text() }, { optional: true }) })
    const server = await started(required, { o: { city: 'Berlin' } })
    await server.restart(optional)
    expect((await first(server)).o).toEqual({ city: 'Berlin' })
    await server.expect(200, 'PATCH', '/api/things/1/', { o: null })
    expect(await refusal(server, required)).toContain(
      'things.o is required now, but is missing in 1 thing (things/1)',
    )
  })

  test('what the rows do not fit is refused, says why, and changes nothing', async () => {
    const before = things({ a: text({ optional: true }), n: decimal(), s: secret(), i: integer() })
    const server = await started(before, { a: null, n: '10.50', s: 'hidden hidden', i: 1 })
    for (const [fields, sentence] of [
      [{ a: text() }, 'things.a is required now, but is missing in 1 thing (things/1)'],
      [{ a: text({ optional: true }), b: text() }, 'things.b is new and required, but is missing in 1 thing'],
      [
        { n: decimal({ scale: 1 }) },
        'things.n holds decimals with 2 decimal places and cannot become decimals with 1 decimal places',
      ],
      [{ s: text() }, 'things.s holds secrets and cannot become values of the type text'],
      [{ a: secret({ optional: true }) }, 'things.a holds values of the type text and cannot become secrets'],
      [
        { i: boolean() },
        'things.i holds values of the type integer and cannot become values of the type boolean',
      ],
    ] as const)
      expect(await refusal(server, things(fields))).toContain(sentence)
    await server.restart(before)
    expect(await first(server)).toMatchObject({ a: null, n: '10.50', i: 1 })
  })

  test('a new unique is refused where two have the same, and applied where only the deleted do', async () => {
    const server = await started(things({ a: text() }), { a: 'same' }, { a: 'same' })
    expect(await refusal(server, things({ a: text({ unique: true }) }))).toContain(
      'things.a must be unique now, but has duplicates in 2 things (things/1, things/2)',
    )
    await server.restart(things({ a: text() }))
    await server.expect(200, 'DELETE', '/api/things/2/')
    await server.restart(things({ a: text({ unique: true }) }))
    expect((await server.call('POST', '/api/things/', { body: { a: 'same' } })).status).toBe(422)
  })

  test.each([{ min: 4 }, { max: 2 }, { pattern: '^x' }])(
    'a new unique says nothing of values that break %o',
    async (limit) => {
      const server = await started(things({ a: text() }), { a: 'Dig' }, { a: 'Sow' })
      const said = String(await refusal(server, things({ a: text({ ...limit, unique: true }) })))
      expect(said).toContain('things.a has limits that are violated by 2 things (things/1, things/2)')
      expect(said).not.toContain('too long')
      // It does report values that are too long for an index.
      await server.restart(things({ a: text() }))
      await server.expect(201, 'POST', '/api/things/', { a: 'y'.repeat(3000) })
      expect(await refusal(server, things({ a: text({ unique: true }) }))).toContain(
        'things.a must be unique now, but is too long for that in 1 thing (things/3): shorten it first',
      )
    },
  )

  test('references that are no longer declared still guard a purge, and must not dangle when they are back', async () => {
    const both = withAdmins({
      things: entity({ fields: { to: ref('targets') } }),
      targets: entity({ fields: { a: text() } }),
    })
    const without = withAdmins({ targets: entity({ fields: { a: text() } }) })
    const server = new TestServer(store, both)
    servers.push(server)
    await server.start()
    await server.expect(201, 'POST', '/api/targets/', { a: 'x' })
    await server.expect(201, 'POST', '/api/things/', { to: { id: 1 } })
    await server.restart(without)
    await server.expect(200, 'DELETE', '/api/targets/1/')
    expect((await server.call('DELETE', '/api/targets/1/?purge=1')).body.errors).toEqual({
      'things.to': ['1 thing refers to it'],
    })
    expect(await refusal(server, both)).toContain(
      'things.to is declared again, but refers to deleted targets in 1 thing (things/1)',
    )
    await server.restart(without)
    await server.expect(200, 'DELETE', '/api/targets/1/?restore=1')
    await server.restart(both)
    expect((await first(server)).to).toEqual({ id: 1 })
  })

  test('a reference that was cleared is set again, whatever was declared in between', async () => {
    const targets = entity({ fields: { a: text() } })
    const full = withAdmins({
      targets,
      things: entity({ fields: { x: text(), to: ref('targets', { optional: true, onDelete: 'clear' }) } }),
    })
    const server = new TestServer(store, full)
    servers.push(server)
    await server.start()
    await server.expect(201, 'POST', '/api/targets/', { a: 'x' })
    await server.expect(201, 'POST', '/api/things/', { x: 'v', to: { id: 1 } })
    await server.restart(withAdmins({ targets, things: entity({ fields: { x: text() } }) }))
    await server.expect(200, 'PATCH', '/api/things/1/', { x: 'w' })
    await server.restart(full)
    await server.expect(200, 'DELETE', '/api/targets/1/')
    expect((await first(server)).to).toBeNull()
    await server.expect(200, 'DELETE', '/api/targets/1/?restore=1')
    expect((await first(server)).to).toEqual({ id: 1 })
  })

  test('a column that changes its role is filled where it is empty', async () => {
    const object3 = (optional: boolean) =>
      things({ o: object({ a: text() }, { optional }), n: integer({ optional: true }) })
    const server = await started(object3(true), { o: { a: 'first' }, n: null })
    await server.restart(object3(false))
    await server.expect(201, 'POST', '/api/things/', { o: { a: 'second' } })
    await server.restart(object3(true))
    expect((await server.expect(200, 'GET', '/api/things/2/')).o).toEqual({ a: 'second' })
    await server.restart(things({ o: object({ a: text() }, { optional: true }), n: integer({ default: 3 }) }))
    expect((await first(server)).n).toBe(3)
  })

  test('a type with rows cannot become one that logs in', async () => {
    const fields = { name: text({ optional: true }) }
    const server = await started(things({ ...fields, email: text(), password: secret() }), {
      email: 'a@example.com',
      password: 'long enough for us',
    })
    expect(await refusal(server, things(fields, { login: { userType: 'user' } }))).toContain(
      'things.email_key',
    )
  })

  test('objects that become optional, or are put around others, are there where they were', async () => {
    const server = await started(things({ a: object({ x: text() }) }), { a: { x: 'q' } })
    const wider = { x: text(), y: text() }
    expect(await refusal(server, things({ a: object(wider, { optional: true }) }))).toContain(
      'things.a.y is new and required',
    )
    await server.restart(things({ a: object({ x: text(), y: text({ default: 'd' }) }, { optional: true }) }))
    expect((await first(server)).a).toEqual({ x: 'q', y: 'd' })
  })

  test('a default fills no object that is not there', async () => {
    const before = { x: text({ optional: true }) }
    const server = await started(things({ a: object(before, { optional: true }) }), {}, {}, { a: {} })
    await server.restart(
      things({ a: object({ ...before, y: integer({ default: 5, unique: true }) }, { optional: true }) }),
    )
    expect(
      (await server.expect(200, 'GET', '/api/things/?a.y=5')).data.map(({ id }: { id: number }) => id),
    ).toEqual([3])
  })

  test('an optional object that becomes required must be there, whatever is in it', async () => {
    const declared = (optional: boolean) => things({ a: object({ x: text({ default: 'd' }) }, { optional }) })
    const server = await started(declared(true), {})
    expect(await refusal(server, declared(false))).toContain(
      'things.a is required now, but is missing in 1 thing (things/1)',
    )
  })

  test('an object in an object may become optional while the outer one is not there', async () => {
    const declared = (optional: boolean) =>
      things({ a: object({ b: object({ c: text() }, { optional }) }, { optional: true }) })
    const server = await started(declared(false), {}, { a: { b: { c: 'x' } } })
    await server.restart(declared(true))
    expect((await first(server)).a).toBeNull()
    expect((await server.expect(200, 'GET', '/api/things/2/')).a).toEqual({ b: { c: 'x' } })
    expect((await server.call('PATCH', '/api/things/1/', { body: { a: { b: {} } } })).body.errors).toEqual({
      'a.b.c': ['is required'],
    })
  })
})
