import { randomBytes } from 'node:crypto'
import { SQL } from 'bun'
import { readConfig } from '../src/config.ts'
import { makeOwnTables } from '../src/store/migration/metadata.ts'
import { openStore } from '../src/store/open.ts'
import { type Cluster, startCluster } from './cluster.ts'
import type { TestDatabase } from './harness.ts'

interface TestCluster extends Cluster {
  /** Creates and drops databases. */
  readonly sql: SQL
  readonly databases: Set<TestDatabase>
  template?: Promise<Pick<TestDatabase, 'url'>>
}

declare global {
  /** One for the whole run, however often this module is loaded. */
  var takebackCluster: Promise<TestCluster> | undefined
}

/** The server is removed after the tests, so nothing has to survive a crash. */
export const settings = [
  ...['max_connections=400', 'fsync=off', 'full_page_writes=off', 'shared_buffers=16MB'],
  // Nobody follows its log, so new tables need not be in it.
  ...['wal_level=minimal', 'max_wal_senders=0'],
  // Databases live for seconds. Autovacuum and I/O workers would only take processor time from the tests.
  ...['autovacuum=off', 'io_method=sync'],
]

/** Returns the PostgreSQL that `TAKEBACK_TEST_POSTGRES` names, or starts one when it is first needed. */
export function startPostgres(): Promise<TestCluster> {
  globalThis.takebackCluster ??= makeCluster()
  return globalThis.takebackCluster
}

export async function endPostgres(): Promise<void> {
  // If it did not start, every test that needed it has said so.
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

// Several people may share a server for their runs.
const run = randomBytes(4).toString('hex')
let made = 0

/** Makes a database: empty, or a copy of one without connections. */
export async function newPostgresDatabase(original?: Pick<TestDatabase, 'url'>): Promise<TestDatabase> {
  const cluster = await startPostgres()
  const name = `takeback_test_${run}_${++made}`
  const template = original === undefined ? 'template1' : new URL(original.url).pathname.slice(1)
  // Copying files takes half as long as logging each page.
  await cluster.sql.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`)
  const url = new URL(cluster.url)
  url.pathname = `/${name}`
  // Its tables change, so it uses no prepared statements.
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

/** Makes a database with Takeback's own tables: copying them takes a fraction of the time of creating them. */
export async function newPreparedDatabase(): Promise<TestDatabase> {
  const cluster = await startPostgres()
  const named = process.env.TAKEBACK_TEST_TEMPLATE
  cluster.template ??= named === undefined ? makeTemplate() : Promise.resolve({ url: named })
  return newPostgresDatabase(await cluster.template)
}

/** Makes the template of these copies. `npm test` makes one for all of its processes. */
export async function makeTemplate(): Promise<TestDatabase> {
  const database = await newPostgresDatabase()
  const store = await openStore(readConfig({ database: database.url }, {}).database)
  await store.structure.transact('change', (session) => makeOwnTables(store.structure, session))
  await store.close()
  return database
}

/** Converts a value to what SQLite returns: numbers, and texts for types that it does not have. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'boolean') return Number(value)
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}
