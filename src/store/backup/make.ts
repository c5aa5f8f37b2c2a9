import { existsSync, statSync } from 'node:fs'
import { StartError } from '../../errors.ts'
import { copyData } from '../copy/copy.ts'
import { describeLocation, type Location } from '../location.ts'
import { readMetadata } from '../migration/metadata.ts'
import { openStore } from '../open.ts'
import {
  alterFile,
  discard,
  makeFolderOf,
  openReadOnly,
  partialOf,
  publish,
  vacuumInto,
} from '../sqlite/backup.ts'
import { unwritable } from '../sqlite/errors.ts'
import { keptSecret } from '../sqlite/secret.ts'
import { fingerprint, newPlaceholder } from './fingerprint.ts'
import { inspectBackup } from './inspect.ts'
import { dropAbandoned } from './keep.ts'
import { type BackupRecord, countRows, type LastChange, lastChangeOf, rowsIn, writeRecord } from './record.ts'
import { sealSecret } from './sealing.ts'

export interface Backup {
  readonly file: string
  readonly bytes: number
  readonly rows: number
  readonly lastChange: LastChange | null
  readonly secret: 'sealed' | 'plain' | 'none'
}

export interface BackupSettings {
  /** The running version of Takeback. */
  readonly version: string
  /** The passphrase that seals the secret. */
  readonly passphrase?: string | undefined
  /** A secret that is not stored with the data. A backup contains it only if a passphrase seals it. */
  readonly secret?: string | undefined
}

/** Discards an unfinished backup, after the process that made it was ended. */
export function discardUnfinished(file: string, process: number): void {
  discard(partialOf(file, process))
}

/**
 * Writes one state of a database, of whatever kind, into a new SQLite file. Servers may use the database meanwhile. The
 * file gets its name once it is complete, checked and on disk.
 */
export async function makeBackup(from: Location, file: string, settings: BackupSettings): Promise<Backup> {
  if (existsSync(file)) throw new StartError(`${file} already exists: name another file.`)
  makeFolderOf(file)
  dropAbandoned(file)
  const partial = partialOf(file, process.pid)
  discard(partial)
  try {
    const { secret: kept, least } = await fill(from, partial)
    const placeholder = newPlaceholder()
    const record = await describeFile(partial, {
      ...settings,
      from: describeLocation(from),
      kept,
      placeholder,
    })
    fingerprint(partial, placeholder)
    await verify(partial, record, least)
    publish(partial, file)
    return {
      file,
      bytes: statSync(file).size,
      rows: rowsIn(record),
      lastChange: record.lastChange,
      secret: record.secret === null ? 'none' : typeof record.secret === 'string' ? 'plain' : 'sealed',
    }
  } catch (error) {
    discard(partial)
    throw unwritable(file, error)
  }
}

interface Filled {
  readonly secret: string | undefined
  /** The last change before the backup began. The backup must contain it. */
  readonly least: number
}

async function fill(from: Location, partial: string): Promise<Filled> {
  if (from.kind === 'sqlite') {
    const least = await lastIn(from.path)
    vacuumInto(from.path, partial)
    return { secret: keptSecret(from.path), least }
  }
  const source = await openStore(from)
  try {
    const least = await source.structure.transact('read', async (session) => {
      if ((await readMetadata(source.structure, session)) === undefined)
        throw new StartError(`There is nothing to back up in ${source.structure.place}.`)
      return (await lastChangeOf(source.structure, session))?.seq ?? 0
    })
    await alterFile(partial, 'backup', (target) => copyData(source.structure, target, () => {}))
    return { secret: await source.secret(), least }
  } finally {
    await source.close()
  }
}

async function lastIn(path: string): Promise<number> {
  const { structure, isBackup, close } = openReadOnly(path)
  try {
    if (isBackup) throw new StartError(`${path} is a backup already: copy the file.`)
    return await structure.transact('read', async (session) => {
      if ((await readMetadata(structure, session)) === undefined)
        throw new StartError(`There is nothing to back up in ${path}.`)
      return (await lastChangeOf(structure, session))?.seq ?? 0
    })
  } finally {
    close()
  }
}

/** The data for the record of a backup. */
interface Described extends BackupSettings {
  /** The database that it is of. */
  readonly from: string
  /** The secret that is stored with the data. */
  readonly kept: string | undefined
  readonly placeholder: string
}

function describeFile(
  partial: string,
  { from, version, passphrase, secret: given, kept, placeholder }: Described,
): Promise<BackupRecord> {
  const secret = passphrase === undefined ? kept : (given ?? kept)
  return alterFile(partial, 'backup', (structure) =>
    structure.transact('change', async (session) => {
      const metadata = await readMetadata(structure, session)
      if (metadata === undefined) throw new StartError(`${from} could not be copied to ${partial}.`)
      const record: BackupRecord = {
        madeAt: new Date().toISOString(),
        from,
        takeback: version,
        lastChange: await lastChangeOf(structure, session),
        rows: await countRows(structure, session, metadata),
        secret:
          secret === undefined ? null : passphrase === undefined ? secret : sealSecret(secret, passphrase),
      }
      await writeRecord(session, record, placeholder)
      return record
    }),
  )
}

/** Reads the file as a restore would. */
async function verify(partial: string, { lastChange }: BackupRecord, least: number): Promise<void> {
  await inspectBackup(partial)
  if ((lastChange?.seq ?? 0) < least)
    throw new StartError(
      `The backup ends at change ${lastChange?.seq ?? 0}, but the database had change ${least} before.`,
    )
}
