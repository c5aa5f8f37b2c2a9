import { StartError } from '../../errors.ts'
import type { Params } from '../dialect.ts'
import { FORMAT } from '../own.ts'
import { createOwnTables, upgradeOwnTables } from '../own-ddl.ts'
import { join, param, quoted, sql } from '../sql.ts'
import type { Table } from '../tables.ts'
import type { DatabaseSession, Structure } from './structure.ts'

/** The key that marks an incomplete copy. Its value is the format. */
export const COPYING = 'copying'

/** The key of a backup's record. Other keys with this prefix are also about backups. */
export const BACKUP = 'backup'

/** The prefix of the keys that store how far retention has cut the journal of a type. The type's name follows. */
export const CUT = 'cut '

/** Keys that copies take along: service time, the last time ahead of the clock, and the marks of the journal. */
export const [SERVED, AHEAD, MARKS] = ['served', 'ahead', 'marks'] as const

/** The metadata of a database, in `takeback_meta`. */
export interface Metadata {
  readonly format: number
  readonly tables: readonly Table[]
  /** Counts the changes of the structure. `since`: the last change that former declarations do not work with. */
  readonly generation: number
  readonly since: number
  readonly fingerprint: string
  readonly past: readonly string[]
}

export const emptyMetadata: Metadata = {
  format: FORMAT,
  tables: [],
  generation: 0,
  since: 0,
  fingerprint: '',
  past: [],
}

/** Reads the metadata; undefined if the database is new. */
export async function readMetadata(
  structure: Structure,
  session: DatabaseSession,
): Promise<Metadata | undefined> {
  const meta = await refuseForeign(structure, session)
  if (!meta.has('format')) return undefined
  const format = Number(meta.get('format'))
  if (format > FORMAT)
    throw new StartError(
      `The database ${structure.place} was written by a newer Takeback (format ${format}; this one reads ${FORMAT}): update Takeback.`,
    )
  if (meta.has(COPYING))
    throw new StartError(
      `The database ${structure.place} is an incomplete copy: run "takeback copy" again, which starts over.`,
    )
  return {
    format,
    tables: JSON.parse(meta.get('schema') ?? '[]') as Table[],
    generation: Number(meta.get('generation') ?? 0),
    since: Number(meta.get('since') ?? 0),
    fingerprint: meta.get('fingerprint') ?? '',
    past: JSON.parse(meta.get('past') ?? '[]') as string[],
  }
}

export async function makeOwnTables({ ddl }: Structure, session: DatabaseSession): Promise<void> {
  for (const source of createOwnTables(ddl)) await session.run(source)
  await writeMetaValue(session, 'format', String(FORMAT))
}

/** Upgrades Takeback's own tables to the current format. */
export async function upgrade(
  { ddl }: Structure,
  session: DatabaseSession,
  { format }: Metadata,
): Promise<void> {
  if (format === FORMAT) return
  for (const source of upgradeOwnTables(ddl, format)) await session.run(source)
  await writeMetaValue(session, 'format', String(FORMAT))
}

export async function writeMetadata(
  session: DatabaseSession,
  metadata: Omit<Metadata, 'format'>,
): Promise<void> {
  await writeMetaValue(session, 'schema', JSON.stringify(metadata.tables))
  await writeMetaValue(session, 'generation', String(metadata.generation))
  await writeMetaValue(session, 'since', String(metadata.since))
  await writeMetaValue(session, 'fingerprint', metadata.fingerprint)
  await writeMetaValue(session, 'past', JSON.stringify(metadata.past))
}

/** The metadata that copies take along: key, value. */
export async function readCarried(session: DatabaseSession): Promise<[key: string, value: string][]> {
  const keys = join([SERVED, AHEAD, MARKS].map(quoted))
  const rows = await session.all(
    sql`SELECT "key", "value" FROM "takeback_meta" WHERE "key" IN (${keys}) OR "key" LIKE ${quoted(`${CUT}%`)}`,
  )
  return rows.map(([key, value]) => [String(key), String(value)])
}

/** The metadata under a key; undefined if there is none. */
export async function readMetaValue(session: DatabaseSession, key: string): Promise<string | undefined> {
  const [row] = await session.all(sql`SELECT "value" FROM "takeback_meta" WHERE "key" = ${quoted(key)}`)
  return row === undefined ? undefined : String(row[0])
}

async function readAllMeta(session: DatabaseSession): Promise<Map<string, string>> {
  const rows = await session.all(sql`SELECT "key", "value" FROM "takeback_meta"`)
  return new Map(rows.map(([key, value]) => [String(key), String(value)]))
}

export async function writeMetaValue(session: DatabaseSession, key: string, value: string): Promise<void> {
  const params: Params = { $key: key, $value: value }
  await session.run(
    sql`INSERT INTO "takeback_meta" ("key", "value") VALUES (${param('$key')}, ${param('$value')})
      ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"`,
    params,
  )
}

/** The metadata of a database that is empty or Takeback's. Any other is refused. */
export async function refuseForeign(
  { ddl, place }: Structure,
  session: DatabaseSession,
): Promise<ReadonlyMap<string, string>> {
  const tables = (await session.all(ddl.tables)).map(([name]) => String(name))
  const meta = tables.includes('takeback_meta') ? await readAllMeta(session) : new Map<string, string>()
  if (!meta.has('format') && tables.some((name) => name !== 'takeback_meta'))
    throw new StartError(`The database ${place} has tables that are not Takeback's: name another database.`)
  return meta
}
