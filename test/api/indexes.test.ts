import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { AppDeclaration, EntityDeclaration } from '../../src/declare/define.ts'
import type { ListQuery } from '../../src/plan/read/list-query.ts'
import { system } from '../../src/plan/viewer/actor.ts'
import { app, choice, datetime, entity, integer, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { expectInvalid, isDeep, onEveryStoreByHand, TestServer } from '../harness.ts'

const index = [
  ['status', '-starts_at'],
  ['room.id', 'starts_at'],
  ['-note', 'created_at'],
  ['-updated_at'],
] as const
const declared = (more: Partial<EntityDeclaration>) =>
  withAdmins({
    rooms: entity({ fields: { title: text() } }),
    visits: entity({
      fields: {
        room: ref('rooms', { optional: true }),
        status: choice(['open', 'held', 'paid']),
        starts_at: datetime(),
        note: text({ optional: true }),
        guests: integer({ optional: true }),
      },
      ...more,
    }),
  })

const ROWS = isDeep ? 100_000 : 20_000

onEveryStoreByHand('declared indexes', (store) => {
  const server = new TestServer(store, declared({ index }))
  const explained = store === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'

  beforeAll(async () => {
    await server.start()
    const numbers =
      store === 'sqlite'
        ? `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})`
        : `WITH n(i) AS (SELECT * FROM generate_series(1, ${ROWS}))`
    const time =
      store === 'sqlite'
        ? "strftime('%Y-%m-%dT%H:%M:%fZ', 1700000000 + (i * 7919) % 50000, 'unixepoch')"
        : 'to_timestamp(1700000000 + (i * 7919) % 50000)'
    await server.query(
      `INSERT INTO visits (version, created_at, updated_at, status, starts_at, note)
      SELECT * FROM (${numbers} SELECT 1, ${time}, ${time},
        CASE i % 3 WHEN 0 THEN 'open' WHEN 1 THEN 'held' ELSE 'paid' END, ${time},
        CASE WHEN i % 5 > 0 THEN 'note ' || (i % 1000) END FROM n) x`,
    )
    await server.query('ANALYZE visits')
  })
  afterAll(() => server.remove())

  /** Returns the query plan for a list. */
  async function planOf(query: string): Promise<string> {
    const plan = server.context.plans.get('visits')
    if (plan === undefined) throw new Error('no plan')
    const given = new URLSearchParams(query)
    const errors = new Map()
    const { lists } = plan.view(system)
    const sort = lists.parseSort(given.get('sort') ?? 'id', errors)
    const cursor = given.get('cursor')
    const status = given.get('status')
    const parsed =
      status === null ? undefined : lists.equality({ path: 'status', text: status, at: 0 }, errors)
    const asked: ListQuery = {
      filters: parsed === undefined ? [] : [parsed],
      sort,
      after: cursor === null ? undefined : lists.parseCursor(cursor, sort, errors),
      trashed: 'without',
      fields: undefined,
      expand: undefined,
      limit: 20,
      at: undefined,
      search: undefined,
    }
    expect(errors.size).toBe(0)
    const { statement, params } = lists.page(asked)
    const values = statement.paramNames.map((name) => params[name] as string | number | null)
    const rows = await server.query(`${explained} ${statement.text}`, ...values)
    return rows.map((row) => Object.values(row).join(' ')).join('\n')
  }

  for (const query of [
    'status=open&sort=-starts_at',
    'status=open&sort=starts_at',
    'sort=-status,starts_at',
    'sort=room.id,starts_at',
    'sort=-note,created_at',
    'sort=note,-created_at',
    'sort=status,-starts_at',
    'sort=-updated_at',
    'sort=updated_at',
  ])
    test(`serve ${query}, page after page`, async () => {
      const first = await server.expect(200, 'GET', `/api/visits/?${query}`)
      const fine = (plan: string) => {
        expect(plan).toMatch(
          store === 'sqlite' ? /USING INDEX visits:\S+:sort/ : /Index Scan.*"visits:\S+:sort"/,
        )
        expect(plan).not.toMatch(/Sort Key|TEMP B-TREE/)
      }
      fine(await planOf(query))
      const again = `${query}&cursor=${first.next}`
      const second = await server.expect(200, 'GET', `/api/visits/?${again}`)
      fine(await planOf(again))
      const whole = await server.expect(200, 'GET', `/api/visits/?${query}&limit=40`)
      expect([...first.data, ...second.data]).toEqual(whole.data)
    })

  test('a page behind a cursor begins where it stands', async () => {
    const { next } = await server.expect(200, 'GET', '/api/visits/?status=open&sort=-starts_at&limit=200')
    const plan = await planOf(`status=open&sort=-starts_at&cursor=${next}`)
    expect(plan).toMatch(
      store === 'sqlite' ? /status=\? AND starts_at<\?/ : /Index Cond: .*status.*ROW\(starts_at, id\) < /,
    )
  })
})

onEveryStoreByHand('an index that is declared later', (store) => {
  const servers: TestServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.remove())))
  async function started(declaration: AppDeclaration): Promise<TestServer> {
    const server = new TestServer(store, declaration)
    servers.push(server)
    await server.start()
    return server
  }
  const indexes = async (server: TestServer) =>
    (
      await server.query(
        store === 'sqlite'
          ? "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name LIKE '%visits'"
          : "SELECT indexname AS name FROM pg_indexes WHERE tablename LIKE '%visits'",
      )
    ).map(({ name }) => String(name))
  const sorts = async (server: TestServer) => (await indexes(server)).filter((name) => name.endsWith('sort'))

  test('comes, goes, and follows what is renamed', async () => {
    const server = await started(declared({}))
    const before = await indexes(server)
    await server.expect(201, 'POST', '/api/visits/', { status: 'open', starts_at: '2026-01-01T00:00:00Z' })
    await server.restart(declared({ index: [['status', '-starts_at']] }))
    expect(await sorts(server)).toEqual(['visits:status+-starts_at:sort'])
    await server.restart(declared({ index: [['-status', 'starts_at']] }))
    expect(await sorts(server)).toEqual(['visits:-status+starts_at:sort'])
    await server.restart(
      withAdmins({
        rooms: entity({ fields: { title: text() } }),
        old_visits: entity({
          was: 'visits',
          fields: {
            room: ref('rooms', { optional: true }),
            state: choice(['open', 'held', 'paid'], { was: 'status' }),
            starts_at: datetime(),
            note: text({ optional: true }),
            guests: integer({ optional: true }),
          },
          index: [['-state', 'starts_at']],
        }),
      }),
    )
    expect(await sorts(server)).toEqual(['old_visits:-state+starts_at:sort'])
    expect((await server.expect(200, 'GET', '/api/old_visits/?sort=-state,starts_at')).data).toHaveLength(1)
    const other = await started(declared({ index: [['note']] }))
    await other.restart(declared({}))
    expect((await indexes(other)).sort()).toEqual(before.sort())
  })

  test('what was empty in the past is found there, though it cannot be empty now', async () => {
    const server = await started(declared({}))
    for (const status of ['open', 'held', 'paid'])
      await server.expect(201, 'POST', '/api/visits/', { status, starts_at: '2026-01-01T00:00:00Z' })
    const at = new Date(Date.now() + 1).toISOString()
    await Bun.sleep(5)
    const { visits } = declared({}).entities
    const fields = { ...visits.fields, level: integer({ default: 1 }) }
    await server.restart(
      app({ admins: 'admins', entities: { ...declared({}).entities, visits: { fields } } }),
    )
    await server.expect(200, 'PATCH', '/api/visits/2/', { level: 2 })
    const seen: number[] = []
    for (let next: string | null = ''; next !== null; ) {
      const page: { data: { id: number }[]; next: string | null } = await server.expect(
        200,
        'GET',
        `/api/visits/?at=${at}&sort=-level&limit=1${next === '' ? '' : `&cursor=${next}`}`,
      )
      seen.push(...page.data.map(({ id }) => id))
      next = page.next
    }
    expect(seen).toEqual([3, 2, 1])
  })

  test('names of many long columns do not meet', async () => {
    const long = (letter: string) => letter.repeat(50)
    const fields = { [long('a')]: integer(), [long('b')]: integer(), c: integer() }
    const declaration = withAdmins({
      visits: entity({
        fields,
        index: [[long('a'), long('b')], [long('a'), `-${long('b')}`], [long('a'), 'c'], [`-${long('a')}`]],
      }),
    })
    const server = await started(declaration)
    const names = await indexes(server)
    expect(new Set(names).size).toBe(store === 'sqlite' ? 5 : 6)
    for (const name of names) expect(Buffer.byteLength(name)).toBeLessThan(63)
  })

  test('texts in it are as long as every index takes', async () => {
    const server = await started(declared({}))
    const visit = (bytes: number) => ({
      status: 'open',
      starts_at: '2026-01-01T00:00:00Z',
      note: Array.from({ length: bytes }, () => String.fromCharCode(97 + Math.random() * 26)).join(''),
    })
    await server.expect(201, 'POST', '/api/visits/', visit(9000))
    const refused = await server.restart(declared({ index: [['note']] })).then(
      () => 'started',
      (error: Error) => error.message,
    )
    expect(refused).toContain('visits.note is indexed now')
    expect(refused).toContain('1 visit (visits/1)')
    await server.restart(declared({}))
    await server.expect(200, 'PATCH', '/api/visits/1/', { note: 'short' })
    await server.restart(declared({ index: [['note']] }))
    await server.expect(201, 'POST', '/api/visits/', visit(2600))
    expectInvalid(await server.call('POST', '/api/visits/', { body: visit(2601) }), {
      note: ['must have at most 2600 bytes, since it is indexed'],
    })
  })
})
