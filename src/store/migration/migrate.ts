import { createHash } from 'node:crypto'
import { StartError } from '../../errors.ts'
import type { Table } from '../tables.ts'
import { apply } from './apply.ts'
import { type BrokenCheck, canCheckNow, checksToCome, checksToMeet, evaluateChecks } from './checks.ts'
import { keepIncarnation } from './incarnation.ts'
import {
  emptyMetadata,
  type Metadata,
  makeOwnTables,
  readMetadata,
  upgrade,
  writeMetadata,
} from './metadata.ts'
import { type Migration, planMigration } from './plan.ts'
import { RowQueries } from './rows.ts'
import { type MigrationStep, readSteps, recordSteps } from './steps.ts'
import type { DatabaseSession, MigrationLine, Structure } from './structure.ts'

/** The maximum number of former declarations whose fingerprints are kept. */
const PAST_MAX = 1000

interface MigrationResult {
  readonly migration: Migration
  readonly generation: number
  /** The changes of values by this migration and all before it. */
  readonly steps: readonly MigrationStep[]
}

export interface Migrating {
  /** Whether these tables may be an older declaration that the database has moved on from. */
  readonly back?: boolean
  readonly broken?: BrokenCheck
  /** The `declaration` of a Preview: these tables must be the ones that it showed. */
  readonly shown?: string | undefined
  /** Which migrations are made: `all`, only that of an empty database (`first`), or `none`. Others are refused. */
  readonly makes?: 'all' | 'first' | 'none' | undefined
}

const CHANGED_SINCE = 'The declaration has changed since the plan was shown. Nothing was changed.'

/** Migrates the database to these tables, or refuses with a StartError and changes nothing. */
export async function migrate(
  structure: Structure,
  wanted: readonly Table[],
  { back = false, broken = () => undefined, shown, makes = 'all' }: Migrating = {},
): Promise<MigrationResult> {
  if (shown !== undefined && shown !== digestOf(wanted)) throw new StartError(CHANGED_SINCE)
  const refuseUnasked = (known: Metadata) => refuseOther(structure, known, wanted, makes)
  // Without this look, a database without any data would get the table of the lock.
  if (makes !== 'all')
    refuseUnasked(await structure.transact('read', (session) => metadataOf(structure, session)))
  return structure.transact('change', async (session) => {
    const known = await readOrMakeMetadata(structure, session)
    refuseUnasked(known)
    await keepIncarnation(structure, session)
    const fingerprint = structureFingerprint(wanted)
    if (!back && known.past.includes(fingerprint)) throw new StartError(older(structure))
    if (fingerprint !== known.fingerprint) await holdWriters(structure, session, known.tables, wanted)
    const look = new RowQueries(session, structure.dialect)
    const migration = await withChecks(await planMigration(known.tables, wanted, look), look, broken)
    refuse(migration.lines)
    const database = { structure, session }
    if (fingerprint === known.fingerprint)
      return { migration, generation: known.generation, steps: await readSteps(database) }
    await apply(structure, session, migration.changes)
    if (!canCheckNow(migration))
      refuse(
        await evaluateChecks(checksToMeet(migration), new RowQueries(session, structure.dialect), broken),
      )
    const generation = known.generation + 1
    await recordSteps(database, migration.changes, generation)
    await writeMetadata(session, {
      tables: migration.held,
      generation,
      since: migration.additive ? known.since : generation,
      fingerprint,
      past: pastAfter(known, fingerprint),
    })
    return { migration, generation, steps: await readSteps(database) }
  })
}

/** The fingerprints of former declarations, after a migration to this one. */
function pastAfter({ past, fingerprint: former }: Metadata, fingerprint: string): string[] {
  return [...past.filter((one) => one !== fingerprint), former]
    .filter((one) => one !== '' && one !== fingerprint)
    .slice(-PAST_MAX)
}

