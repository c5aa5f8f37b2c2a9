import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { Feed, type FeedOperation, type FeedPage } from '../../src/journal/feed.ts'
import { isPosition, type Position, PositionGone } from '../../src/journal/position.ts'
import { compileFeed } from '../../src/plan/past/feed.ts'
import type { Store } from '../../src/store/store.ts'
import { entity, integer, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, FULL_POOL, onEveryStore, onStore, type TestServer } from '../harness.ts'

const declaration = withAdmins({
  notes: entity({
    fields: {
      title: text(),
      count: integer({ default: 0 }),
      about: ref('notes', { optional: true, onDelete: 'cascade' }),
    },
  }),
  tags: entity({ fields: { name: text() } }),
})

/** Returns all pages after a position, as far as they can be read now. */
async function readAll(feed: Feed, from: Position, limit = 7, entities?: readonly string[]) {
  const operations: FeedOperation[] = []
  let page: FeedPage = { operations: [], next: from, more: true, pending: false }
  while (page.more) {
    page = await feed.after(page.next, { limit, entities })
    expect(page.operations.length).toBeLessThanOrEqual(limit)
    operations.push(...page.operations)
  }
  return { operations, next: page.next, pending: page.pending }
}

const ids = (operations: readonly FeedOperation[]) => operations.map(({ id }) => id)

/** A feed that reads to the end of the journal, even if other transactions are still open. */
const hasty = (store: Store): Feed => {
  const settled = async (last: number) => last
  const read: Store['read'] = (statement, params) => store.read(statement, params)
  return new Feed({ read, settled } as Store, compileFeed(store.dialect))
}

/** Inserts changes into the journal, past the server. */
function journalled(server: TestServer, operation: string, type: string, rows: number, first?: number) {
  const seq = first === undefined ? ['', ''] : ['seq, ', `${first} + n.n * 2, `]
  return server.query(
    `WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < ${rows - 1})
    INSERT INTO takeback_journal (${seq[0]}operation, at, entity, entity_id, version, kind, data)
    SELECT ${seq[1]}'${operation}', (SELECT max(at) FROM takeback_journal), '${type}',
      (SELECT coalesce(max(entity_id), 0) FROM takeback_journal WHERE entity = '${type}') + 1 + n.n, 1, 'create', '{"title":"by hand"}' FROM n`,
  )
}

onEveryStore('a server that has just started', declaration, (server) => {
  test('answers hundreds of reads at once, however long the journal is', async () => {
    await journalled(server, 'by-hand', 'tags', 3000)
    await server.restart()
    const answers = await Promise.all(Array.from({ length: 400 }, () => server.call('GET', '/api/notes/')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ headers }) => headers.get('Takeback-Position'))).size).toBe(1)
  })
})

