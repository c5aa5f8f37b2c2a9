import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Placement } from '../../src/store/sqlite/placement.ts'
import { choice, datetime, entity, integer, list, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, giant, onEveryStoreByHand, onStore, TestServer } from '../harness.ts'
import { recordStatements } from '../plans.ts'
import { isDeep } from '../runs.ts'

const declaration = withAdmins({
  companies: entity({ fields: { name: text() } }),
  users: entity({
    login: { userType: 'user' },
    fields: { company: ref('companies', { optional: true }) },
    access: { read: 'id == me.id' },
  }),
  visits: entity({
    fields: {
      company: ref('companies', { as: 'visits' }),
      status: choice(['open', 'held']),
      starts_at: datetime(),
      guests: integer(),
      note: text({ search: true }),
      marks: list(integer(), { default: [] }),
      essay: text({ max: 10_000, optional: true }),
    },
    access: { read: 'company.id == me.company.id' },
    index: [['status', '-starts_at'], ['-starts_at']],
  }),
  // Small enough that a full scan does not matter.
  colours: entity({ fields: { name: text() } }),
})

const VISITS = 30_000
const NOTE = "'the word ' || i"

/** With `long`, rows have texts that take long to search. */
function fill(server: TestServer, sqlite: boolean, long: boolean): Promise<unknown> {
  const numbers = sqlite
    ? `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${VISITS})`
    : `WITH n(i) AS (SELECT * FROM generate_series(1, ${VISITS}))`
  const essay = !long ? 'NULL' : sqlite ? `replace(hex(zeroblob(2000)), '0', 'a')` : `repeat('a', 4000)`
  const json = (value: string) => (sqlite ? value : `${value}::json`)
  return server.query(
    `INSERT INTO "visits" ("version", "created_at", "updated_at", "company.id", "status", "starts_at", "guests", "note", "note~", "marks", "essay")
      SELECT * FROM (${numbers} SELECT 1, ${timeOf(sqlite)}, ${timeOf(sqlite)}, 1 + i % 3, CASE i % 2 WHEN 0 THEN 'open' ELSE 'held' END,
        ${timeOf(sqlite)}, i % 20, ${NOTE}, ' ' || ${NOTE} || ' ', ${json("'[1,2]'")}, ${essay} FROM n) x`,
  )
}

const timeOf = (sqlite: boolean) =>
  sqlite
    ? "strftime('%Y-%m-%dT%H:%M:%fZ', 1700000000 + (i * 7919) % 50000, 'unixepoch')"
    : 'to_timestamp(1700000000 + (i * 7919) % 50000)'

async function begin(server: TestServer, sqlite: boolean, long = false): Promise<string> {
  await server.start()
  for (const name of ['A', 'B', 'C']) await server.expect(201, 'POST', '/api/companies/', { name })
  for (const name of ['red', 'blue']) await server.expect(201, 'POST', '/api/colours/', { name })
  await fill(server, sqlite, long)
  if (!sqlite) await server.query('ANALYZE')
  const { token } = await server.user('users', { email: 'ann@example.com', company: { id: 1 } })
  return token
}

/** Reads with unbounded cost. */
const unbounded = [
  '/api/visits/?filter=guests > 100',
  '/api/visits/?filter=guests > 100 %26%26 id > 5',
  '/api/visits/?sort=guests',
  '/api/visits/?sort=note&limit=1',
  '/api/visits/?count=1&filter=guests == 3',
  '/api/visits/?count=1',
  '/api/visits/?search=word',
  '/api/visits/?search=wor&sort=guests',
  '/api/visits/?filter=note.contains("x")',
  '/api/visits/?filter=note.matches("x$")',
  '/api/visits/?filter=marks.exists(m, m > 7)',
  '/api/visits/?filter=company.name == "X" || guests > 100',
  '/api/visits/?status=open&sort=guests',
  '/api/visits/?trashed=with&sort=note',
  '/api/visits/?at=2030-01-01T00:00:00Z',
  '/api/visits/summary/?count=1&group=status',
  '/api/visits/summary/?sum=guests',
  '/api/companies/?expand=visits&sort=name',
]

/** Reads with bounded cost, which use an index. */
const bounded = [
  '/api/visits/',
  '/api/visits/?limit=200',
  '/api/visits/?fields=id,note',
  '/api/visits/?expand=company',
  '/api/visits/?sort=-starts_at',
  '/api/visits/?sort=starts_at&limit=7',
  '/api/visits/7/',
  '/api/visits/7/?expand=company',
  '/api/companies/1/',
  '/api/auth/me',
  '/api/health',
  '/api/colours/?sort=name',
  '/api/colours/?filter=name.contains("e")&count=1',
]

