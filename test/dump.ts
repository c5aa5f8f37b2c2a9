import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestServer } from './harness.ts'

/** Everything that the tables of a database hold, as one text, those of its full text search included. */
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

/** The bytes of the files of a server's folder: where the database is a file, that and its log. */
export function filesOf(server: TestServer): Buffer {
  return Buffer.concat(readdirSync(server.folder).map((name) => readFileSync(join(server.folder, name))))
}
