import { expect, test } from 'bun:test'
import { entity, integer, object, ref, text } from '../../src/takeback.ts'
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