onEveryStore('the feed', declaration, (server) => {
  const add = (body: object) => server.call('POST', '/api/notes/', { body })
  const operationOf = ({ headers }: { headers: Headers }) => headers.get('Takeback-Operation')

  test('has every operation behind a position, with its changes as they then stood', async () => {
    const { feed } = server.context
    const from = await feed.now()
    const made = await add({ title: 'a' })
    const { id } = made.body
    const child = await add({ title: 'child', about: { id } })
    const changed = await server.call('PATCH', `/api/notes/${id}/`, { body: { title: 'b' } })
    const gone = await server.call('DELETE', `/api/notes/${id}/`)
    const { operations, next } = await readAll(feed, from)
    expect(ids(operations)).toEqual([made, child, changed, gone].map((one) => operationOf(one) ?? ''))
    const [, , update, removal] = operations
    expect(update).toMatchObject({ actor: 'admins/1', at: changed.body.updated_at, rest: null })
    const [change] = update?.changes ?? []
    expect(change).toMatchObject({ entity: 'notes', id, version: 2, kind: 'update' })
    expect(JSON.parse(change?.data ?? '')).toEqual(changed.body)
    expect(JSON.parse(change?.before ?? '')).toEqual(made.body)
    const taken = removal?.changes.map((one) => `${one.kind} ${one.entity}/${one.id}`)
    expect(taken?.sort()).toEqual([`delete notes/${child.body.id}`, `delete notes/${id}`].sort())
    // From each operation's position on, the feed has the operations after it.
    for (const [at, one] of operations.entries())
      expect(ids((await readAll(feed, one.position)).operations)).toEqual(ids(operations.slice(at + 1)))
    expect(await feed.after(next, { limit: 5 })).toMatchObject({ operations: [], next, more: false })
  })

  test('is read in pages in which no operation is cut', async () => {
    const { feed } = server.context
    const from = await feed.now()
    const sizes = [1, 3, 1, 250, 2, 900, 1, 400, 1]
    const made: (string | null)[] = []
    for (const size of sizes) {
      const body = Array.from({ length: size }, (_, at) => ({ name: `${at}` }))
      made.push(operationOf(await server.call('POST', '/api/tags/', { body })))
    }
    for (const limit of [1, 2, 100]) {
      const { operations } = await readAll(feed, from, limit)
      expect(operations.map(({ changes }) => changes.length)).toEqual(sizes)
      expect(ids(operations)).toEqual(made.map(String))
    }
  })

  test('gives one that is larger than an answer in parts, and what is beside it once', async () => {
    const { feed } = server.context
    const from = await feed.now()
    const [row] = await server.query('SELECT max(seq) AS last FROM takeback_journal')
    const first = Number(row?.last) + 10
    const [large, beside] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()]
    // Their numbers alternate, like those of two concurrent operations.
    await journalled(server, beside, 'tags', 700, first)
    await journalled(server, large, 'tags', 25_000, first + 1)
    const last = Bun.randomUUIDv7()
    await journalled(server, last, 'tags', 1, first + 60_000)
    if (server.context.store.dialect.lock !== undefined)
      await server.query(
        `SELECT setval(pg_get_serial_sequence('takeback_journal', 'seq'), ${first + 60_000})`,
      )
    const { operations } = await readAll(feed, from, 100)
    expect(ids(operations)).toEqual([beside, large, last])
    expect(operations.map(({ changes, rest }) => [changes.length, rest !== null])).toEqual([
      [700, false],
      [1000, true],
      [1, false],
    ])
    const [, part] = operations
    const entities = part?.changes.map(({ id }) => id) ?? []
    for (let rest = part?.rest ?? null; rest !== null; ) {
      const more = await feed.changes(large, rest)
      entities.push(...more.changes.map(({ id }) => id))
      rest = more.rest
    }
    expect(entities).toHaveLength(25_000)
    expect(new Set(entities).size).toBe(25_000)
    await server.query(`DELETE FROM takeback_journal WHERE seq >= ${first} AND operation <> '${last}'`)
  })

  test('of some types has their changes alone, from the same positions', async () => {
    const { feed } = server.context
    const from = await feed.now()
    const batch = (...bodies: [string, object][]) =>
      server.expect(
        200,
        'POST',
        '/api/batch/',
        bodies.map(([name, body]) => ({ method: 'POST', path: `/api/${name}/`, body })),
      )
    await add({ title: 'one' })
    await batch(['tags', { name: 'x' }], ['notes', { title: 'two' }])
    await batch(['notes', { title: 'three' }], ['tags', { name: 'y' }])
    await server.expect(201, 'POST', '/api/tags/', { name: 'z' })
    const all = await readAll(feed, from)
    const notes = await readAll(feed, from, 7, ['notes'])
    expect(notes.operations.map(({ changes }) => changes.map(({ entity }) => entity))).toEqual([
      ['notes'],
      ['notes'],
      ['notes'],
    ])
    expect(notes.operations.map(({ position }) => position)).toEqual(
      all.operations.slice(0, 3).map(({ position }) => position),
    )
    expect(notes.next).toBe(all.next)
    expect((await readAll(feed, from, 7, ['admins'])).operations).toEqual([])
  })

  test('refuses positions that it cannot go on from', async () => {
    const { feed } = server.context
    const position = await feed.now()
    const [incarnation, seq] = position.split('-')
    const other = `${incarnation === '0'.repeat(12) ? 1 : 0}`.repeat(12)
    for (const gone of [`${other}-${seq}`, `${incarnation}-${Number(seq) + 1}`]) {
      if (!isPosition(gone)) throw new Error(`${gone} looks unlike a position`)
      await expect(feed.after(gone, { limit: 1 })).rejects.toThrow(PositionGone)
    }
    for (const wrong of ['', seq ?? '', `${position}x`, ` ${position}`, '*-1'])
      expect([wrong, isPosition(wrong)]).toEqual([wrong, false])
  })

  test('has cursors that one reader moves at a time', async () => {
    const { feed, cursors } = server.context
    const from = await cursors.at('webhooks')
    await add({ title: 'for the cursor' })
    expect(await cursors.at('webhooks')).toBe(from)
    const { next } = await readAll(feed, from)
    const moved = await Promise.all(Array.from({ length: 5 }, () => cursors.move('webhooks', from, next)))
    expect(moved.filter((done) => done)).toHaveLength(1)
    expect(await cursors.at('webhooks')).toBe(next)
    expect(await cursors.move('webhooks', from, next)).toBe(false)
    expect(await cursors.move('nobody made it', from, next)).toBe(false)
    // If several callers create a cursor at once, they get the same one.
    const begun = await Promise.all(Array.from({ length: 5 }, () => cursors.at('reactions')))
    expect(new Set(begun).size).toBe(1)
  })

  test('tells how far it is behind', async () => {
    await eventually(async () => (await server.context.feed.lag()) === 0)
    const { feed } = await server.expect(200, 'GET', '/api/health/details')
    expect(feed).toEqual({ lag_ms: expect.any(Number) })
  })
})

