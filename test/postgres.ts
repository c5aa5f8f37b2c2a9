import { randomBytes } from 'node:crypto'
import { SQL } from 'bun'
import { readConfig } from '../src/config.ts'
import { makeOwnTables } from '../src/store/migration/memory.ts'
import { openStore } from '../src/store/open.ts'
import { type Cluster, startCluster } from './cluster.ts'
import type { TestDatabase } from './harness.ts'

interface TestCluster extends Cluster {
  /** Makes and drops databases. */
  readonly sql: SQL
  readonly databases: Set<TestDatabase>
  template?: Promise<Pick<TestDatabase, 'url'>>
}

declare global {
  /** One for the whole run, however often this module is loaded. */
  var takebackCluster: Promise<TestCluster> | undefined
}

/** It is gone after the tests, so nothing has to survive a crash of the machine. */
export const settings = [
  ...['max_connections=400', 'fsync=off', 'full_page_writes=off', 'shared_buffers=16MB'],
  // Nobody follows its log, so that new tables need not be in it.
  ...['wal_level=minimal', 'max_wal_senders=0'],
  // Databases live for seconds. Workers that clear them out or read ahead would only take a core from the tests.
  ...['autovacuum=off', 'io_method=sync'],
]

/** The PostgreSQL that `TAKEBACK_TEST_POSTGRES` names, or else one of our own, started by whoever needs it first. */
export function startPostgres(): Promise<TestCluster> {
  globalThis.takebackCluster ??= makeCluster()
  return globalThis.takebackCluster
}

export async function endPostgres(): Promise<void> {
  // One that did not start has said so in every test that needed it.
  const cluster = await globalThis.takebackCluster?.catch(() => undefined)
  globalThis.takebackCluster = undefined
  if (cluster === undefined) return
  for (const database of cluster.databases) await database.remove()
  await cluster.sql.close()
  await cluster.stop()
}

async function makeCluster(): Promise<TestCluster> {
  const cluster = await startCluster('TAKEBACK_TEST_POSTGRES', settings)
  return { ...cluster, sql: new SQL(cluster.url, { max: 1 }), databases: new Set() }
}

// The runs of several people may share a server.
const run = randomBytes(4).toString('hex')
let made = 0

/** A new database, empty, or a copy of one that nobody is connected to. */
export async function newPostgresDatabase(original?: Pick<TestDatabase, 'url'>): Promise<TestDatabase> {
  const cluster = await startPostgres()
  const name = `takeback_test_${run}_${++made}`
  const template = original === undefined ? 'template1' : new URL(original.url).pathname.slice(1)
  // Copying files takes half of the time that it takes to log each page.
  await cluster.sql.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`)
  const url = new URL(cluster.url)
  url.pathname = `/${name}`
  // Tables change under it, so it keeps no prepared statements.
  const sql = new SQL(url.href, { max: 1, bigint: true, prepare: false })
  const database: TestDatabase = {
    url: url.href,
    async query(text, ...values) {
      const rows: Record<string, unknown>[] = await sql.unsafe(text, values)
      return rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([column, value]) => [column, plain(value)])),
      )
    },
    async remove() {
      cluster.databases.delete(database)
      await sql.close()
      await cluster.sql.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    },
  }
  cluster.databases.add(database)
  return database
}

/** A new database that has Takeback's own tables already: copying them takes a fraction of the time that making them takes. */
export async function newPreparedDatabase(): Promise<TestDatabase> {
  const cluster = await startPostgres()
  const named = process.env.TAKEBACK_TEST_TEMPLATE
  cluster.template ??= named === undefined ? makeTemplate() : Promise.resolve({ url: named })
  return newPostgresDatabase(await cluster.template)
}

/** The database that those are copies of. `npm test` makes one for all of its processes. */
export async function makeTemplate(): Promise<TestDatabase> {
  const database = await newPostgresDatabase()
  const store = await openStore(readConfig({ database: database.url }, {}).database)
  await store.structure.transact('change', (session) => makeOwnTables(store.structure, session))
  await store.close()
  return database
}

/** As SQLite would have it: numbers, and texts for what it has no type for. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'boolean') return Number(value)
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}
