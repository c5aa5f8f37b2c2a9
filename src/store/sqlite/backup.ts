import { Database } from 'bun:sqlite'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { StartError } from '../../errors.ts'
import type { Structure } from '../migration/structure.ts'
import { unwritable } from './errors.ts'
import { BACKUP_MARK, inspectFiles } from './files.ts'
import { readingPragmas } from './pragmas.ts'
import { structureOf } from './structure.ts'

/** A database file that is opened read-only. */
export interface ReadOnly {
  readonly structure: Structure
  /** Whether it is marked as a backup. */
  readonly isBackup: boolean
  /** What SQLite itself finds wrong with the file. */
  faults(): string[]
  close(): void
}

export function openReadOnly(path: string): ReadOnly {
  const database = openToRead(path)
  return {
    structure: structureOf(database),
    isBackup: Number(database.query('PRAGMA application_id').values()[0]?.[0]) === BACKUP_MARK,
    faults() {
      const checked = database
        .query('PRAGMA quick_check(10)')
        .values()
        .map(([text]) => String(text))
      const dangling = database.query('PRAGMA foreign_key_check').values().length
      return [
        ...checked.filter((text) => text !== 'ok'),
        ...(dangling > 0 ? [`${dangling} references point to rows that are not there`] : []),
      ]
    },
    close: () => database.close(),
  }
}

function openToRead(path: string): Database {
  if (!existsSync(path)) throw new StartError(`There is no ${path}.`)
  inspectFiles(path)
  const database = new Database(path, { readonly: true, strict: true })
  for (const pragma of readingPragmas) database.run(`PRAGMA ${pragma}`)
  return database
}

/** Copies one state of a database into a new file. Servers may use the database meanwhile. */
export function vacuumInto(path: string, file: string): void {
  const database = openToRead(path)
  try {
    // SQLite treats an empty file as a new one, and keeps its permissions.
    closeSync(openSync(file, 'wx', 0o600))
    database.query('VACUUM INTO ?').run(file)
  } finally {
    database.close()
  }
}

/** Creates or changes a file that nobody else has open, and leaves no files beside it. `publish` brings it to disk. */
export async function alterFile<T>(
  file: string,
  into: 'backup' | 'database',
  work: (structure: Structure) => Promise<T>,
): Promise<T> {
  if (!existsSync(file)) closeSync(openSync(file, 'wx', 0o600))
  const database = new Database(file, { readwrite: true, create: false, strict: true })
  try {
    database.run('PRAGMA journal_mode = DELETE')
    database.run('PRAGMA synchronous = OFF')
    database.run(`PRAGMA application_id = ${into === 'backup' ? BACKUP_MARK : 0}`)
    return await work(structureOf(database))
  } finally {
    database.close()
  }
}

/** Creates the folder of a new file. */
export function makeFolderOf(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unwritable(file, error)
  }
}

/** Gives a finished file its name. From then on it survives a power cut. */
export function publish(partial: string, file: string): void {
  sync(partial)
  if (existsSync(file)) throw new StartError(`${file} already exists: name another file.`)
  renameSync(partial, file)
  sync(dirname(file))
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** The name of an unfinished file, which contains the process that makes it. */
export function partialOf(file: string, process: number): string {
  return `${file}.${process}.partial`
}

/** Removes an unfinished file, and the files that SQLite puts beside it. */
export function discard(partial: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm', '.secret']) rmSync(partial + suffix, { force: true })
}
