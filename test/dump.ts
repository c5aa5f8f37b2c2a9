import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestServer } from './harness.ts'

/** Returns the content of all tables of a database as one text, including the search index. */
export async function dumpOf(server: TestServer, store: string): Promise<string> {
  const database = await server.database()
  database.keepOpen?.(true)
  try {
    return await dumpTables(server, store)
  } finally {
    database.keepOpen?.(false)
  }
}

async function dumpTables(server: TestServer, store: string): Promise<string> {
  const tables = await server.query(
    store === 'sqlite'
      ? "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE VIRTUAL%'"
      : "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
  )
  const rows = await Promise.all(
    tables.map(({ name }) =>
      server.query(store === 'sqlite' ? `SELECT * FROM "${name}"` : `SELECT t::text AS row FROM "${name}" t`),
    ),
  )
  return rows
    .flat()
    .flatMap((row) => Object.values(row))
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
    .join('\n')
}

/** Returns the bytes of all files in a server's folder: for SQLite, the database and its log. */
export function filesOf(server: TestServer): Buffer {
  return Buffer.concat(readdirSync(server.folder).map((name) => readFileSync(join(server.folder, name))))
}
