import { afterAll, describe, expect, test } from 'bun:test'
import type { AppDeclaration } from '../../src/declare/define.ts'
import { check } from '../../src/store/check/check.ts'
import { entity, integer, list, object, ref, text } from '../../src/takeback.ts'
import { things, withAdmins } from '../declarations.ts'
import { onEveryStoreByHand, TestServer } from '../harness.ts'

/** Renames from a first declaration to others. On the way back, the server must say which `was` to write. */
const cases: {
  readonly name: string
  readonly first: AppDeclaration
  readonly next: readonly AppDeclaration[]
  /** The messages, which say what to write. */
  readonly says: readonly string[]
  /** The first declaration with the `was` of all messages. */
  readonly back: AppDeclaration
  readonly path: string
  readonly body: object
}[] = [
  {
    name: 'a field',
    first: things({ a: text() }),
    next: [things({ b: text({ was: 'a' }) })],
    says: ["things.a was renamed to b, and b is no longer declared: write was: 'b' here"],
    back: things({ a: text({ was: 'b' }) }),
    path: 'things',
    body: { a: 'kept' },
  },
  {
    name: 'a field that was renamed twice, and optional',
    first: things({ a: text({ optional: true }), n: integer() }),
    next: [
      things({ b: text({ optional: true, was: 'a' }), n: integer() }),
      things({ c: text({ optional: true, was: 'b' }), n: integer() }),
    ],
    says: ["things.a was renamed to c, and c is no longer declared: write was: 'c' here"],
    back: things({ a: text({ optional: true, was: 'c' }), n: integer() }),
    path: 'things',
    body: { a: 'kept', n: 1 },
  },
  {
    name: 'a field within an object, and the object',
    first: things({ place: object({ town: text(), zip: text() }, { optional: true }) }),
    next: [
      things({ place: object({ city: text({ was: 'town' }), zip: text() }, { optional: true }) }),
      things({ address: object({ city: text(), zip: text() }, { optional: true, was: 'place' }) }),
    ],
    says: [
      "things.place was renamed to address, and address is no longer declared: write was: 'address' here",
      "things.place.town was renamed to city, and city is no longer declared: write was: 'city' here",
    ],
    back: things({
      place: object({ town: text({ was: 'city' }), zip: text() }, { optional: true, was: 'address' }),
    }),
    path: 'things',
    body: { place: { town: 'Bonn', zip: '53111' } },
  },
  {
    name: 'references, and lists of them',
    first: things({ next: ref('things', { optional: true }), all: list(ref('things'), { default: [] }) }),
    next: [
      things({
        after: ref('things', { optional: true, was: 'next' }),
        every: list(ref('things'), { default: [], was: 'all' }),
      }),
    ],
    says: [
      "things.next was renamed to after, and after is no longer declared: write was: 'after' here",
      "things.all was renamed to every, and every is no longer declared: write was: 'every' here",
    ],
    back: things({
      next: ref('things', { optional: true, was: 'after' }),
      all: list(ref('things'), { default: [], was: 'every' }),
    }),
    path: 'things',
    body: { next: { id: 1 }, all: [{ id: 1 }] },
  },
  {
    name: 'an Entity type, with a field of it, and what refers to it',
    first: withAdmins({
      rooms: entity({ fields: { title: text() } }),
      beds: entity({ fields: { room: ref('rooms', { optional: true }) } }),
    }),
    next: [
      withAdmins({
        chambers: entity({ was: 'rooms', fields: { name: text({ was: 'title' }) } }),
        beds: entity({ fields: { room: ref('chambers', { optional: true }) } }),
      }),
    ],
    says: [
      "rooms was renamed to chambers, and chambers is no longer declared: write was: 'chambers' here",
      "rooms.title was renamed to name, and name is no longer declared: write was: 'name' here",
    ],
    back: withAdmins({
      rooms: entity({ was: 'chambers', fields: { title: text({ was: 'name' }) } }),
      beds: entity({ fields: { room: ref('rooms', { optional: true }) } }),
    }),
    path: 'rooms',
    body: { title: 'kept' },
  },
]

onEveryStoreByHand('going back past a rename', (store) => {
  const servers: TestServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.remove())))
  async function started(declaration: AppDeclaration): Promise<TestServer> {
    const server = new TestServer(store, declaration)
    servers.push(server)
    await server.start()
    return server
  }
  const refusal = (server: TestServer, declaration: AppDeclaration) =>
    server.restart(declaration).then(
      () => 'started',
      (error: Error) => error.message,
    )

  describe.each(cases)('of $name', ({ first, next, says, back, path, body }) => {
    test('is refused, says what to write, and with that all is back', async () => {
      const server = await started(first)
      const made = path === 'things' && 'next' in body ? { next: null } : body
      const { id } = await server.expect(201, 'POST', `/api/${path}/`, made)
      await server.expect(200, 'PUT', `/api/${path}/${id}/`, body)
      for (const one of next) await server.restart(one)
      const lines = (await refusal(server, first)).split('\n').slice(1)
      expect(lines).toHaveLength(says.length)
      for (const [at, line] of lines.entries()) expect(line).toContain(says[at] ?? '')
      await server.restart(back)
      expect(await server.expect(200, 'GET', `/api/${path}/${id}/`)).toMatchObject(body)
      expect(await server.expect(200, 'GET', `/api/${path}/${id}/history/`)).toMatchObject({
        data: [{ version: 2 }, { version: 1 }],
      })
      // The first declaration fits again without the `was`.
      await server.restart(first)
      expect(await server.expect(200, 'GET', `/api/${path}/${id}/`)).toMatchObject(body)
      expect((await check(await server.location())).findings).toEqual([])
    })
  })

  test('is not refused if the present name stays, or was removed before', async () => {
    const server = await started(things({ a: text({ optional: true }), n: integer() }))
    await server.expect(201, 'POST', '/api/things/', { a: 'first', n: 1 })
    const renamed = things({ b: text({ optional: true, was: 'a' }), n: integer() })
    await server.restart(renamed)
    // With both fields.
    await server.restart(things({ b: text({ optional: true }), a: text({ optional: true }), n: integer() }))
    expect(await server.expect(200, 'GET', '/api/things/1/')).toMatchObject({ b: 'first', a: null })
  })

  test('can be meant as something new, in two steps', async () => {
    const server = await started(things({ a: text({ optional: true }), n: integer() }))
    await server.expect(201, 'POST', '/api/things/', { a: 'first', n: 1 })
    await server.restart(things({ b: text({ optional: true, was: 'a' }), n: integer() }))
    expect(await refusal(server, things({ a: text({ optional: true }), n: integer() }))).toContain(
      'If you mean a new field, first apply the declaration without a.',
    )
    await server.restart(things({ n: integer() }))
    await server.restart(things({ a: text({ optional: true }), n: integer() }))
    expect(await server.expect(200, 'GET', '/api/things/1/')).toMatchObject({ a: null })
    // The old values are still there, under the last name.
    await server.restart(things({ a: text({ optional: true }), b: text({ optional: true }), n: integer() }))
    expect(await server.expect(200, 'GET', '/api/things/1/')).toMatchObject({ a: null, b: 'first' })
  })
})
