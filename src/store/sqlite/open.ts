import { Database } from 'bun:sqlite'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { StartError } from '../../errors.ts'
import { MEMORY } from '../location.ts'
import { matches } from './matches.ts'
import { BUSY_MS, pragmas } from './pragmas.ts'

const HEADER_BYTES = 100
const MAGIC = 'SQLite format 3\0'

/** Opens the file, or makes it. Every reason not to is one sentence that names the file. */
export function openDatabase(path: string): Database {
  try {
    if (path !== MEMORY) prepareFile(path)
    const database = new Database(path, { readwrite: true, create: true, strict: true })
    for (const pragma of pragmas) database.run(`PRAGMA ${pragma}`)
    database.function('takeback_matches', { deterministic: true, directOnly: true }, matches)
    refuseSuspect(database, path)
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

function prepareFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (existsSync(path)) {
    refuseDamaged(path)
    refuseBackup(path)
  }
  // SQLite gives the files beside it the same rights.
  else closeSync(openSync(path, 'a', 0o600))
}

function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (/not a database|malformed/.test(message)) return damaged
  return `${message.replace(/\.$/, '')}.`
}

const damaged =
  'it is damaged, or not a database of Takeback. Nothing was touched: put a backup in its place, or name another file.'

/** What can be told from the first page: a wrong header, or a file that is shorter than it says. */
export function refuseDamaged(path: string): void {
  const { size } = statSync(path)
  if (size === 0) return
  const header = readHeader(path)
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  const pages = header.readUInt32BE(28)
  // The count of pages holds only where it was written by the same change as the rest of the header, and where nothing
  // is left in the log: a checkpoint writes the first page before the file has grown.
  const logged = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
  const counted = !logged && header.readUInt32BE(24) === header.readUInt32BE(92)
  if (header.toString('latin1', 0, 16) !== MAGIC || (counted && size < pages * pageSize))
    throw new StartError(`The database ${path} cannot be opened: ${damaged}`)
}

function readHeader(path: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  const file = openSync(path, 'r')
  readSync(file, header, 0, HEADER_BYTES, 0)
  closeSync(file)
  return header
}

/** The `application_id` of a backup. */
export const BACKUP_MARK = 0x54424b01

/** A backup stays as it was made: even opening it to write would change its first page. */
function refuseBackup(path: string): void {
  if (readHeader(path).readUInt32BE(68) === BACKUP_MARK)
    throw new StartError(
      `${path} is a backup, and is not changed: "takeback restore" makes a database from it.`,
    )
}

/** Where it is written down that a page was found damaged: looking at all of them at every start would take too long. */
function suspicionOf(path: string): string {
  return `${path}.suspect`
}

export function suspect(path: string, reason: string): void {
  if (path === MEMORY) return
  writeFileSync(suspicionOf(path), `${reason}\n`)
}

/** After damage was met, nothing is served before the whole file has been looked at. */
function refuseSuspect(database: Database, path: string): void {
  if (path === MEMORY || !existsSync(suspicionOf(path))) return
  const sound = database.query('PRAGMA quick_check(1)').values()[0]?.[0] === 'ok'
  if (!sound) throw new StartError(`The database ${path} cannot be opened: ${damaged}`)
  rmSync(suspicionOf(path))
}

/** As long as nobody reads, the log does not grow beyond this, but for a transaction that is larger. */
export const LOG_BYTES = 16 * 1024 * 1024

/** Brings the write-ahead log into the file once it has grown, and says how large it was. Throws where that fails. */
export function checkpointWhenLarge(database: Database, path: string, most = LOG_BYTES): number {
  if (path === MEMORY) return 0
  const { size = 0 } = statSync(`${path}-wal`, { throwIfNoEntry: false }) ?? {}
  if (size > most) checkpoint(database, 'PASSIVE')
  return size
}

/** Whether all of it was brought in: others who read may stand in the way. */
export function checkpoint(database: Database, manner: 'PASSIVE' | 'TRUNCATE'): boolean {
  database.run('PRAGMA busy_timeout = 0')
  try {
    return database.query(`PRAGMA wal_checkpoint(${manner})`).values()[0]?.[0] === 0
  } finally {
    database.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
  }
}
