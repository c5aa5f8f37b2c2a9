import { expect, test } from 'bun:test'
import { resolve } from '../../src/declare/resolve.ts'
import { graph } from '../declarations.ts'
import { FULL_POOL, isDeep, onEveryStore, type TestServer } from '../harness.ts'
import { linksAstray } from '../links.ts'

const { edges } = resolve(graph)
const TYPES = ['companies', 'people', 'papers'] as const
const CLIENTS = 12
const MOVES = isDeep ? 40 : 24

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)] as T

onEveryStore('many at once on the same graph', graph, testRaces, FULL_POOL)

function testRaces(server: TestServer): void {
  test('create, change, delete, restore and undo: no 5xx, and all that is left is sound', async () => {
    const ids: Record<string, number[]> = { companies: [], people: [], papers: [] }
    const operations: string[] = []
    const statuses = new Map<number, number>()
    let serial = 0

    async function call(method: string, path: string, body?: object): Promise<any> {
      const received = await server.call(method, path, body === undefined ? {} : { body })
      statuses.set(received.status, (statuses.get(received.status) ?? 0) + 1)
      if (received.status >= 500) throw new Error(`${method} ${path}: ${received.status} ${received.text}`)
      const operation = received.headers.get('Takeback-Operation')
      if (operation !== null) operations.push(operation)
      return received.body
    }
    const target = (type: string) => ({ id: pick(ids[type] ?? []) })
    const some = (type: string) =>
      [...new Set([pick(ids[type] ?? []), pick(ids[type] ?? [])])].map((id) => ({ id }))
    async function create(): Promise<void> {
      const type = pick(TYPES)
      const name = `n${serial++ % 40}`
      const people = (ids.people?.length ?? 0) > 0 && Math.random() < 0.7
      const made = await call(
        'POST',
        `/api/${type}/`,
        type === 'papers'
          ? {
              title: name,
              meta: people ? { reviewer: target('people') } : {},
              ...(people && { author: target('people'), signers: some('people') }),
            }
          : type === 'people'
            ? { name, ...(people && { boss: target('people'), twin: target('people') }) }
            : { name, ...(people && { lead: target('people') }) },
      )
      if (made.id !== undefined) ids[type]?.push(made.id)
    }
    async function move(): Promise<void> {
      const type = pick(TYPES)
      const id = pick(ids[type] ?? [])
      if (id === undefined) return create()
      const path = `/api/${type}/${id}/`
      const chance = Math.random()
      if (chance < 0.15) return create()
      if (chance < 0.35)
        return call(
          'PATCH',
          path,
          type === 'people'
            ? Math.random() < 0.5
              ? { mentor: target('people') }
              : { friends: some('people') }
            : { [type === 'papers' ? 'title' : 'name']: `n${serial++ % 40}` },
        )
      if (chance < 0.55) return call('DELETE', path)
      if (chance < 0.75) return call('DELETE', `${path}?restore=1`)
      if (chance < 0.8) return call('POST', `${path}revert/`, { version: 1 })
      const flags = Math.random() < 0.3 ? '?skip_conflicts=1' : ''
      return call('POST', `/api/operations/${pick(operations.slice(-20))}/undo/${flags}`)
    }

    for (let n = 0; n < 20; n++) await create()
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        for (let n = 0; n < MOVES; n++) await move()
      }),
    )
    expect(statuses.get(200) ?? 0).toBeGreaterThan(50)

    for (const { from, column, to, list } of edges) {
      const target =
        list === undefined
          ? `t.id = f."${column}"`
          : `t.id IN (SELECT l.target FROM "${list.links}" l WHERE l.source = f.id)`
      expect(
        await server.query(
          `SELECT f.id FROM "${from}" f JOIN "${to}" t ON ${target} WHERE f.deleted_at IS NULL AND t.deleted_at IS NOT NULL`,
        ),
      ).toEqual([])
    }
    expect(await linksAstray(server, graph)).toEqual([])
    // Each version was made from the one before, so there is an order that explains all of them.
    expect(
      await server.query(
        'SELECT entity, entity_id FROM takeback_journal GROUP BY entity, entity_id HAVING max(version) <> count(*)',
      ),
    ).toEqual([])
    for (const type of TYPES) {
      const { data } = await server.expect(200, 'GET', `/api/${type}/?trashed=with&limit=200`)
      for (const { deletion: _, ...one } of data) {
        const [row] = await server.query(
          'SELECT data FROM takeback_journal WHERE entity = $1 AND entity_id = $2 ORDER BY version DESC LIMIT 1',
          type,
          one.id,
        )
        expect(JSON.parse(String(row?.data))).toEqual(one)
      }
    }
  })
}
