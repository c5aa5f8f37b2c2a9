import { Database } from 'bun:sqlite'
import { closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { StartError } from '../../errors.ts'

const HEADER_BYTES = 100
const MAGIC = 'SQLite format 3\0'

/** Opens the file, or makes it. Every reason not to is one sentence that names the file. */
export function openDatabase(path: string): Database {
  try {
    mkdirSync(dirname(path), { recursive: true })
    if (existsSync(path)) refuseDamaged(path)
    const database = new Database(path, { readwrite: true, create: true, strict: true })
    for (const pragma of pragmas) database.run(`PRAGMA ${pragma}`)
    database.run(
      'CREATE TEMP TABLE "takeback_extent" ("type" INTEGER NOT NULL, "id" INTEGER NOT NULL, PRIMARY KEY ("type", "id")) WITHOUT ROWID',
    )
    return database
  } catch (error) {
    throw error instanceof StartError
      ? error
      : new StartError(`The database ${path} cannot be opened: ${reason(error)}`)
  }
}

/** FULL: an acknowledged write is on disk. `bench/limit.ts` runs with the same. */
export const pragmas = [
  'busy_timeout = 5000',
  'journal_mode = WAL',
  'synchronous = FULL',
  'foreign_keys = ON',
  'secure_delete = ON',
  'temp_store = MEMORY',
  'cache_size = -16000',
  'wal_autocheckpoint = 4000',
] as const

function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (/not a database|malformed/.test(message)) return damaged
  return `${message.replace(/\.$/, '')}.`
}

const damaged =
  'it is damaged, or not a database of Takeback. Nothing was touched: put a backup in its place, or name another file.'

/** What can be told from the first page: a wrong header, or a file that is shorter than it says. */
function refuseDamaged(path: string): void {
  const { size } = statSync(path)
  if (size === 0) return
  const header = Buffer.alloc(HEADER_BYTES)
  const file = openSync(path, 'r')
  readSync(file, header, 0, HEADER_BYTES, 0)
  closeSync(file)
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  const pages = header.readUInt32BE(28)
  // The count of pages holds only where it was written by the same change as the rest of the header.
  const counted = header.readUInt32BE(24) === header.readUInt32BE(92)
  if (header.toString('latin1', 0, 16) !== MAGIC || (counted && size < pages * pageSize))
    throw new StartError(`The database ${path} cannot be opened: ${damaged}`)
}