/** Throws if a migration is needed: a command that is about the data must not change its structure. */
function refuseOther(
  { place }: Structure,
  { fingerprint, generation }: Metadata,
  wanted: readonly Table[],
  makes: Migrating['makes'],
): void {
  if (makes === 'all') return
  const isEmpty = generation === emptyMetadata.generation
  if (isEmpty && makes === 'none') throw new StartError(`${place} has no data of Takeback yet.`)
  if (!isEmpty && fingerprint !== structureFingerprint(wanted))
    throw new StartError(
      `This declaration is not that of the database ${place}. Nothing was changed. "takeback migrate" shows what differs.`,
    )
}

/** Keeps writers out of the tables that change, so that what was checked still holds at the end. */
async function holdWriters(
  { ddl }: Structure,
  session: DatabaseSession,
  held: readonly Table[],
  wanted: readonly Table[],
): Promise<void> {
  const same = (old: Table) =>
    wanted.some(
      (table) => table.name === old.name && structureFingerprint([table]) === structureFingerprint([old]),
    )
  for (const table of held.filter((one) => !same(one)))
    for (const source of ddl.holdWriters(table.name)) await session.run(source)
}

export interface Preview extends Migration {
  /** If the database has moved on from this declaration: why no server starts with it. */
  readonly older: string | undefined
  /** A digest of the declaration, including its renames. */
  readonly declaration: string
}

/** What `migrate` would do. */
export function preview(
  structure: Structure,
  wanted: readonly Table[],
  broken: BrokenCheck = () => undefined,
): Promise<Preview> {
  return structure.transact('read', async (session) => {
    const known = await metadataOf(structure, session)
    const look = new RowQueries(session, structure.dialect)
    const migration = await withChecks(await planMigration(known.tables, wanted, look), look, broken)
    const left = known.past.includes(structureFingerprint(wanted))
    return { ...migration, older: left ? older(structure) : undefined, declaration: digestOf(wanted) }
  })
}

/** Adds a line for each check that the rows must meet, if it can be evaluated already. */
async function withChecks(migration: Migration, look: RowQueries, broken: BrokenCheck): Promise<Migration> {
  const checks = checksToMeet(migration)
  if (checks.length === 0) return migration
  const now = canCheckNow(migration) ? await evaluateChecks(checks, look, broken) : checksToCome(checks)
  return { ...migration, lines: [...migration.lines, ...now] }
}

function refuse(lines: readonly MigrationLine[]): void {
  const refused = lines.filter(({ effect }) => effect === 'refused')
  if (refused.length > 0) throw new StartError(misfit(refused))
}

function misfit(refused: readonly MigrationLine[]): string {
  return `The database cannot be migrated to this declaration:\n${refused.map(({ path, what }) => `  ${path} ${what}.`).join('\n')}`
}

function older({ place }: Structure): string {
  return `This declaration is older than that of the database ${place}. Start with the newer one, or go back on purpose with "takeback migrate --apply".`
}

/** The same for the same tables, whatever the order of declaration. */
export function structureFingerprint(tables: readonly Table[]): string {
  const sorted = tables
    .map(({ formerNames: _, formerPaths: __, ...table }) => ({
      ...table,
      columns: [...table.columns].sort(byName),
      renames: [],
      was: '',
    }))
    .sort(byName)
  return createHash('sha256').update(JSON.stringify(sorted)).digest('base64url')
}

function digestOf(tables: readonly Table[]): string {
  return createHash('sha256').update(JSON.stringify(tables)).digest('base64url')
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1
}

async function metadataOf(structure: Structure, session: DatabaseSession): Promise<Metadata> {
  return (await readMetadata(structure, session)) ?? emptyMetadata
}

async function readOrMakeMetadata(structure: Structure, session: DatabaseSession): Promise<Metadata> {
  const known = await readMetadata(structure, session)
  if (known !== undefined) {
    await upgrade(structure, session, known)
    return known
  }
  await makeOwnTables(structure, session)
  return emptyMetadata
}
