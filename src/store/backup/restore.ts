import { constants, copyFileSync, existsSync } from 'node:fs'
import { StartError } from '../../errors.ts'
import { type CopyEnd, copyData } from '../copy/copy.ts'
import { describeLocation, type Location } from '../location.ts'
import { forgetIncarnation } from '../migration/incarnation.ts'
import { readMetadata } from '../migration/metadata.ts'
import { openStore } from '../open.ts'
import { alterFile, discard, makeFolderOf, openReadOnly, partialOf, publish } from '../sqlite/backup.ts'
import { unwritable } from '../sqlite/errors.ts'
import { forgetFormer } from '../sqlite/files.ts'
import { keepSecret, secretFile } from '../sqlite/secret.ts'
import { dropAbandoned } from './keep.ts'
import { type BackupRecord, eraseRecord } from './record.ts'
import { openSecret } from './sealing.ts'

/** The secret of a backup, unsealed with the passphrase; undefined if it is to be left out. */
export function secretOf(
  { secret }: BackupRecord,
  { passphrase, leaveOut }: { readonly passphrase: string | undefined; readonly leaveOut: boolean },
): string | undefined {
  if (secret === null || leaveOut) return undefined
  if (typeof secret === 'string') return secret
  if (passphrase === undefined)
    throw new StartError(
      'The secret of this backup is sealed: give its passphrase with --passphrase-file or TAKEBACK_BACKUP_PASSPHRASE. Without it, --without-secret restores the data alone; everybody must log in again, and former passwords cannot be taken back.',
    )
  return openSecret(secret, passphrase)
}

/** Restores an inspected backup to a place without a database. `atEnd` runs before it can be served. */
export async function restoreBackup(
  file: string,
  to: Location,
  secret: string | undefined,
  atEnd: CopyEnd['atEnd'] = async () => {},
): Promise<void> {
  if (to.kind === 'sqlite') await restoreFile(file, to.path, secret, atEnd)
  else await restoreInto(file, to, secret, atEnd)
}

type AtEnd = NonNullable<CopyEnd['atEnd']>

/** Refuses to overwrite anything. Also called before the backup is read. */
export function refuseTaken(to: Location): void {
  if (to.kind !== 'sqlite') return
  const taken = [to.path, `${to.path}-wal`, secretFile(to.path)].find((path) => existsSync(path))
  if (taken !== undefined)
    throw new StartError(
      `${taken} already exists and is not overwritten: name another place with --to, or move it away first.`,
    )
}

async function restoreFile(
  file: string,
  path: string,
  secret: string | undefined,
  atEnd: AtEnd,
): Promise<void> {
  refuseTaken({ kind: 'sqlite', path, statementMs: 0 })
  makeFolderOf(path)
  dropAbandoned(path)
  const partial = partialOf(path, process.pid)
  try {
    copyFileSync(file, partial, constants.COPYFILE_EXCL)
    await alterFile(partial, 'database', (structure) =>
      structure.transact('change', async (session) => {
        await eraseRecord(session)
        await forgetIncarnation(session)
        const metadata = await readMetadata(structure, session)
        if (metadata !== undefined) await atEnd({ structure, session }, metadata)
      }),
    )
    if (secret !== undefined) keepSecret(path, secret)
    forgetFormer(path)
    publish(partial, path)
  } catch (error) {
    discard(partial)
    throw unwritable(path, error)
  }
}

/** Restores row by row. The database must be empty. */
async function restoreInto(
  file: string,
  to: Location,
  secret: string | undefined,
  atEnd: AtEnd,
): Promise<void> {
  const source = openReadOnly(file)
  try {
    const target = await openStore(to)
    try {
      const beforeEnd = async () => {
        if (secret !== undefined && (await target.keepSecret(secret)) !== secret)
          throw new StartError(
            `There is another secret in ${describeLocation(to)} already: name an empty database.`,
          )
      }
      await copyData(source.structure, target.structure, () => {}, { beforeEnd, atEnd })
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}
