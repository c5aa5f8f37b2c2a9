import { expect, test } from 'bun:test'
import { check } from '../../src/store/check/check.ts'
import { decimal, entity, integer, list, object, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { giant, isDeep, onEveryStoreByHand, operationOf, TestServer } from '../harness.ts'

const CHILDREN = isDeep ? 100_000 : 6000

onEveryStoreByHand('taking back across declarations', (store) => {
  test('what still exists is mapped, and what does not is named', async () => {
    const declared = (fields: any) =>
      withAdmins({
        things: entity({ fields }),
      })
    const server = new TestServer(store, declared({ a: text(), old: text({ optional: true }), n: integer() }))
    await server.start()
    await server.expect(201, 'POST', '/api/things/', { a: 'x', old: 'gone', n: 7 })
    const patched = await server.call('PATCH', '/api/things/1/', { body: { a: 'y', n: 8 } })
    await server.restart(
      declared({ b: text({ was: 'a' }), n: text({ pattern: '^8$' }), fresh: text({ default: 'd' }) }),
    )
    const reverted = await server.call('POST', '/api/things/1/revert/', { body: { version: 1 } })
    expect(reverted.body).toMatchObject({ b: 'x', n: '8', fresh: 'd', version: 3 })
    expect(reverted.headers.get('Takeback-Unmapped')).toBe('old, n')
    // The former `a` is back already, and 7 does not match the pattern.
    const undone = await server.call('POST', `/api/operations/${operationOf(patched)}/undo/`)
    expect([undone.status, undone.body.total, undone.body.skipped]).toEqual([
      200,
      0,
      { 'things/1': ['has former values that are no longer declared: n'] },
    ])
    await server.remove()
  })

  test('objects are mapped value by value: what they gained meanwhile stays', async () => {
    const declared = (fields: any) =>
      withAdmins({
        things: entity({ fields }),
      })
    const server = new TestServer(
      store,
      declared({ o: object({ city: text(), old: text({ optional: true }) }) }),
    )
    await server.start()
    await server.expect(201, 'POST', '/api/things/', { o: { city: 'Bonn', old: 'x' } })
    await server.expect(200, 'PATCH', '/api/things/1/', { o: { city: 'Köln' } })
    await server.restart(
      declared({
        o: object({ city: text(), kind: text({ default: 'home' }), zip: text({ optional: true }) }),
      }),
    )
    await server.expect(200, 'PATCH', '/api/things/1/', { o: { kind: 'WORK', zip: '12345' } })
    const reverted = await server.call('POST', '/api/things/1/revert/', { body: { version: 1 } })
    expect(reverted.body.o).toEqual({ city: 'Bonn', kind: 'WORK', zip: '12345' })
    expect(reverted.headers.get('Takeback-Unmapped')).toBe('o.old')
    await server.remove()
  })

  test('a number that became a decimal and then a text is read as it was, before and since', async () => {
    const declared = (n: any) => withAdmins({ things: entity({ fields: { n, m: integer({ default: 0 }) } }) })
    const server = new TestServer(store, declared(integer()))
    await server.start()
    const path = '/api/things/1/'
    await server.expect(201, 'POST', '/api/things/', { n: 1 })
    for (const scale of [2, 4]) {
      await server.restart(declared(decimal({ scale })))
      await server.expect(200, 'PATCH', path, { m: scale })
    }
    await server.restart(declared(text()))
    const now = () => server.expect(200, 'GET', path)
    const past = () => server.expect(200, 'GET', `${path}?at=2100-01-01T00:00:00Z`)
    expect([(await now()).n, await past()]).toEqual(['1.0000', await now()])
    expect((await check(await server.location())).findings).toEqual([])
    const versions: { version: number; n: string }[] = [await now()]
    const operations: string[] = []
    for (const n of ['1', '1.0', 'one', '1.00', '2']) {
      const patched = await server.call('PATCH', path, { body: { n } })
      expect(await past()).toEqual(patched.body)
      versions.push(patched.body)
      operations.push(operationOf(patched))
    }
    const { data } = await server.expect(200, 'GET', `${path}history/?limit=5`)
    expect(data.map(({ changed }: any) => [changed.n.from, changed.n.to]).reverse()).toEqual(
      versions.slice(1).map(({ n }, at) => [versions[at]?.n, n]),
    )
    for (const { version, n } of versions) {
      const reverted = await server.call('POST', `${path}revert/`, { body: { version } })
      expect([reverted.body.n, reverted.headers.get('Takeback-Unmapped')]).toEqual([n, null])
    }
    for (const operation of operations.reverse())
      await server.expect(200, 'POST', `/api/operations/${operation}/undo/`)
    expect((await now()).n).toBe('1.0000')
    for (const version of [1, 2, 3])
      expect((await server.expect(200, 'POST', `${path}revert/`, { version })).n).toBe('1.0000')
    await server.remove()
  })

  test('a default that a migration gave is converted by the next ones, in the past too', async () => {
    const declared = (more: any) =>
      withAdmins({ things: entity({ fields: { o: object({ a: integer(), ...more }), ...more } }) })
    const server = new TestServer(store, declared({}))
    await server.start()
    await server.expect(201, 'POST', '/api/things/', { o: { a: 1 } })
    const steps: [unknown, unknown][] = [
      [integer({ default: 5 }), 5],
      [decimal({ default: '7' }), '5.00'],
      [decimal({ scale: 3, default: '7' }), '5.000'],
      [text({ default: '8' }), '5.000'],
    ]
    for (const [x, value] of steps) {
      await server.restart(declared({ x }))
      const now = await server.expect(200, 'GET', '/api/things/1/')
      expect([now.x, now.o]).toEqual([value, { a: 1, x: value }])
      expect(await server.expect(200, 'GET', '/api/things/1/?at=2100-01-01T00:00:00Z')).toEqual(now)
      expect(await server.expect(200, 'POST', '/api/things/1/revert/', { version: 1 })).toEqual(now)
    }
    await server.remove()
  })

  test('conflicts are named in the same order on every database', async () => {
    const server = new TestServer(
      store,
      withAdmins({
        nodes: entity({ fields: { name: text({ unique: true }), near: ref('nodes', { optional: true }) } }),
        pins: entity({ fields: { on: list(ref('nodes')) } }),
      }),
    )
    await server.start()
    const made = await server.call('POST', '/api/nodes/', {
      body: [1, 2, 3, 4].map((n) => ({ name: `${n}` })),
    })
    for (const [at, near] of [4, 3, 1].entries())
      await server.expect(201, 'POST', '/api/nodes/', { name: `x${at}`, near: { id: near } })
    for (const on of [[4, 2, 3], [1]])
      await server.expect(201, 'POST', '/api/pins/', { on: on.map((id) => ({ id })) })
    const undone = await server.call('POST', `/api/operations/${operationOf(made)}/undo/`)
    expect(JSON.stringify(undone.body.errors)).toBe(
      JSON.stringify({
        'nodes/1': ['is referred to by nodes/7 in near.id', 'is referred to by pins/2 in on'],
        'nodes/2': ['is referred to by pins/1 in on'],
        'nodes/3': ['is referred to by nodes/6 in near.id', 'is referred to by pins/1 in on'],
        'nodes/4': ['is referred to by nodes/5 in near.id', 'is referred to by pins/1 in on'],
      }),
    )
    await server.remove()
  })

  const family = withAdmins({
    parents: entity({ fields: { name: text() } }),
    children: entity({ fields: { name: text(), parent: ref('parents', { onDelete: 'cascade' }) } }),
  })

  /** Creates a parent with one child made by the API, and some inserted directly. */
  async function withChildren(strangers: number): Promise<TestServer> {
    const server = new TestServer(store, family, { 'statement-timeout': '60' })
    await server.start()
    await server.expect(201, 'POST', '/api/parents/', { name: 'p' })
    await server.expect(201, 'POST', '/api/children/', { name: 'c', parent: { id: 1 } })
    await server.query(
      `INSERT INTO children (name, "parent.id", version, created_at, updated_at)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${strangers})
       SELECT 'c' || i, 1, 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' FROM n`,
    )
    return server
  }

  test('of what was not made by the API, no more is known than its deletion', async () => {
    const server = await withChildren(2)
    const deleted = await server.call('DELETE', '/api/parents/1/')
    const undone = await server.call('POST', `/api/operations/${operationOf(deleted)}/undo/`)
    expect(undone.status).toBe(409)
    await server.remove()
  })

  giant(
    `${CHILDREN} changes are taken back in one go`,
    async () => {
      const server = await withChildren(CHILDREN - 1)
      await server.query(
        `INSERT INTO takeback_journal (operation, at, entity, entity_id, version, kind, data)
         SELECT 'filled', '2026-01-01T00:00:00.000Z', 'children', id, 1, 'create',
           '{"id":' || id || ',"name":"' || name || '","parent":{"id":1},"version":1,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","deleted_at":null}'
         FROM children WHERE id > 1`,
      )
      const deleted = await server.call('DELETE', '/api/parents/1/')
      const undone = await server.call('POST', `/api/operations/${operationOf(deleted)}/undo/`)
      expect([undone.status, undone.body.total]).toEqual([200, CHILDREN + 1])
      expect((await server.expect(200, 'GET', '/api/children/?count=1&limit=1')).total).toBe(CHILDREN)
      await server.remove()
    },
    300_000,
  )
})
