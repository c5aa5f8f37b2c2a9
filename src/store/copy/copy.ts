import { StartError } from '../../errors.ts'
import { completeTable, createTable } from '../migration/apply.ts'
import {
  COPYING,
  type Metadata,
  makeOwnTables,
  readCarried,
  readMetadata,
  refuseForeign,
  writeMetadata,
  writeMetaValue,
} from '../migration/metadata.ts'
import type { DatabaseSession, Structure, StructureSession } from '../migration/structure.ts'
import { FORMAT } from '../own.ts'
import { id, intLiteral, quoted, sql } from '../sql.ts'
import { unwritable } from '../sqlite/errors.ts'
import type { Store } from '../store.ts'
import { type EndedMeanwhile, endedMeanwhile } from './ended.ts'
import { pagesOf, Tally } from './pages.ts'
import { type CopiedTable, copiedTables } from './tables.ts'

/** The progress of a copy. */
export interface Progress {
  readonly doing: 'copying' | 'checking'
  readonly table: string
  readonly rows: number
  readonly of: number
}

export interface Copied {
  readonly rows: number
  readonly tables: number
  /** Changes to the source since the copy began. They are not in the copy. */
  readonly missed: number
}

/** Copies everything in a database into an empty one: ids, versions, times, trash, journal, secrets and counters. */
export async function copy(
  from: Store,
  to: Store,
  report: (progress: Progress) => void,
  atEnd?: CopyEnd['atEnd'],
): Promise<Copied & { readonly ended: EndedMeanwhile }> {
  const end = { beforeEnd: () => copySecret(from, to), ...(atEnd !== undefined && { atEnd }) }
  try {
    const copied = await copyData(from.structure, to.structure, report, end)
    return { ...copied, ended: await endedMeanwhile(from.structure, to.structure) }
  } catch (error) {
    throw unwritable(to.structure.place, error)
  }
}

/** What happens at the end of a copy. */
export interface CopyEnd {
  beforeEnd?(): Promise<void>
  /** Runs in the transaction that completes the copy, after which it is a database like any other. */
  atEnd?(database: StructureSession, metadata: Metadata): Promise<void>
}

/**
 * Copies everything but the secret. The source may be served meanwhile: the copy is one state of it. Until the end, the
 * target is marked as an incomplete copy: it is never served, and the next copy starts over.
 */
export async function copyData(
  source: Structure,
  target: Structure,
  report: (progress: Progress) => void,
  { beforeEnd, atEnd }: CopyEnd = {},
): Promise<Copied> {
  const copied = await source.transact('read', async (session) => {
    const metadata = await readMetadata(source, session)
    if (metadata === undefined) throw new StartError(`There is nothing to copy in ${source.place}.`)
    const held = new Set((await session.all(source.ddl.tables)).map(([name]) => String(name)))
    const tables = copiedTables(metadata).filter(({ name }) => held.has(name))
    const total = await countAll(session, tables)
    await prepare(target, metadata)
    const tallies = new Map<string, string>()
    let rows = 0
    for (const table of tables) {
      const tally = new Tally()
      // Reads the next page while one is being written.
      let written: Promise<unknown> = Promise.resolve()
      for await (const page of pagesOf(session, source.dialect, table)) {
        await written
        written = target.insert(table.name, table.columns, page)
        written.catch(() => {})
        tally.add(page)
        rows += page.length
        report({ doing: 'copying', table: table.name, rows, of: total })
      }
      await written
      tallies.set(table.name, tally.sum())
    }
    const numbers = await numbersOf(source, session, tables)
    return { metadata, tables, tallies, numbers, rows, ...(await endOf(session)) }
  })
  await compareWith(copied, target, report)
  await beforeEnd?.()
  await complete(target, copied, atEnd)
  const missed = await source.transact('read', (session) => changesSince(session, copied.last))
  return { rows: copied.rows, tables: copied.metadata.tables.length, missed }
}

/** Copies the secret, so that tokens stay valid. */
async function copySecret(from: Store, to: Store): Promise<void> {
  const secret = await from.secret()
  if (secret !== undefined && (await to.keepSecret(secret)) !== secret)
    throw new StartError(
      `${to.structure.place} already has another secret, from an earlier database: remove it, and copy again.`,
    )
}

async function countAll(session: DatabaseSession, tables: readonly CopiedTable[]): Promise<number> {
  let sum = 0
  for (const { name } of tables) {
    const [row] = await session.all(sql`SELECT count(*) FROM ${id(name)}`)
    sum += Number(row?.[0])
  }
  return sum
}