const WRITERS = 10
const HOT = 5

onEveryStore('a reader that follows ten writers', declaration, testReader, FULL_POOL)

function testReader(server: TestServer): void {
  test('sees each operation once, whole, and the versions of each Entity in their order', async () => {
    const { feed, store } = server.context
    for (let at = 0; at < HOT; at++) await server.expect(201, 'POST', '/api/notes/', { title: `${at}` })
    const hand = store.dialect.lock === undefined ? undefined : new SQL(await server.databaseUrl())
    const from = await feed.start()
    let writing = true
    const writers = Array.from({ length: WRITERS }, (_, at) =>
      hand !== undefined && at % 3 === 0 ? writeByHand(hand, 25) : write(server, 25),
    )
    const done = Promise.all(writers).finally(() => {
      writing = false
    })
    const seen: FeedOperation[] = []
    const late: { position: Position; written: string }[] = []
    let next = from
    for (let rest = true; rest; ) {
      rest = writing
      // In small pages: operations that commit meanwhile may have lower numbers than those already read.
      const page = await readAll(feed, next, 1 + Math.floor(Math.random() * 20))
      seen.push(...page.operations)
      next = page.next
      if (rest && Math.random() < 0.2) {
        const position = await feed.now()
        const { headers } = await server.call('POST', '/api/tags/', { body: { name: 'behind now' } })
        late.push({ position, written: String(headers.get('Takeback-Operation')) })
      }
      rest ||= page.pending
      await Bun.sleep(1)
    }
    await done
    await hand?.close()
    const rows = await server.query(
      'SELECT operation, count(*) AS n FROM takeback_journal GROUP BY operation',
    )
    expect(new Set(ids(seen)).size).toBe(seen.length)
    expect(Object.fromEntries(seen.map(({ id, changes }) => [id, changes.length]))).toEqual(
      Object.fromEntries(rows.map(({ operation, n }) => [operation, n])) as Record<string, number>,
    )
    expectVersions(seen)
    // A reader who starts in between gets everything written since, exactly as the others do.
    for (const { position, written } of late) {
      const rest = ids((await readAll(feed, position, 50)).operations)
      expect(rest).toEqual(ids(seen.slice(seen.length - rest.length)))
      expect(rest).toContain(written)
    }
  })
}

/** Expects the versions of each Entity in the order 1, 2, 3 … */
function expectVersions(operations: readonly FeedOperation[]): void {
  const versions = new Map<string, number[]>()
  for (const { entity, id, version } of operations.flatMap(({ changes }) => changes))
    versions.set(`${entity}/${id}`, [...(versions.get(`${entity}/${id}`) ?? []), version])
  for (const [name, found] of versions) expect([name, found]).toEqual([name, found.map((_, at) => at + 1)])
}

const someHot = () =>
  [...new Set(Array.from({ length: 3 }, () => 1 + Math.floor(Math.random() * HOT)))].toSorted()

/** Creates, batches of all sizes and updates of the same few Entities, in an order that cannot deadlock. */
async function write(server: TestServer, times: number): Promise<void> {
  for (let at = 0; at < times; at++) {
    const made = Array.from({ length: 1 + Math.floor(Math.random() * 12) }, (_, part) => ({
      method: 'POST',
      path: '/api/notes/',
      body: { title: `${at}.${part}` },
    }))
    const changed = someHot().map((id) => ({
      method: 'PATCH',
      path: `/api/notes/${id}/`,
      body: { count: at },
    }))
    const { status, text } = await (at % 3 === 0
      ? server.call('POST', '/api/batch/', { body: [...made, ...changed] })
      : server.call('PATCH', changed[0]?.path ?? '', { body: { count: at } }))
    if (status !== 200 && status !== 409) throw new Error(text)
  }
}

