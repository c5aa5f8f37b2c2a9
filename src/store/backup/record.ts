import { copiedTables } from '../copy/tables.ts'
import { BACKUP, type Metadata, readMetaValue, writeMetaValue } from '../migration/metadata.ts'
import type { DatabaseSession, Structure } from '../migration/structure.ts'
import { id, quoted, sql } from '../sql.ts'
import type { SealedSecret } from './sealing.ts'

/** The metadata of a backup. */
export interface BackupRecord {
  readonly madeAt: string
  /** The database that it is of, without a password. */
  readonly from: string
  /** The version of Takeback that made it. */
  readonly takeback: string
  /** The last change in its journal, if there is any. */
  readonly lastChange: LastChange | null
  /** The number of rows in each table. */
  readonly rows: Readonly<Record<string, number>>
  readonly secret: string | SealedSecret | null
}

export interface LastChange {
  readonly seq: number
  readonly at: string
}

/** The key of the hash. It is separate from the record, since it is written last: see `fingerprint.ts`. */
const HASH = `${BACKUP} hash`

export async function readRecord(session: DatabaseSession): Promise<BackupRecord | undefined> {
  const text = await readMetaValue(session, BACKUP)
  return text === undefined ? undefined : (JSON.parse(text) as BackupRecord)
}

export async function readHash(session: DatabaseSession): Promise<string> {
  return (await readMetaValue(session, HASH)) ?? ''
}

export async function writeRecord(
  session: DatabaseSession,
  record: BackupRecord,
  hash: string,
): Promise<void> {
  await eraseRecord(session)
  await writeMetaValue(session, BACKUP, JSON.stringify(record))
  await writeMetaValue(session, HASH, hash)
}

export async function eraseRecord(session: DatabaseSession): Promise<void> {
  await session.run(sql`DELETE FROM "takeback_meta" WHERE "key" LIKE ${quoted(`${BACKUP}%`)}`)
}

export async function lastChangeOf(
  { dialect }: Structure,
  session: DatabaseSession,
): Promise<LastChange | null> {
  const [row] = await session.all(
    sql`SELECT "seq", ${dialect.array([dialect.render('datetime', id('at'), 0)])} FROM "takeback_journal" ORDER BY "seq" DESC LIMIT 1`,
  )
  if (row === undefined) return null
  const [seq, times] = row
  const [at] = JSON.parse(String(times)) as [string]
  return { seq: Number(seq), at: String(at) }
}

export async function countRows(
  { ddl }: Structure,
  session: DatabaseSession,
  metadata: Metadata,
): Promise<Record<string, number>> {
  const held = new Set((await session.all(ddl.tables)).map(([name]) => String(name)))
  const rows: Record<string, number> = {}
  for (const { name } of copiedTables(metadata)) {
    if (!held.has(name)) continue
    const [row] = await session.all(sql`SELECT count(*) FROM ${id(name)}`)
    rows[name] = Number(row?.[0])
  }
  return rows
}

export function rowsIn({ rows }: Pick<BackupRecord, 'rows'>): number {
  return Object.values(rows).reduce((sum, one) => sum + one, 0)
}
