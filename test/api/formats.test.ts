import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { upgrade, writeMetaValue } from '../../src/store/migration/metadata.ts'
import { openStore } from '../../src/store/open.ts'
import { columnsIn, FORMAT, tablesIn } from '../../src/store/own.ts'
import { createOwnTables } from '../../src/store/own-ddl.ts'
import { newDatabase, onEveryStoreByHand, type TestDatabase } from '../harness.ts'

/** Every column and every index of Takeback's own tables, as the database describes them. */
const described: Record<string, string> = {
  sqlite: `SELECT t.name AS "table", c.name AS "name", c.type AS "type", c."notnull" AS "required", c.pk AS "key"
    FROM pragma_table_list t, pragma_table_xinfo(t.name) c WHERE t.name LIKE 'takeback_%'
    UNION ALL SELECT t.name, i.name, group_concat(k.name), i."unique", i.partial
    FROM pragma_table_list t, pragma_index_list(t.name) i, pragma_index_info(i.name) k WHERE t.name LIKE 'takeback_%' GROUP BY t.name, i.name
    ORDER BY 1, 2`,
  postgres: `SELECT table_name::text AS "table", column_name::text AS "name", data_type::text AS "type", is_nullable::text AS "required", collation_name::text AS "key"
    FROM information_schema.columns WHERE table_name LIKE 'takeback_%'
    UNION ALL SELECT tablename::text, '', substring(indexdef from 'USING .*'), '', '' FROM pg_indexes WHERE tablename LIKE 'takeback_%'
    ORDER BY 1, 2, 3`,
}

/** Keys of `takeback_meta` that format 4 does not use. */
const FORMER = ['keeper', 'backup turn', 'backup made']

onEveryStoreByHand('formats of our own tables', (store) => {
  const folders: string[] = []
  const databases: TestDatabase[] = []
  afterAll(async () => {
    for (const database of databases) await database.remove()
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })

  /** Returns the tables of a database that was made in a format and then upgraded. */
  async function tablesFrom(format: number): Promise<unknown> {
    const folder = mkdtempSync(join(tmpdir(), 'takeback-test-'))
    folders.push(folder)
    const database = await newDatabase(store, folder)
    databases.push(database)
    const opened = await openStore(readConfig({ database: database.url }, {}).database)
    const { structure } = opened
    await structure.transact('change', async (session) => {
      for (const source of createOwnTables(structure.ddl, format)) await session.run(source)
      for (const key of FORMER) if (format < 4) await writeMetaValue(session, key, 'a former lease')
      await upgrade(structure, session, {
        format,
        tables: [],
        generation: 0,
        since: 0,
        fingerprint: '',
        past: [],
      })
    })
    await opened.close()
    return database.query(described[store] ?? '')
  }

  test('an upgraded database has the tables of a new one', async () => {
    const fresh = await tablesFrom(FORMAT)
    expect(fresh).toContainEqual(expect.objectContaining({ table: 'takeback_journal', name: 'seq' }))
    for (let format = 1; format < FORMAT; format++) expect(await tablesFrom(format)).toEqual(fresh)
  })

  test('keys for background work from before its tables are removed', async () => {
    await tablesFrom(3)
    const kept = await databases.at(-1)?.query('SELECT key FROM takeback_meta')
    expect(kept?.map(({ key }) => key).filter((key) => FORMER.includes(String(key)))).toEqual([])
  })
})

/** Digests of released formats: a database in one of them never gets what is added to that format later. */
const released: Record<number, string> = {
  1: '227c1heudbf25',
  2: '6pilnbrh6lmk',
  3: 'iuy9g2joufca',
  4: '12h2mllqq45qb',
}

test('a released format never changes: a new table, column or index is of the next one', () => {
  expect(Object.keys(released)).toEqual(Array.from({ length: FORMAT - 1 }, (_, at) => String(at + 1)))
  const shapes = Object.keys(released).map((format) => {
    const tables = tablesIn(Number(format)).map((table) => ({
      name: table.name,
      columns: columnsIn(table, Number(format)).map(({ name, kind }) => [name, kind]),
      indexes: (table.indexes ?? [])
        .filter(({ since = 1, was }) => since <= Number(format) || was !== undefined)
        .map(({ name, columns, was, since = 1 }) => [name, since <= Number(format) ? columns : was]),
    }))
    return [format, Bun.hash.rapidhash(JSON.stringify(tables)).toString(36)]
  })
  expect(Object.fromEntries(shapes)).toEqual(released)
})
