import { constants, Database } from 'bun:sqlite'
import { closeSync, existsSync, openSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { StartError } from '../../errors.ts'
import { MEMORY } from '../location.ts'
import { readFromDisk } from './cache.ts'
import { markFile, readMark } from './mark.ts'
import { BUSY_MS } from './pragmas.ts'
import { type Break, findBreak } from './wal.ts'

const HEADER_BYTES = 100
const MAGIC = 'SQLite format 3\0'
const PAUSE_MS = 50

const REMEDY = 'Nothing was touched: put a backup in its place, or name another file.'
const DAMAGED = `it is damaged, or not a database of Takeback. ${REMEDY}`

/**
 * Inspects the files of a database before SQLite opens them, and refuses with a StartError if data that was on disk is
 * missing. SQLite uses a log as far as it is readable, and then overwrites the rest.
 */
export function inspectFiles(path: string): void {
  const pageSize = refuseWrongHeader(path)
  const mark = readMark(path)
  const logged = sizeOf(`${path}-wal`) > 0
  const ended = mark === undefined ? !logged : mark.state === 'closed'
  if (!ended) readFromDisk(path, mark?.state === 'lost')
  const broken = logged ? findLastingBreak(`${path}-wal`, pageSize) : undefined
  const suspected = existsSync(suspicionOf(path))
  if (ended && !logged && !suspected) return
  const seq = existsSync(path) ? probe(path, suspected) : 0
  const proven = ended ? 0 : (mark?.seq ?? 0)
  if (broken !== undefined || seq < proven)
    throw new StartError(`The database ${path} cannot be opened: ${missing(path, broken, seq, proven)}`)
}

/** The reason in one sentence. */
export function fileReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (/not a database|malformed/.test(message)) return DAMAGED
  return `${message.replace(/\.$/, '')}.`
}

function missing(path: string, broken: Break | undefined, seq: number, proven: number): string {
  const what =
    broken === undefined
      ? `its write-ahead log ${path}-wal is incomplete or was removed`
      : `its write-ahead log ${path}-wal is damaged at byte ${broken.offset}, and ${counted(broken.commits, 'commit')} behind it cannot be read`
  const much =
    seq < proven
      ? `. ${counted(proven - seq, 'change')} ${proven - seq === 1 ? 'is' : 'are'} missing: the journal had reached ${proven}, and can be read up to ${seq}`
      : ''
  const file =
    broken === undefined ? ` If you have put an older file there on purpose, remove ${markFile(path)}.` : ''
  return `${what}${much}. Nothing was touched: put a backup in its place, or the log back.${file}`
}

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

/** Refuses a wrong header, or a file that is shorter than its header says. Returns the page size. */
function refuseWrongHeader(path: string): number {
  const size = sizeOf(path)
  if (size === 0) return 4096
  const header = readHeader(path)
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, 16) !== MAGIC)
    throw new StartError(`The database ${path} cannot be opened: ${DAMAGED}`)
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  const pages = header.readUInt32BE(28)
  // The page count is valid only if the same change wrote it and the rest of the header, and if the log is empty: a
  // checkpoint writes the first page before the file has grown.
  const counted = sizeOf(`${path}-wal`) === 0 && header.readUInt32BE(24) === header.readUInt32BE(92)
  if (counted && size < pages * pageSize)
    throw new StartError(`The database ${path} cannot be opened: ${DAMAGED}`)
  return pageSize
}

function readHeader(path: string): Buffer {
  return Buffer.from(readBytes(path, 0, HEADER_BYTES))
}

/** The `application_id` of a backup. */
export const BACKUP_MARK = 0x54424b01

/** Refuses a backup. It must stay as it was made: even opening it for writing would change its first page. */
export function refuseBackup(path: string): void {
  if (sizeOf(path) > 0 && readHeader(path).readUInt32BE(68) === BACKUP_MARK)
    throw new StartError(
      `${path} is a backup and cannot be changed: create a database from it with "takeback restore".`,
    )
}

/** Looks twice: a process that restarts the log makes it look broken for a moment. */
function findLastingBreak(log: string, pageSize: number): Break | undefined {
  const look = () => findBreak((offset, length) => readBytes(log, offset, length), pageSize)
  const first = look()
  if (first === undefined) return undefined
  Bun.sleepSync(PAUSE_MS)
  return look()?.offset === first.offset ? first : undefined
}

/**
 * The last readable change of the journal. The connection is read-only, so that closing it does not move the log into
 * the file. After damage was found, the whole file is checked first.
 */
function probe(path: string, suspected: boolean): number {
  const database = openReadOnly(path)
  try {
    database.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
    if (suspected && database.query('PRAGMA quick_check(1)').values()[0]?.[0] !== 'ok')
      throw new StartError(`The database ${path} cannot be opened: ${DAMAGED}`)
    if (suspected) rmSync(suspicionOf(path))
    return lastSeq(database)
  } finally {
    database.close()
  }
}

/** Opens a file read-only, without creating a log if there is none. */
function openReadOnly(path: string): Database {
  if (existsSync(`${path}-wal`)) return new Database(path, { readonly: true })
  const escaped = path.replace(/[%?#]/g, encodeURIComponent)
  return new Database(
    `file:${escaped}?immutable=1`,
    constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI,
  )
}

/** The last number ever given: retention erases old changes, but the counter stays. */
export function lastSeq(database: Database): number {
  using known = database.prepare(`SELECT 1 FROM "sqlite_schema" WHERE "name" = 'sqlite_sequence'`)
  if (known.values().length === 0) return 0
  using last = database.prepare(`SELECT "seq" FROM "sqlite_sequence" WHERE "name" = 'takeback_journal'`)
  return Number(last.values()[0]?.[0] ?? 0)
}

/** The file that records a damaged page. Checking all pages at every start would take too long. */
function suspicionOf(path: string): string {
  return `${path}.suspect`
}

export function suspect(path: string, reason: string): void {
  if (path === MEMORY) return
  try {
    writeFileSync(suspicionOf(path), `${reason}\n`)
  } catch {
    // Ignored: the server ends anyway, and finds the damage again.
  }
}

/** To be called before another database takes this place: the records about the former one do not apply to it. */
export function forgetFormer(path: string): void {
  rmSync(markFile(path), { force: true })
  rmSync(suspicionOf(path), { force: true })
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function readBytes(file: string, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  const descriptor = openSync(file, 'r')
  try {
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, offset))
  } finally {
    closeSync(descriptor)
  }
}
