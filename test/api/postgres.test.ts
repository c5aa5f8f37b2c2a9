import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { resolve } from '../../src/declare/resolve.ts'
import { tablesOf } from '../../src/plan/tables/schema.ts'
import { migrate } from '../../src/store/migration/migrate.ts'
import { mutexKey } from '../../src/store/mutex.ts'
import { Pool } from '../../src/store/postgres/pool.ts'
import { graph } from '../declarations.ts'
import { eventually, newDatabase, onStoreByHand, type TestDatabase, TestServer } from '../harness.ts'
import { newFolder } from '../process/process.ts'

/** Another transaction, which holds its locks until it is told to end. */
async function begun(url: string): Promise<{ run(text: string): Promise<unknown>; end(): Promise<void> }> {
  const sql = new SQL(url, { max: 1 })
  await sql.unsafe('BEGIN')
  return {
    run: (text) => sql.unsafe(text),
    async end() {
      await sql.unsafe('COMMIT')
      await sql.close()
    },
  }
}

/** Whether all of these wait for a lock on this database before any of them is over. */
async function wait(database: TestDatabase, ...asked: Promise<unknown>[]): Promise<boolean> {
  let over = false
  for (const one of asked) void one.finally(() => (over = true))
  const waiting = async () => {
    const [row] = await database.query(
      "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    return Number(row?.n)
  }
  await eventually(async () => over || (await waiting()) >= asked.length)
  return !over
}

const softDelete = (table: string, id: number) =>
  `UPDATE "${table}" SET deleted_at = now(), deletion = 'other', version = version + 1 WHERE id = ${id}`

onStoreByHand('postgres', 'beside others', () => {
  let database: TestDatabase
  let server: TestServer
  beforeAll(async () => {
    database = await newDatabase('postgres', newFolder())
    server = new TestServer('postgres', graph, {}, database)
    await server.start()
  })
  afterAll(() => server.remove())

  const person = async (more = {}): Promise<number> =>
    (await server.expect(201, 'POST', '/api/people/', { name: 'p', ...more })).id
  const isLive = async (table: string, id: number) =>
    (await database.query(`SELECT deleted_at FROM "${table}" WHERE id = $1`, id))[0]?.deleted_at === null

  test('a reference waits for a deletion of its target that is under way, and is refused after it', async () => {
    const id = await person()
    const other = await begun(database.url)
    await other.run(softDelete('people', id))
    const created = server.call('POST', '/api/papers/', {
      body: { title: 'late', meta: {}, keeper: { id } },
    })
    const patched = server.call('PATCH', `/api/people/${await person()}/`, { body: { boss: { id } } })
    expect(await wait(database, created, patched)).toBe(true)
    await other.end()
    expect((await created).body.errors).toEqual({
      keeper: ['refers to nothing'],
      'keeper.id': ['refers to nothing'],
    })
    expect((await patched).status).toBe(422)
  })

  /** Another transaction adds an Entity below one that is being deleted, and commits after the deletion has begun. */
  async function deleteWhilePutUnder(name: string): Promise<void> {
    const { id: company } = await server.expect(201, 'POST', '/api/companies/', { name })
    const author = await person({ company: { id: company } })
    const other = await begun(database.url)
    await other.run(`SELECT 1 FROM people WHERE id = ${author} FOR SHARE`)
    await other.run(
      `INSERT INTO papers (title, "author.id", version, created_at, updated_at) VALUES ('${name}', ${author}, 1, now(), now())`,
    )
    const deleted = server.call('DELETE', `/api/companies/${company}/`)
    expect(await wait(database, deleted)).toBe(true)
    await other.end()
    expect((await deleted).status).toBe(200)
    const [paper] = await database.query('SELECT id FROM papers WHERE title = $1', name)
    expect(await isLive('papers', Number(paper?.id))).toBe(false)
    await server.expect(200, 'DELETE', `/api/companies/${company}/?restore=1`)
    expect(await isLive('papers', Number(paper?.id))).toBe(true)
  }

  test('a deletion takes what was put under it while it was under way', () => deleteWhilePutUnder('exact'))

  test('a deletion leaves what was moved away while it was under way', async () => {
    const { id: from } = await server.expect(201, 'POST', '/api/companies/', { name: 'from' })
    const { id: to } = await server.expect(201, 'POST', '/api/companies/', { name: 'to' })
    const mover = await person({ company: { id: from } })
    const other = await begun(database.url)
    await other.run(`UPDATE people SET "company.id" = ${to}, version = version + 1 WHERE id = ${mover}`)
    const deleted = server.call('DELETE', `/api/companies/${from}/`)
    expect(await wait(database, deleted)).toBe(true)
    await other.end()
    expect((await deleted).status).toBe(200)
    expect(await isLive('people', mover)).toBe(true)
  })

  test('a restore waits for a deletion of what it refers to, and is refused after it', async () => {
    const keeper = await person()
    const body = { title: 'kept', meta: {}, keeper: { id: keeper } }
    const { id } = await server.expect(201, 'POST', '/api/papers/', body)
    await server.expect(200, 'DELETE', `/api/papers/${id}/`)
    const other = await begun(database.url)
    await other.run(softDelete('people', keeper))
    const restored = server.call('DELETE', `/api/papers/${id}/?restore=1`)
    expect(await wait(database, restored)).toBe(true)
    await other.end()
    expect((await restored).body.errors).toEqual({
      'keeper.id': [`refers to people/${keeper}, which is deleted`],
    })
  })

  test('a list waits for a deletion of what it is to hold, and is refused after it', async () => {
    const [first, second, list] = [await person(), await person(), await person()]
    const other = await begun(database.url)
    await other.run(softDelete('people', second))
    const patched = server.call('PATCH', `/api/people/${list}/`, {
      body: { friends: [{ id: second }, { id: first }] },
    })
    expect(await wait(database, patched)).toBe(true)
    await other.end()
    expect((await patched).body.errors).toEqual({
      'friends.0': ['refers to nothing'],
      'friends.0.id': ['refers to nothing'],
    })
  })

  test('a deletion takes itself out of a list that it was put into while it was under way', async () => {
    const [friend, stays, list] = [await person(), await person(), await person()]
    const other = await begun(database.url)
    await other.run(`SELECT 1 FROM people WHERE id = ${friend} FOR SHARE`)
    await other.run(
      `UPDATE people SET friends = '[{"id":${stays}},{"id":${friend}}]', version = version + 1 WHERE id = ${list}`,
    )
    const deleted = server.call('DELETE', `/api/people/${friend}/`)
    expect(await wait(database, deleted)).toBe(true)
    await other.end()
    expect((await deleted).status).toBe(200)
    expect((await server.expect(200, 'GET', `/api/people/${list}/`)).friends).toEqual([{ id: stays }])
    await server.expect(200, 'DELETE', `/api/people/${friend}/?restore=1`)
    expect((await server.expect(200, 'GET', `/api/people/${list}/`)).friends).toEqual([
      { id: stays },
      { id: friend },
    ])
  })

  test('a deletion leaves a list alone that it was taken out of while it was under way', async () => {
    const friend = await person()
    const list = await person({ friends: [{ id: friend }] })
    const other = await begun(database.url)
    await other.run(`UPDATE people SET friends = '[]', version = version + 1 WHERE id = ${list}`)
    const deleted = server.call('DELETE', `/api/people/${friend}/`)
    expect(await wait(database, deleted)).toBe(true)
    await other.end()
    expect((await deleted).status).toBe(200)
    expect((await server.expect(200, 'GET', `/api/people/${list}/`)).version).toBe(2)
  })

  test('in a deadlock, our transaction gives up and is done again', async () => {
    // PostgreSQL cancels whoever has waited for a second first: on a busy machine that may be the other one.
    for (let weGaveUp = false, tries = 0; !weGaveUp; tries++) {
      const { id: company } = await server.expect(201, 'POST', '/api/companies/', {
        name: `deadlock ${tries}`,
      })
      const member = await person({ company: { id: company } })
      const other = await begun(database.url)
      await other.run(`SELECT 1 FROM people WHERE id = ${member} FOR UPDATE`)
      const deleted = server.call('DELETE', `/api/companies/${company}/`)
      expect(await wait(database, deleted)).toBe(true)
      weGaveUp = await other.run(`SELECT 1 FROM companies WHERE id = ${company} FOR UPDATE`).then(
        () => true,
        () => false,
      )
      await other.end()
      expect((await deleted).status).toBe(200)
    }
  })

  test('a batch waits for its turn to delete before it holds anything that others wait for', async () => {
    const { id: company } = await server.expect(201, 'POST', '/api/companies/', { name: 'turn' })
    const changed = await person()
    const other = await begun(database.url)
    await other.run(`SELECT pg_advisory_xact_lock(${mutexKey('graph companies')})`)
    const body = [
      { method: 'PATCH', path: `/api/people/${changed}/`, body: { name: 'later' } },
      { method: 'DELETE', path: `/api/companies/${company}/` },
    ]
    const batch = server.call('POST', '/api/batch/', { body })
    expect(await wait(database, batch)).toBe(true)
    const held = await other.run(`SELECT 1 FROM people WHERE id = ${changed} FOR UPDATE NOWAIT`).then(
      () => false,
      () => true,
    )
    await other.end()
    expect([(await batch).status, held]).toEqual([200, false])
  })

  const rename = (...people: number[]) =>
    server.call('POST', '/api/batch/', {
      body: people.map((id) => ({ method: 'PATCH', path: `/api/people/${id}/`, body: { name: 'n' } })),
    })

  test('batches of other Entities do not wait for each other, nor do those with other unique values', async () => {
    const [held, behind, ...free] = await Promise.all(Array.from({ length: 4 }, () => person()))
    const other = await begun(database.url)
    await other.run(`SELECT 1 FROM people WHERE id = ${held} FOR UPDATE`)
    const waiting = rename(behind as number, held as number)
    expect(await wait(database, waiting)).toBe(true)
    expect((await rename(...free)).status).toBe(200)
    const companies = ['one of two', 'two of two'].map((name) => ({
      method: 'POST',
      path: '/api/companies/',
      body: { name, lead: { id: free[0] } },
    }))
    expect((await server.call('POST', '/api/batch/', { body: companies })).status).toBe(200)
    await other.end()
    expect((await waiting).status).toBe(200)
  })

  test('a deletion that cascades waits for batches, and later batches wait for it: nobody is passed over', async () => {
    const [held, free, gone] = await Promise.all(Array.from({ length: 3 }, () => person()))
    const other = await begun(database.url)
    await other.run(`SELECT 1 FROM people WHERE id = ${held} FOR UPDATE`)
    const before = rename(free as number, held as number)
    expect(await wait(database, before)).toBe(true)
    const deleted = server.call('DELETE', `/api/people/${gone}/`)
    expect(await wait(database, before, deleted)).toBe(true)
    const later = rename(await person(), await person())
    expect(await wait(database, before, deleted, later)).toBe(true)
    await other.end()
    expect((await Promise.all([before, deleted, later])).map(({ status }) => status)).toEqual([200, 200, 200])
  })

  test('batches that change the same in another order do not wait for each other', async () => {
    const people = await Promise.all(Array.from({ length: 6 }, () => person()))
    const batches = Array.from({ length: 12 }, (_, at) => rename(...(at % 2 ? people : people.toReversed())))
    expect((await Promise.all(batches)).map(({ status }) => status)).toEqual(batches.map(() => 200))
    for (const id of people) {
      const { version } = await server.expect(200, 'GET', `/api/people/${id}/`)
      expect(version).toBe(1 + batches.length)
    }
  })

  test('nor do batches that create the same unique values in another order', async () => {
    const emails = Array.from({ length: 6 }, (_, at) => `turn${at}@example.com`)
    const add = (email: string) => ({
      method: 'POST',
      path: '/api/admins/',
      body: { email, password: 'a long password' },
    })
    const batches = Array.from({ length: 8 }, (_, at) =>
      server.call('POST', '/api/batch/', { body: (at % 2 ? emails : emails.toReversed()).map(add) }),
    )
    const statuses = (await Promise.all(batches)).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, ...batches.slice(1).map(() => 422)])
  })

  test('writes that others got in the way of are done again, whatever the isolation', async () => {
    const [name] = await database.query('SELECT current_database() AS name')
    for (const level of ['repeatable read', 'serializable']) {
      await database.query(`ALTER DATABASE "${name?.name}" SET default_transaction_isolation = '${level}'`)
      await server.restart()
      const id = await person()
      const patches = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          server.call('PATCH', `/api/people/${id}/`, { body: { name: `n${n}` } }),
        ),
      )
      expect(patches.map(({ status }) => status)).toEqual(patches.map(() => 200))
      expect((await server.expect(200, 'GET', `/api/people/${id}/`)).version).toBe(21)
      await deleteWhilePutUnder(level)
    }
    await database.query(`ALTER DATABASE "${name?.name}" RESET default_transaction_isolation`)
    await server.restart()
  })

  test('settings that others have made for the database do not show', async () => {
    const [name] = await database.query('SELECT current_database() AS name')
    const settings = {
      extra_float_digits: '0',
      synchronous_commit: 'off',
      standard_conforming_strings: 'off',
      DateStyle: "'German, DMY'",
      TimeZone: "'Asia/Kolkata'",
    }
    const each = (make: (key: string, value: string) => string) =>
      Promise.all(
        Object.entries(settings).map(([key, value]) =>
          database.query(`ALTER DATABASE "${name?.name}" ${make(key, value)}`),
        ),
      )
    await each((key, value) => `SET ${key} = ${value}`)
    await server.restart()
    const opened = await server.openStore()
    const shown = await opened.read(
      { text: "SELECT 0.1::float8 + 0.2::float8, current_setting('synchronous_commit')", paramNames: [] },
      {},
    )
    expect(shown).toEqual([[0.30000000000000004, 'on']])
    await opened.close()
    const id = await person({ name: "it's \\ so" })
    expect((await server.expect(200, 'GET', `/api/people/${id}/`)).name).toBe("it's \\ so")
    await each((key) => `RESET ${key}`)
    await server.restart()
  })

  test('whoever asks one thing after the other has one connection', async () => {
    const limits = { pool: 4, statementMs: 60_000, connectMs: 60_000 }
    const pool = new Pool(database.url, limits, { application_name: 'one by one' })
    const ask = (text: string) => pool.query({ text, paramNames: [] }, {})
    await ask('SELECT 1')
    await ask('SELECT pg_sleep(0.1)')
    const mine = "SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'one by one'"
    expect(await database.query(mine)).toEqual([{ n: 1 }])
    await pool.close()
  })

  test('where all connections are taken for too long, the answer is 503', async () => {
    const narrow = new TestServer('postgres', graph, { pool: '1', 'statement-timeout': '1' }, database)
    narrow.adminToken = server.adminToken
    await narrow.start()
    const id = await person()
    const other = await begun(database.url)
    await other.run(`SELECT 1 FROM people WHERE id = ${id} FOR UPDATE`)
    const deletes = await Promise.all([1, 2, 3, 4].map(() => narrow.call('DELETE', `/api/people/${id}/`)))
    expect(deletes.map(({ status, body }) => [status, body.code])).toEqual(
      deletes.map(() => [503, 'unavailable']),
    )
    expect(deletes.every(({ headers }) => headers.has('Retry-After'))).toBe(true)
    await other.end()
    await narrow.stop()
  })

  test('one migrates at a time', async () => {
    const other = await begun(database.url)
    await other.run("SELECT 1 FROM takeback_meta WHERE key = 'lock' FOR UPDATE")
    const opened = await server.openStore()
    const migrated = migrate(opened.structure, tablesOf(resolve(graph)))
    expect(await wait(database, migrated)).toBe(true)
    await other.end()
    await migrated
    await opened.close()
  })
})
