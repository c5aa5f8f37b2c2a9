import { expect, test } from 'bun:test'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { Health } from '../../src/api/health.ts'
import { Observer } from '../../src/observe/observer.ts'
import { Pool } from '../../src/store/postgres/pool.ts'
import { aboutOf, sessionSettings } from '../../src/store/postgres/session-settings.ts'
import { probeFile } from '../../src/store/sqlite/probe.ts'
import type { Store } from '../../src/store/store.ts'
import { taskParams } from '../../src/work/queues.ts'
import { bookings } from '../declarations.ts'
import { eventually, giant, onEveryStore, onStore, type TestServer } from '../harness.ts'

const health = async (server: TestServer) => (await server.call('GET', '/api/health', { token: null })).status

onEveryStore('health', bookings, (server) => {
  test('costs the journal and the tables nothing', async () => {
    const rows = () => server.query('SELECT count(*) AS n, max(seq) AS last FROM takeback_journal')
    const before = await rows()
    for (let at = 0; at < 5; at++) expect(await health(server)).toBe(200)
    expect(await rows()).toEqual(before)
  })

  test('asks the database once, however many ask for it at the same time', async () => {
    let [pings, under] = [0, 0]
    const { store } = server.context
    const counting: Store = Object.assign(Object.create(store), {
      async ping() {
        pings++
        expect(++under).toBe(1)
        await store.ping()
        under--
      },
    })
    const counted = new Health(counting)
    await Promise.all(Array.from({ length: 500 }, () => counted.check()))
    expect(pings).toBe(1)
    await eventually(async () => {
      await counted.check()
      return pings > 1
    })
  })

  test('tells details to admins only', async () => {
    const { body } = await server.call('GET', '/api/health/details')
    expect(body).toMatchObject({
      status: 'ok',
      version: expect.any(String),
      format: expect.any(Number),
      checks: { database: { status: 'ok', message: null, since: expect.any(String) } },
      store: { size_bytes: expect.any(Number) },
    })
    const { token } = await server.user('users', { email: 'u@example.com', name: 'u' })
    expect((await server.call('GET', '/api/health/details', { token })).status).toBe(403)
    expect((await server.call('GET', '/api/health/details', { token: null })).status).toBe(401)
  })

  giant('says of background work when it was done, what went wrong and when it comes next', async () => {
    const { work } = server.context
    let fails = true
    work.add({
      name: 'sometimes',
      every: 3_600_000,
      run: async () => {
        if (fails) throw new Error('no room')
      },
    })
    const check = async () => (await server.call('GET', '/api/health/details')).body.checks.sometimes
    await eventually(async () => (await check())?.status === 'failed')
    const first = await check()
    expect(first).toMatchObject({ status: 'failed', message: 'no room', holder: null })
    expect((await server.call('GET', '/api/health/details')).body.status).toBe('failed')
    // After a second failure, it still reports the time since the first.
    await eventually(async () => (await check()).last > first.last)
    expect((await check()).since).toBe(first.since)
    fails = false
    await eventually(async () => (await check()).status === 'ok')
    const healed = await check()
    expect(healed).toMatchObject({ message: null, holder: null })
    expect(healed.since > first.since).toBe(true)
    expect(new Date(healed.next).getTime() - new Date(healed.last).getTime()).toBe(3_600_000)
  })

  test('lists queues, and the tasks that were set aside', async () => {
    const { work, store } = server.context
    await store.write([work.enqueue], taskParams([{ queue: 'nobody', payload: 1 }]))
    await store.write([work.enqueue], taskParams([{ queue: 'aside', key: 'k', payload: 'secret' }]))
    const now = new Date().toISOString()
    await server.query(
      "UPDATE takeback_tasks SET aside_at = $1, next_at = NULL, attempts = 36, error = 'no' WHERE queue = 'aside'",
      now,
    )
    const { text, body } = await server.call('GET', '/api/health/details')
    expect(body.queues).toEqual({
      aside: { waiting: 0, running: 0, aside: 1, oldest: null },
      mail: { waiting: 0, running: 0, aside: 0, oldest: null },
      nobody: { waiting: 1, running: 0, aside: 0, oldest: expect.any(String) },
    })
    expect(body.aside).toEqual([
      { id: expect.any(Number), queue: 'aside', key: 'k', since: now, attempts: 36, message: 'no' },
    ])
    expect(text).not.toContain('secret')
  })

  test('tells when the database goes away, and when it is back', async () => {
    const told: string[] = []
    const observer = new Observer()
    observer.subscribe(({ kind }) => told.push(kind))
    let away = false
    const { store } = server.context
    const sometimes: Store = Object.assign(Object.create(store), {
      ping: () => (away ? Promise.reject(new Error('no answer')) : store.ping()),
    })
    const health = new Health(sometimes, { observer })
    const asked = async (fails: boolean) => {
      away = fails
      await eventually(
        async () =>
          (await health.check().then(
            () => false,
            () => true,
          )) === fails,
      )
    }
    for (const fails of [false, true, false]) await asked(fails)
    expect(told).toEqual(['database_away', 'database_back'])
  })
})

