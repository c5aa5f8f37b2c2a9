import { Database } from 'bun:sqlite'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { StartError } from '../../errors.ts'
import type { Structure } from '../migration/structure.ts'
import { unwritable } from './errors.ts'
import { BACKUP_MARK, inspectFiles } from './files.ts'
import { readingPragmas } from './pragmas.ts'
import { structureOf } from './structure.ts'

/** A database file that is looked at, and nothing else. */
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

/** Copies one state of a database, which may be served meanwhile, into a new file. */
export function vacuumInto(path: string, file: string): void {
  const database = openToRead(path)
  try {
    // SQLite takes an empty file as a new one, and leaves its rights as they are.
    closeSync(openSync(file, 'wx', 0o600))
    database.query('VACUUM INTO ?').run(file)
  } finally {
    database.close()
  }
}

/** Makes or changes a file that nobody else has open, and leaves no files beside it. It is on disk once it is published. */
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

/** Makes the folder of a new file. */
export function makeFolderOf(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unwritable(file, error)
  }
}

/** Gives a finished file its name. After this, a power cut leaves all of it. */
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

/** A file that is not finished yet. Its name says which process makes it. */
export function partialOf(file: string, process: number): string {
  return `${file}.${process}.partial`
}

/** A file that was not finished, and what SQLite puts beside it. */
export function discard(partial: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm', '.secret']) rmSync(partial + suffix, { force: true })
}
