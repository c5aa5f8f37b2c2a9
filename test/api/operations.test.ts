import { beforeAll, describe, expect, test } from 'bun:test'
import type { Bound } from '../../src/store/dialect.ts'
import { entity, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { giant, onEveryStore, type TestServer } from '../harness.ts'
import { planOf, recordStatements, valuesOf } from '../plans.ts'

const declaration = withAdmins({
  rooms: entity({ fields: { title: text() } }),
  visits: entity({ fields: { title: text() } }),
})

interface Change {
  readonly operation: string
  readonly at: string
  readonly actor: string
  readonly actorId: number
  readonly entity: string
  readonly kind: string
}

const OPERATIONS = 300
const START = Date.parse('2020-01-01T00:00:00Z')
const pick = (n: number) => Math.floor(Math.random() * n)
const timeAt = (n: number) => new Date(START + n * 1000).toISOString()

/** Random changes: few times and actors, so that many are equal; ids out of order; some with many changes. */
function makeChanges(): Change[] {
  return Array.from({ length: OPERATIONS }, (_, n): Change[] => {
    const operation = Bun.randomUUIDv7('hex', START + pick(100_000))
    const actorId = 1 + pick(3)
    const at = pick(40)
    return Array.from({ length: n % 20 === 0 ? 30 : 1 + pick(3) }, () => ({
      operation,
      // As if the operation took several transactions.
      at: timeAt(pick(10) === 0 ? at + pick(3) : at),
      actor: 'admins',
      actorId,
      entity: pick(3) === 0 ? 'rooms' : 'visits',
      kind: pick(4) === 0 ? 'delete' : 'create',
    }))
  }).flat()
}

async function fill(server: TestServer, changes: readonly Change[]): Promise<void> {
  await server.query('DELETE FROM "takeback_journal"')
  for (let from = 0; from < changes.length; from += 100) {
    const values = changes
      .slice(from, from + 100)
      .map(
        (one, n) =>
          `('${one.operation}', '${one.at}', '${one.actor}', ${one.actorId}, '${one.entity}', ${1000 + from + n}, 1, '${one.kind}', '{}')`,
      )
    await server.query(
      `INSERT INTO "takeback_journal" ("operation", "at", "actor", "actor_id", "entity", "entity_id", "version", "kind", "data") VALUES ${values.join(', ')}`,
    )
  }
}

interface OperationQuestion {
  readonly actor?: string
  readonly since?: string
  readonly until?: string
  readonly entity?: string
  readonly kind?: string
}

/** Returns the expected order: by the time of the newest change that matches, then by id. */
function wanted(
  changes: readonly Change[],
  { actor, since, until, entity, kind }: OperationQuestion,
): string[] {
  const times = new Map<string, string>()
  for (const one of changes) {
    if (actor !== undefined && actor !== `${one.actor}/${one.actorId}`) continue
    if (entity !== undefined && entity !== one.entity) continue
    if (kind !== undefined && kind !== one.kind) continue
    if ((since !== undefined && one.at < since) || (until !== undefined && one.at >= until)) continue
    if ((times.get(one.operation) ?? '') < one.at) times.set(one.operation, one.at)
  }
  const placed = [...times].map(([operation, at]) => `${at} ${operation}`).sort()
  return placed.reverse().map((text) => text.slice(25))
}

const maybe = <T>(value: T): T | undefined => (pick(2) === 0 ? undefined : value)

function anyQuestion(): OperationQuestion {
  const given = {
    actor: maybe(`admins/${1 + pick(4)}`),
    since: maybe(timeAt(pick(42))),
    until: maybe(timeAt(pick(42))),
    entity: maybe(['rooms', 'visits'][pick(2)]),
    kind: maybe(['create', 'delete', 'purge'][pick(3)]),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

onEveryStore('operations', declaration, (server) => {
  const changes = makeChanges()
  beforeAll(() => fill(server, changes))

  async function walk(asked: OperationQuestion, limit: number): Promise<string[]> {
    const found: string[] = []
    const query = new URLSearchParams({ ...asked, limit: String(limit) })
    for (;;) {
      const { data, next } = await server.expect(200, 'GET', `/api/operations/?${query}`)
      found.push(...data.map(({ id }: { id: string }) => id))
      expect(data.length).toBe(next === null ? data.length : limit)
      if (next === null) return found
      query.set('cursor', next)
    }
  }

  giant('every page of every question, newest first, each operation once', async () => {
    for (let round = 0; round < 40; round++) {
      const asked = anyQuestion()
      expect([asked, await walk(asked, 1 + pick(60))]).toEqual([asked, wanted(changes, asked)])
    }
  })

  test('since is part of what is asked for, until is not', async () => {
    const at = changes[0]?.at ?? ''
    const later = new Date(Date.parse(at) + 1).toISOString()
    const then = wanted(changes, { since: at, until: later })
    expect(then.length).toBeGreaterThan(0)
    expect(await walk({ since: at, until: later }, 200)).toEqual(then)
    expect(await walk({ since: at, until: at }, 200)).toEqual([])
    expect(await walk({ since: later }, 200)).toEqual(wanted(changes, { since: later }))
  })

  for (const cursor of ['x', changes[0]?.operation ?? '', Buffer.from('2020 x').toString('base64url')])
    test(`${cursor} is no cursor`, async () => {
      const { status, body } = await server.call('GET', `/api/operations/?cursor=${cursor}`)
      expect([status, body.errors]).toEqual([422, { cursor: ['is not a cursor of this list'] }])
    })

  describe('of many', () => {
    const postgres = (): boolean => server.context.store.structure.place.includes('postgres')
    beforeAll(async () => {
      const numbers = postgres()
        ? `(SELECT * FROM generate_series(1, 60000) n(i)) n`
        : `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) SELECT i FROM n) n`
      const at = postgres()
        ? `to_timestamp(1600000000 + i)`
        : `strftime('%Y-%m-%dT%H:%M:%fZ', 1600000000 + i, 'unixepoch')`
      await server.query(
        `INSERT INTO "takeback_journal" ("operation", "at", "actor", "actor_id", "entity", "entity_id", "version", "kind", "data")
          SELECT 'operation-' || (1000000 + i), ${at}, 'admins', 1 + i % 50, 'rooms', 100000 + i, 1, 'create', '{}' FROM ${numbers}`,
      )
      if (postgres()) await server.query('VACUUM ANALYZE "takeback_journal"')
    })

    const since = new Date(1_600_030_000_000).toISOString()
    const until = new Date(1_600_031_000_000).toISOString()
    const cursor = () => Buffer.from(`${until} ${Bun.randomUUIDv7()}`).toString('base64url')
    const questions: (() => Record<string, string>)[] = [
      () => ({}),
      () => ({ since }),
      () => ({ until }),
      () => ({ since, until }),
      () => ({ actor: 'admins/7' }),
      () => ({ actor: 'admins/7', since }),
      () => ({ actor: 'admins/7', until }),
      () => ({ actor: 'admins/7', since, until }),
      () => ({ actor: 'admins/7', since, until, entity: 'rooms' }),
      () => ({ entity: 'rooms' }),
      () => ({ actor: 'admins/7', cursor: cursor() }),
    ]
    for (const question of questions)
      test(`${Object.keys(question())} is read from the index, in its order`, async () => {
        const path = `/api/operations/?${new URLSearchParams(question())}`
        const asked = await recordStatements(server.context.store, () => server.expect(200, 'GET', path))
        const page = asked.find(({ statement }) => statement.text.includes('HAVING'))
        if (page === undefined) throw new Error('no page was asked for')
        const query = (text: string, ...values: Bound[]) => server.query(text, ...(values as string[]))
        const store = postgres() ? 'postgres' : 'sqlite'
        const plan = await planOf(store, query, page.statement.text, valuesOf(page))
        expect(plan).toMatch(
          /(SEARCH|SCAN) j USING COVERING INDEX takeback_journal:at|Backward using "takeback_journal:at"/,
        )
        expect(plan).not.toMatch(/TEMP B-TREE FOR GROUP BY|Seq Scan on takeback_journal|HashAggregate/)
        if (question().since !== undefined || question().until !== undefined)
          expect(plan).toMatch(
            /takeback_journal:at \(at[<>]|Index Cond: \(\(?\(?at [<>]|Index Cond: .*\bat [<>]/,
          )
      })
  })
})