onStore('postgres', 'health of a database that takes no writes', bookings, (server) => {
  test('is 503, and so are writes, while reads go on', async () => {
    const sql = new SQL(await server.databaseUrl(), { max: 1 })
    const [{ name }] = await sql`SELECT current_database() AS name`
    const set = async (mode: string) => {
      await sql.unsafe(`ALTER DATABASE "${name}" SET default_transaction_read_only = ${mode}`)
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name} AND pid <> pg_backend_pid()`
    }
    await sql`SET default_transaction_read_only = off`
    await set('on')
    await eventually(async () => (await server.call('GET', '/api/rooms/')).status === 200)
    await eventually(async () => (await health(server)) === 503)
    const write = await server.call('POST', '/api/rooms/', { body: { title: 'x', beds: 1 } })
    expect([write.status, write.body.code]).toEqual([503, 'unavailable'])
    await set('off')
    await eventually(async () => (await health(server)) === 200)
    await sql.close()
  })
})

onStore('sqlite', 'health of a file that is gone', bookings, (server) => {
  test('is 503 until it is back', async () => {
    const file = join(server.folder, 'test.db')
    renameSync(file, `${file}.away`)
    await eventually(async () => (await health(server)) === 503)
    renameSync(`${file}.away`, file)
    await eventually(async () => (await health(server)) === 200)
  })
})

test('a disk without room is found before a write is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'takeback-health-'))
  const file = join(folder, 'some.db')
  writeFileSync(file, '')
  await probeFile(file, 1)
  await expect(probeFile(file, Number.MAX_SAFE_INTEGER)).rejects.toThrow('the disk is full')
  rmSync(folder, { recursive: true })
})

onStore('postgres', 'a server that is frozen within a transaction', bookings, (server) => {
  test('stops others for seconds only', async () => {
    const room = await server.expect(201, 'POST', '/api/rooms/', { title: 'x', beds: 1 })
    const limits = { pool: 1, statementMs: 10_000, connectMs: 5000 }
    const frozen = new Pool(await server.databaseUrl(), limits, sessionSettings(limits, aboutOf(undefined)))
    const [locked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    // The connection has locked rows that others want to change, and then freezes.
    const stuck = frozen.transaction(async (connection) => {
      await connection.query({ text: 'SELECT "id" FROM "rooms" FOR UPDATE', paramNames: [] }, {})
      locked.resolve()
      await over.promise
      return { result: undefined, commit: true }
    })
    await locked.promise
    const { status } = await server.call('PATCH', `/api/rooms/${room.id}/`, { body: { beds: 2 } })
    expect(status).toBe(200)
    over.resolve()
    // Nor can it continue as if nothing had happened.
    await expect(stuck).rejects.toThrow()
    await frozen.close()
  })
})