/** The last change of the source, and its metadata that also applies to a copy. */
async function endOf(session: DatabaseSession): Promise<Pick<Source, 'last' | 'carried'>> {
  const [row] = await session.all(sql`SELECT max("seq") FROM "takeback_journal"`)
  return { last: Number(row?.[0] ?? 0), carried: await readCarried(session) }
}

async function changesSince(session: DatabaseSession, last: number): Promise<number> {
  const [row] = await session.all(
    sql`SELECT count(*) FROM "takeback_journal" WHERE "seq" > ${intLiteral(last)}`,
  )
  return Number(row?.[0])
}

/** Creates empty tables, in a database that is empty or has an incomplete copy. */
async function prepare(target: Structure, { tables }: Metadata): Promise<void> {
  await target.transact('rebuild', async (session) => {
    const metadata = await refuseForeign(target, session)
    if (metadata.has('format') && !metadata.has(COPYING))
      throw new StartError(`${target.place} is not empty: name an empty database to copy to.`)
    if (metadata.has(COPYING)) await clearHalf(target, session)
    await makeOwnTables(target, session)
    await writeMetaValue(session, COPYING, String(FORMAT))
    for (const table of tables) await createTable({ structure: target, session }, table)
  })
}

/** Drops an incomplete copy. No reference is enforced yet, so its tables can go in any order. */
async function clearHalf(target: Structure, session: DatabaseSession): Promise<void> {
  const names = (await session.all(target.ddl.tables)).map(([name]) => String(name))
  for (const name of names) if (name !== 'takeback_meta') await session.run(sql`DROP TABLE ${id(name)}`)
  await session.run(sql`DELETE FROM "takeback_meta" WHERE "key" <> 'lock'`)
}

/** Reads everything back and compares it with what was written. */
async function compareWith(
  { tables, tallies, rows: of }: SentRows,
  target: Structure,
  report: (progress: Progress) => void,
): Promise<void> {
  await target.transact('read', async (session) => {
    let rows = 0
    for (const table of tables) {
      const tally = new Tally()
      for await (const page of pagesOf(session, target.dialect, table)) {
        tally.add(page)
        rows += page.length
        report({ doing: 'checking', table: table.name, rows, of })
      }
      if (tally.sum() !== tallies.get(table.name))
        throw new StartError(
          `${table.name} differs in ${target.place}: the copy cannot be used. Run it again.`,
        )
    }
  })
}

/** The copied tables, a digest of each, and the total number of rows. */
interface SentRows {
  readonly tables: readonly CopiedTable[]
  readonly tallies: ReadonlyMap<string, string>
  readonly rows: number
}

/** What is known about the source after reading it. */
interface Source {
  readonly metadata: Metadata
  readonly numbers: readonly GivenNumber[]
  readonly last: number
  /** Rows of `takeback_meta`. */
  readonly carried: readonly (readonly [key: string, value: string])[]
}

interface GivenNumber {
  readonly table: string
  readonly column: string
  readonly last: number
}

/** The last ids that the tables have given. Ids of purged Entities are not reused either. */
async function numbersOf(
  { ddl }: Structure,
  session: DatabaseSession,
  tables: readonly CopiedTable[],
): Promise<GivenNumber[]> {
  const numbers: GivenNumber[] = []
  for (const { name, numbered } of tables) {
    if (numbered === undefined) continue
    const [row] = await session.all(ddl.lastGiven(name, numbered))
    numbers.push({ table: name, column: numbered, last: Number(row?.[0] ?? 0) })
  }
  return numbers
}

/** Adds indexes, references and counters. Then it is a database like any other. */
async function complete(
  target: Structure,
  { metadata, numbers, carried }: Pick<Source, 'metadata' | 'numbers' | 'carried'>,
  atEnd: CopyEnd['atEnd'],
): Promise<void> {
  await target.transact('change', async (session) => {
    for (const table of metadata.tables) await completeTable({ structure: target, session }, table)
    for (const { table, column, last } of numbers)
      for (const source of target.ddl.giveAfter(table, column, last)) await session.run(source)
    await writeMetadata(session, metadata)
    for (const [key, value] of carried) await writeMetaValue(session, key, value)
    await atEnd?.({ structure: target, session }, metadata)
    await session.run(sql`DELETE FROM "takeback_meta" WHERE "key" = ${quoted(COPYING)}`)
  })
}