/** Transactions that stay open for a while, and commit in random order, or not at all. */
async function writeByHand(hand: SQL, times: number): Promise<void> {
  for (let at = 0; at < times; at++) {
    const operation = Bun.randomUUIDv7()
    await hand
      .begin(async (sql) => {
        await sql`INSERT INTO takeback_journal (operation, at, entity, entity_id, version, kind, data)
          SELECT ${operation}, now(), 'tags', nextval(pg_get_serial_sequence('tags', 'id')), 1, 'create', '{}'`
        await Bun.sleep(Math.random() * 30)
        for (const id of someHot())
          await sql`WITH t AS (UPDATE notes SET version = version + 1, updated_at = now() WHERE id = ${id} RETURNING *)
            INSERT INTO takeback_journal (operation, at, entity, entity_id, version, kind, data)
            SELECT ${operation}, now(), 'notes', id, version, 'update', '{}' FROM t`
        await Bun.sleep(Math.random() * 10)
        if (Math.random() < 0.2) throw new Error('given up')
      })
      .catch((error: Error) => {
        if (error.message !== 'given up' && !/deadlock/.test(error.message)) throw error
      })
  }
}

onStore('postgres', 'a feed beside a transaction that commits late', declaration, (server) => {
  /** Inserts a change, which has its number but is not committed until `commit`. */
  async function held(): Promise<{ operation: string; commit(): Promise<unknown> }> {
    const hand = new SQL(await server.databaseUrl(), { max: 1 })
    const operation = Bun.randomUUIDv7()
    await hand`BEGIN`
    await hand`INSERT INTO takeback_journal (operation, at, entity, entity_id, version, kind, data)
      SELECT ${operation}, now(), 'tags', nextval(pg_get_serial_sequence('tags', 'id')), 1, 'create', '{}'`
    return { operation, commit: () => hand`COMMIT`.then(() => hand.close()) }
  }

  test('waits for it, tells so, and goes past nothing', async () => {
    const { feed } = server.context
    const from = await feed.now()
    const early = await held()
    const later = await server.call('POST', '/api/notes/', { body: { title: 'later' } })
    const meanwhile = await readAll(feed, from)
    expect([meanwhile.operations, meanwhile.pending]).toEqual([[], true])
    await eventually(async () => (await feed.lag()) > 0)
    const details = await server.expect(200, 'GET', '/api/health/details')
    expect(details.feed.lag_ms).toBeGreaterThan(0)
    // A feed that does not wait never gets the other operation.
    const hurried = hasty(server.context.store)
    const first = await readAll(hurried, from)
    expect(ids(first.operations)).toEqual([String(later.headers.get('Takeback-Operation'))])
    await early.commit()
    expect((await readAll(hurried, first.next)).operations).toEqual([])
    const both = await readAll(feed, meanwhile.next)
    expect(ids(both.operations)).toEqual([early.operation, ...ids(first.operations)])
    expect(await feed.lag()).toBe(0)
  })

  test('does not wait for long transactions that write to other tables', async () => {
    const hand = new SQL(await server.databaseUrl(), { max: 1 })
    await hand`BEGIN`
    await hand`INSERT INTO takeback_ended_sessions (session, until) VALUES ('x', now())`
    const { feed } = server.context
    const from = await feed.now()
    await server.expect(201, 'POST', '/api/notes/', { title: 'beside' })
    expect(await readAll(feed, from)).toMatchObject({ operations: [{ rest: null }], pending: false })
    await hand`ROLLBACK`
    await hand.close()
  })

  test('a server that has just started begins where the journal is settled', async () => {
    const early = await held()
    const { store } = server.context
    const other = await server.openStore()
    const fresh = new Feed(other, compileFeed(store.dialect))
    // While the end is not known, the feed returns nothing rather than too much.
    expect(await readAll(fresh, await fresh.start())).toMatchObject({ operations: [], pending: true })
    const now = fresh.now()
    await early.commit()
    const begun = await readAll(fresh, await now)
    expect([[], [early.operation]]).toContainEqual(ids(begun.operations))
    const all = await readAll(fresh, await fresh.start())
    expect([ids(all.operations).at(-1), all.pending]).toEqual([early.operation, false])
    await other.close()
  })
})
