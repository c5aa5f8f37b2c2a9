import { afterAll, expect, test } from 'bun:test'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { readConfig } from '../../src/config.ts'
import { PositionGone } from '../../src/journal/position.ts'
import { makeBackup } from '../../src/store/backup/make.ts'
import { restoreBackup } from '../../src/store/backup/restore.ts'
import { check } from '../../src/store/check/check.ts'
import { copy } from '../../src/store/copy/copy.ts'
import type { Location } from '../../src/store/location.ts'
import { readMetadata, writeMetaValue } from '../../src/store/migration/metadata.ts'
import { openStore } from '../../src/store/open.ts'
import { FORMAT } from '../../src/store/own.ts'
import { createOwnTables } from '../../src/store/own-ddl.ts'
import { intLiteral, quoted, sql } from '../../src/store/sql.ts'
import { entity, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { newDatabase, onEveryStoreByHand, type TestDatabase, TestServer } from '../harness.ts'
import { newFolder } from '../process/process.ts'
import { clearOut } from '../work.ts'

const DAY = 86_400_000
const fields = { title: text() }
const entities = {
  notes: entity({ fields }),
  logs: entity({ fields, journal: { keep: '1d' } }),
}
const declaration = withAdmins(entities)

const locationOf = ({ url }: TestDatabase): Location => readConfig({ database: url }, {}).database

/** Ways to make a new database with the data of another one. */
const ways: Record<string, (store: string, from: TestDatabase) => Promise<TestDatabase>> = {
  async copied(store, from) {
    const to = await newDatabase(store, newFolder())
    const stores = [await openStore(locationOf(from)), await openStore(locationOf(to))] as const
    await copy(...stores, () => {})
    for (const one of stores) await one.close()
    return to
  },
  async restored(store, from) {
    const file = join(newFolder(), 'a.db')
    await makeBackup(locationOf(from), file, { version: 'test' })
    const to = await newDatabase(store, newFolder())
    await restoreBackup(file, locationOf(to), undefined)
    return to
  },
  /** As somebody does it who has never heard of `takeback copy`. */
  async 'cloned past us'(store, from) {
    const to = await newDatabase(store, newFolder())
    if (store === 'sqlite') {
      copyFileSync(from.url.replace('sqlite:', ''), to.url.replace('sqlite:', ''))
      return to
    }
    const [old, fresh] = [from, to].map(({ url }) => new URL(url).pathname.slice(1))
    const other = new URL(from.url)
    other.pathname = '/postgres'
    const hand = new SQL(other.href, { max: 1 })
    await hand`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${old ?? ''}`
    await hand.unsafe(`DROP DATABASE ${fresh} WITH (FORCE)`)
    await hand.unsafe(`CREATE DATABASE ${fresh} TEMPLATE ${old}`)
    await hand.close()
    return to
  },
}

onEveryStoreByHand('an incarnation', (store) => {
  const servers: TestServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.remove())))

  async function started(database: TestDatabase, like?: TestServer): Promise<TestServer> {
    const server = new TestServer(store, declaration, {}, database)
    servers.push(server)
    if (like !== undefined) server.adminToken = like.adminToken
    await server.start()
    return server
  }

  for (const [name, make] of Object.entries(ways))
    test(`is another one where a database was ${name}: positions are gone, cursors go on`, async () => {
      const database = await newDatabase(store, newFolder())
      const server = await started(database)
      const first = await server.context.cursors.at('webhooks')
      await server.expect(201, 'POST', '/api/notes/', { title: 'before' })
      const position = await server.context.feed.now()
      expect(await server.context.cursors.move('webhooks', first, position)).toBe(true)
      await server.expect(201, 'POST', '/api/notes/', { title: 'unread' })
      await server.restart()
      // After a restart in the same place, the incarnation stays the same.
      const unread = await server.context.feed.after(position, { limit: 10 })
      expect(unread.operations).toHaveLength(1)
      await server.stop()

      const other = await started(await make(store, database), server)
      const { feed, cursors } = other.context
      await expect(feed.after(position, { limit: 10 })).rejects.toThrow(PositionGone)
      await expect(cursors.move('webhooks', position, position)).rejects.toThrow(PositionGone)
      const kept = await cursors.at('webhooks')
      expect(kept).not.toBe(position)
      const { operations, next } = await feed.after(kept, { limit: 10 })
      expect(operations.map(({ id, changes }) => [id, changes])).toEqual(
        unread.operations.map(({ id, changes }) => [id, changes]),
      )
      expect(await cursors.move('webhooks', kept, next)).toBe(true)
      await other.stop()
      expect((await check(await other.location())).findings).toEqual([])

      await server.start()
      expect((await server.context.feed.after(position, { limit: 10 })).operations).toHaveLength(1)
    })

  test('positions behind which retention has cut are gone, but not for those who follow other types', async () => {
    const server = await started(await newDatabase(store, newFolder()))
    const { feed } = server.context
    const start = await feed.start()
    const { id } = await server.expect(201, 'POST', '/api/logs/', { title: 'a' })
    await server.expect(200, 'PATCH', `/api/logs/${id}/`, { title: 'b' })
    await server.expect(201, 'POST', '/api/notes/', { title: 'kept' })
    const before = await feed.now()
    expect((await feed.after(start, { limit: 10 })).operations).toHaveLength(4)
    await clearOut(server.context, Date.now() + 2 * DAY)
    for (const entities of [undefined, ['logs'], ['notes', 'logs']])
      await expect(feed.after(start, { limit: 10, entities })).rejects.toThrow(PositionGone)
    expect((await feed.after(start, { limit: 10, entities: ['notes'] })).operations).toHaveLength(1)
    await server.expect(201, 'POST', '/api/logs/', { title: 'c' })
    expect((await feed.after(before, { limit: 10 })).operations).toHaveLength(1)
    // Under a new name, its journal is cut at the same point.
    const { logs, ...rest } = entities
    await server.restart(withAdmins({ ...rest, lines: { ...logs, was: 'logs' } }))
    const renamed = server.context.feed.after(start, { limit: 10, entities: ['lines'] })
    await expect(renamed).rejects.toThrow(PositionGone)
  })

  test('of a former format: all that its journal has can be read', async () => {
    for (let format = 1; format < FORMAT; format++) {
      const database = await newDatabase(store, newFolder())
      const opened = await openStore(locationOf(database))
      const { structure } = opened
      await structure.transact('change', async (session) => {
        for (const source of createOwnTables(structure.ddl, format)) await session.run(source)
        await writeMetaValue(session, 'format', String(format))
        for (let at = 1; at <= 5; at++)
          await session.run(
            sql`INSERT INTO "takeback_journal" ("operation", "at", "actor", "actor_id", "entity", "entity_id", "version", "kind", "data")
              VALUES ('0000', ${quoted(new Date().toISOString())}, 'admins', 1, 'notes', ${intLiteral(at)}, 1, 'create', '{}')`,
          )
        expect((await readMetadata(structure, session))?.format).toBe(format)
      })
      await opened.close()
      const server = await started(database)
      const { feed } = server.context
      const { operations } = await feed.after(await feed.start(), { limit: 1 })
      expect(operations).toMatchObject([{ id: '0000', actor: 'admins/1', rest: null }])
      expect(operations[0]?.changes.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5])
      expect(await server.query(`SELECT value FROM takeback_meta WHERE key = 'format'`)).toEqual([
        { value: String(FORMAT) },
      ])
    }
  })
})
