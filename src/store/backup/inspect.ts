import { StartError } from '../../errors.ts'
import { readMetadata } from '../migration/metadata.ts'
import type { DatabaseSession, Structure } from '../migration/structure.ts'
import { id, sql } from '../sql.ts'
import { openReadOnly } from '../sqlite/backup.ts'
import { isIntact } from './fingerprint.ts'
import { type BackupRecord, countRows, readHash, readRecord } from './record.ts'

/** A backup that was read from end to end and is intact. */
export interface Inspected {
  readonly record: BackupRecord
  readonly types: readonly TypeCount[]
}

export interface TypeCount {
  readonly name: string
  readonly live: number
  readonly trash: number
}

/** Refuses a file that is not a backup, or that has changed since it was made. */
export async function inspectBackup(file: string): Promise<Inspected> {
  try {
    const { structure, faults, close } = openReadOnly(file)
    try {
      const found = faults()
      if (found.length > 0) throw damaged(file, found.join('; '))
      return await structure.transact('read', (session) => inspectTables(file, structure, session))
    } finally {
      close()
    }
  } catch (error) {
    if (error instanceof StartError) throw error
    throw damaged(file, error instanceof Error ? error.message : String(error))
  }
}

async function inspectTables(
  file: string,
  structure: Structure,
  session: DatabaseSession,
): Promise<Inspected> {
  const metadata = await readMetadata(structure, session)
  const record = metadata === undefined ? undefined : await readRecord(session)
  if (metadata === undefined || record === undefined) throw new StartError(`${file} is not a backup.`)
  if (!isIntact(file, await readHash(session))) throw damaged(file, 'it has changed since it was made')
  const rows = await countRows(structure, session, metadata)
  const other = Object.keys(record.rows).filter((name) => rows[name] !== record.rows[name])
  if (other.length > 0) throw damaged(file, `it does not have as many rows of ${other.join(', ')} as it says`)
  const types: TypeCount[] = []
  for (const { name } of metadata.tables) {
    const [row = []] = await session.all(sql`SELECT count(*), count("deleted_at") FROM ${id(name)}`)
    const [all, deleted] = row
    types.push({ name, live: Number(all) - Number(deleted), trash: Number(deleted) })
  }
  return { record, types }
}

function damaged(file: string, why: string): StartError {
  return new StartError(`The backup ${file} is damaged and cannot be used: ${why}.`)
}