onStore('sqlite', 'where reads run', declaration, (server) => {
  let token = ''
  beforeAll(async () => {
    token = await begin(server, true)
  })

  /** Returns, for each statement of a request, whether it leaves the server's own connection. */
  async function awayOf(path: string, sent: { token?: string } = {}): Promise<boolean[]> {
    const asked = await recordStatements(server.context.store, () =>
      server.expect(200, 'GET', path, undefined, sent),
    )
    const database = new Database(join(server.folder, 'test.db'), { readonly: true })
    database.function('takeback_matches', (text, pattern) => (text === pattern ? 1 : 0))
    try {
      const placement = new Placement(database)
      return asked.map(({ statement }) => placement.of(statement).away)
    } finally {
      database.close()
    }
  }

  for (const path of unbounded)
    test(`${path} leaves it`, async () => expect(await awayOf(path)).toContain(true))

  for (const path of bounded)
    test(`${path} stays on it`, async () => expect(await awayOf(path)).not.toContain(true))

  test('the pages of a list stay on it, up to the last', async () => {
    const { next } = await server.expect(200, 'GET', '/api/visits/?limit=200')
    expect(await awayOf(`/api/visits/?limit=200&cursor=${next}`)).not.toContain(true)
  })

  test('a member is identified on it, whatever is read then', async () => {
    server.context.identities.forget()
    const [first] = await awayOf('/api/visits/?filter=guests > 100', { token })
    expect(first).toBe(false)
  })

  test('what an index leads to comes back to it once it has turned out to be quick', async () => {
    const database = new Database(join(server.folder, 'test.db'), { readonly: true })
    const all = await recordStatements(server.context.store, () =>
      server.expect(200, 'GET', '/api/companies/1/?expand=visits'),
    )
    // The server may run its own statements at any time.
    const asked = all.find(({ statement }) => statement.text.includes('"visits"'))
    if (asked === undefined) throw new Error('nothing was asked for')
    const place = new Placement(database).of(asked.statement)
    const states: boolean[] = []
    const run = (ms: number, times: number) => {
      for (let at = 0; at < times; at++) place.took(ms)
      states.push(place.away)
    }
    run(0, 0)
    run(0.1, 20)
    run(1000, 1)
    run(0.1, 8)
    run(0.1, 100)
    database.close()
    expect(states).toEqual([true, false, true, true, false])
  })
})

/** Returns the reader processes that this process has started. */
function readersOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' '))
    .filter((child) => child !== '' && readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('reader.ts'))
    .map(Number)
}

onStore('sqlite', 'readers', declaration, (server) => {
  beforeAll(() => begin(server, true))
  const slow = '/api/visits/?filter=guests > 100&sort=note'

  test('they see whatever was answered before', async () => {
    for (let at = 1; at <= (isDeep ? 10 : 3); at++) {
      const guests = 1000 + at
      const body = {
        company: { id: 1 },
        status: 'open',
        starts_at: '2027-01-01T00:00:00Z',
        guests,
        note: 'x',
      }
      const created = await Promise.all([1, 2].map(() => server.expect(201, 'POST', '/api/visits/', body)))
      const path = `/api/visits/?filter=guests == ${guests}&sort=note`
      const { data } = await server.expect(200, 'GET', path)
      expect(data.map(({ id }: { id: number }) => id).sort()).toEqual(created.map(({ id }) => id).sort())
      await server.expect(200, 'DELETE', `/api/visits/${created[0].id}/`)
      expect((await server.expect(200, 'GET', path)).data).toHaveLength(1)
    }
    expect(readersOf(process.pid).length).toBeGreaterThan(0)
  })

  giant('one that dies takes its own read with it, and nothing else', async () => {
    for (let round = 0; round < 3; round++) {
      const asked = Promise.all(Array.from({ length: 8 }, () => server.call('GET', slow)))
      await Bun.sleep(20)
      for (const pid of readersOf(process.pid)) process.kill(pid, 'SIGKILL')
      const statuses = (await asked).map(({ status, headers }) => [status, headers.get('retry-after')])
      for (const [status, retry] of statuses)
        expect([status, retry]).toEqual(status === 200 ? [200, null] : [503, '1'])
      await server.expect(200, 'GET', slow)
    }
  })

  test('signals that are meant for the server do not end them', async () => {
    await server.expect(200, 'GET', slow)
    const before = readersOf(process.pid)
    for (const pid of before) for (const signal of ['SIGTERM', 'SIGINT'] as const) process.kill(pid, signal)
    await server.expect(200, 'GET', slow)
    expect(readersOf(process.pid)).toEqual(before)
  })

  test('what is purged leaves the log, however much is read meanwhile', async () => {
    let reading = true
    const read = async () => {
      while (reading) await server.call('GET', slow)
    }
    const clients = Array.from({ length: 6 }, read)
    const { id } = await server.expect(201, 'POST', '/api/colours/', { name: 'canary-in-the-log' })
    await server.expect(200, 'DELETE', `/api/colours/${id}/`)
    await server.expect(204, 'DELETE', `/api/colours/${id}/?purge=1`)
    const log = join(server.folder, 'test.db-wal')
    // Calls are counted in the database, so the log is never empty for long.
    await eventually(() => !readFileSync(log).includes('canary-in-the-log'))
    reading = false
    await Promise.all(clients)
  })
})

onEveryStoreByHand('a read that takes too long', (store) => {
  let server: TestServer
  beforeAll(async () => {
    // Filled by a server with a longer timeout.
    const patient = new TestServer(store, declaration)
    await begin(patient, store === 'sqlite', true)
    await patient.stop()
    const database = await patient.database()
    server = new TestServer(store, declaration, { 'statement-timeout': '0.3' }, database)
    server.adminToken = patient.adminToken
    await server.start()
  })
  afterAll(() => server.remove())
  const parts = Array.from({ length: 10 }, (_, at) => `essay.lowerAscii().contains("zz${at}")`)
  const path = `/api/visits/?count=1&filter=${encodeURIComponent(parts.join(' || '))}`

  test('is 503, again and again, and others are answered', async () => {
    for (let round = 0; round < 3; round++) {
      const late = Promise.all([server.call('GET', path), server.call('GET', path)])
      for (const other of ['/api/visits/7/', '/api/health'])
        await eventually(async () => (await server.call('GET', other)).status === 200)
      for (const { status, body, headers } of await late) {
        expect([status, body.code]).toEqual([503, 'unavailable'])
        expect(headers.get('retry-after')).toBe('1')
      }
    }
    await eventually(async () => (await server.call('GET', '/api/visits/')).status === 200)
  })
})
