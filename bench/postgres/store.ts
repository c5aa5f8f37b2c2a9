import { randomBytes } from 'node:crypto'
import { SQL } from 'bun'
import { readConfig } from '../../src/config.ts'
import { startCluster } from '../../test/cluster.ts'
import { planOf } from '../../test/plans.ts'
import { fillOf } from '../fill.ts'
import { type BenchStore, COUNT, type Database } from '../store.ts'

/** The settings for durability and isolation. */
const SETTINGS = ['fsync', 'synchronous_commit', 'full_page_writes', 'default_transaction_isolation'] as const

/** Opens the server that `TAKEBACK_BENCH_POSTGRES` names, or starts one with PostgreSQL's default durability. */
export async function openPostgres(): Promise<BenchStore> {
  const cluster = await startCluster('TAKEBACK_BENCH_POSTGRES', [])
  // Others may have databases on this server, too.
  const prefix = `takeback_bench_${randomBytes(4).toString('hex')}_`
  const made: string[] = []
  const ask = (text: string, database?: string) => askOnce(addressOf(cluster.url, database), text)

  async function make(name: string, template = 'template1'): Promise<Database> {
    const database = prefix + name.replaceAll('-', '_')
    made.push(database)
    await ask(`CREATE DATABASE ${database} TEMPLATE ${template}`)
    return {
      url: addressOf(cluster.url, database),
      async fill(rows) {
        for (const statement of fillOf(rows)) await ask(statement, database)
        // PostgreSQL would do this by itself later, while something is being measured.
        await ask('VACUUM (ANALYZE)', database)
        await ask('CHECKPOINT')
      },
      copy: (other) => make(other, database),
      async explain(text, values) {
        const sql = new SQL(addressOf(cluster.url, database), { max: 1, prepare: false })
        try {
          return await planOf('postgres', (asked, ...bound) => sql.unsafe(asked, bound), text, values)
        } finally {
          await sql.close()
        }
      },
      async count() {
        const [row] = await ask(COUNT, database)
        return { bookings: Number(row?.bookings), journal: Number(row?.journal) }
      },
    }
  }

  return {
    async describe() {
      const [row] = await ask(`SELECT split_part(version(), ' on ', 1) AS version,
        ${SETTINGS.map((name) => `current_setting('${name}') AS ${name}`).join(', ')}`)
      const { database } = readConfig({ database: cluster.url }, process.env)
      const pool = database.kind === 'postgres' ? database.pool : 0
      const settings = SETTINGS.map((name) => `${name} = ${row?.[name]}`)
      return [row?.version, 'on all cores', `${pool} connections for each server`, ...settings].join(', ')
    },
    make: (name) => make(name),
    async close() {
      try {
        for (const database of made) await ask(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`)
      } finally {
        await cluster.stop()
      }
    },
  }
}

function addressOf(server: string, database?: string): string {
  const url = new URL(server)
  if (database !== undefined) url.pathname = `/${database}`
  return url.href
}

/** Opens a connection for one statement: a database that is to be copied must have no connections. */
async function askOnce(url: string, text: string): Promise<Record<string, unknown>[]> {
  const sql = new SQL(url, { max: 1 })
  try {
    return await sql.unsafe(text)
  } finally {
    await sql.close()
  }
}
