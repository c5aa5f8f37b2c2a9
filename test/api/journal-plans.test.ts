import { afterAll, beforeAll, expect, test } from 'bun:test'
import { listOperations, operations } from '../../src/api/past/operations.ts'
import { Query } from '../../src/api/query.ts'
import { system } from '../../src/plan/viewer/actor.ts'
import type { Bound } from '../../src/store/dialect.ts'
import { app, entity, text } from '../../src/takeback.ts'
import { onEveryStoreByHand, TestServer } from '../harness.ts'
import { planOf, recordStatements, scansIn, valuesOf } from '../plans.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    notes: entity({ fields: { title: text() } }),
  },
})

const ROWS = 20_000

/** Fills the journal so that one of a thousand operations is by a key. */
const fill = (
  hex: string,
) => `WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${ROWS})
  INSERT INTO takeback_journal (operation, at, actor, actor_id, entity, entity_id, version, kind, data, via)
  SELECT ${hex}, (SELECT max(at) FROM takeback_journal), 'admins', 1, 'notes', n, 1, 'create', '{}',
    CASE WHEN n % 1000 = 0 THEN 'keys/7' END FROM s`
const hexes: Record<string, string> = {
  sqlite: `printf('%08x-0000-7000-8000-000000000000', n)`,
  postgres: `lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000'`,
}

onEveryStoreByHand('a long journal', (store) => {
  const server = new TestServer(store, declaration)
  beforeAll(async () => {
    await server.start()
    await server.query(fill(hexes[store] ?? ''))
    await server.query('ANALYZE')
  })
  afterAll(() => server.remove())

  const plansOf = async (goOn: () => Promise<unknown>) => {
    const all = await recordStatements(server.context.store, goOn)
    // Without the statement that reads the greatest number: it only looks at the end of an index.
    const asked = all.filter(({ statement }) => !statement.text.includes('"takeback_meta"'))
    const query = (text: string, ...values: Bound[]) => server.query(text, ...(values as string[]))
    const plans: string[] = []
    for (const one of asked) plans.push(await planOf(store, query, one.statement.text, valuesOf(one)))
    return plans
  }

  test('is followed by its indexes', async () => {
    const { feed } = server.context
    const start = await feed.start()
    for (const entities of [undefined, ['notes']]) {
      const plans = await plansOf(() => feed.after(start, { limit: 10, entities }))
      expect(plans.length).toBeGreaterThan(1)
      for (const plan of plans)
        expect([scansIn(plan, ['takeback_journal', 'j', 'k', 'x', 'b']), plan]).toEqual([[], plan])
    }
  })

  test('has the operations of a key by their own index', async () => {
    const query = new Query([['actor', 'keys/7']], listOperations.takes)
    let found = ''
    const [plan] = await plansOf(async () => {
      found = (await operations(server.context, system, query)).body ?? ''
    })
    expect(JSON.parse(found).data).toHaveLength(20)
    expect(plan).toContain('takeback_journal:via')
  })
})
