import { Database } from 'bun:sqlite'
import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StartError } from '../../errors.ts'
import { MEMORY } from '../location.ts'
import { fileReason, inspectFiles, refuseBackup } from './files.ts'
import { defineFunctions } from './functions.ts'
import { matches } from './matches.ts'
import { pragmas } from './pragmas.ts'

/** How often this process has opened each file. */
const opened = new Map<string, number>()

/** Opens or creates the file. Every error is one sentence that names the file. */
export function openDatabase(path: string): Database {
  try {
    if (path !== MEMORY) prepareFile(path)
    const database = new Database(path, { readwrite: true, create: true, strict: true })
    for (const pragma of pragmas) database.run(`PRAGMA ${pragma}`)
    // From here on nobody waits inside of SQLite, which would block the whole process: see busy-retry.ts.
    database.run('PRAGMA busy_timeout = 0')
    database.function('takeback_matches', { deterministic: true, directOnly: true }, matches)
    defineFunctions(database)
    database.run(
      'CREATE TEMP TABLE "takeback_extent" ("type" INTEGER NOT NULL, "id" INTEGER NOT NULL, PRIMARY KEY ("type", "id")) WITHOUT ROWID',
    )
    return database
  } catch (error) {
    throw error instanceof StartError
      ? error
      : new StartError(`The database ${path} cannot be opened: ${fileReason(error)}`)
  }
}

export function closeDatabase(database: Database, path: string): void {
  database.close()
  if (path !== MEMORY) opened.set(resolve(path), timesOpened(path) - 1)
}

function prepareFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // POSIX: closing a file releases all locks of the process on it, including SQLite's. So a file that is already open
  // here is not inspected.
  if (timesOpened(path) === 0) {
    inspectFiles(path)
    refuseBackup(path)
  }
  // SQLite gives its other files the same permissions.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  opened.set(resolve(path), timesOpened(path) + 1)
}

function timesOpened(path: string): number {
  return opened.get(resolve(path)) ?? 0
}

/** While nobody reads, the log does not exceed this size, except by a single larger transaction. */
export const LOG_BYTES = 16 * 1024 * 1024

/** Moves the write-ahead log into the file if it is large; returns its size before. Throws if that fails. */
export function checkpointWhenLarge(database: Database, path: string, most = LOG_BYTES): number {
  if (path === MEMORY) return 0
  const { size = 0 } = statSync(`${path}-wal`, { throwIfNoEntry: false }) ?? {}
  if (size > most) checkpoint(database, 'PASSIVE')
  return size
}

/** Moves the log into the file. Returns whether all of it was moved: readers may prevent that. */
export function checkpoint(database: Database, mode: 'PASSIVE' | 'TRUNCATE'): boolean {
  return database.query(`PRAGMA wal_checkpoint(${mode})`).values()[0]?.[0] === 0
}
