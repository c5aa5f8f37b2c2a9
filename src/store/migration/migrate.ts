import { createHash } from 'node:crypto'
import { StartError } from '../../errors.ts'
import type { Bag } from '../dialect.ts'
import { id, param, type Sql, sql, word } from '../sql.ts'
import type { Column, Table } from '../tables.ts'
import { apply } from './apply.ts'
import { type Migration, planMigration } from './plan.ts'
import { Rows } from './rows.ts'
import type { Line, Session, Structure } from './structure.ts'

/** What the tables of a newer Takeback look like is not ours to guess. */
export const FORMAT = 1

/** How many former declarations are known by their fingerprints. */
const PAST_MAX = 1000

/** What a database says about itself, in `takeback_meta`. */
export interface Memory {
  readonly tables: readonly Table[]
  /** Counts the changes of the structure, and the last one that former declarations do not get along with. */
  readonly generation: number
  readonly since: number
  readonly fingerprint: string
  readonly past: readonly string[]
}

const fresh: Memory = { tables: [], generation: 0, since: 0, fingerprint: '', past: [] }

/** Brings the database to these tables, or refuses with a StartError and changes nothing. */
export async function migrate(
  structure: Structure,
  wanted: readonly Table[],
  { back = false }: { back?: boolean } = {},
): Promise<{ readonly migration: Migration; readonly generation: number }> {
  return structure.transact('change', async (session) => {
    const known = await recallOrMake(structure, session)
    const fingerprint = fingerprintOf(wanted)
    if (!back && known.past.includes(fingerprint)) throw new StartError(older(structure))
    const migration = await planMigration(known.tables, wanted, new Rows(session, structure.dialect))
    const refused = migration.lines.filter(({ effect }) => effect === 'refused')
    if (refused.length > 0) throw new StartError(misfit(refused))
    if (fingerprint === known.fingerprint) return { migration, generation: known.generation }
    await apply(structure, session, migration.changes)
    const generation = known.generation + 1
    await remember(session, {
      tables: migration.held,
      generation,
      since: migration.additive ? known.since : generation,
      fingerprint,
      past: [...known.past.filter((one) => one !== fingerprint), known.fingerprint]
        .filter((one) => one !== '' && one !== fingerprint)
        .slice(-PAST_MAX),
    })
    return { migration, generation }
  })
}

/** What `migrate` would do. */
export function preview(structure: Structure, wanted: readonly Table[]): Promise<Migration> {
  return structure.transact('read', async (session) => {
    const known = (await recall(structure, session)) ?? fresh
    return planMigration(known.tables, wanted, new Rows(session, structure.dialect))
  })
}

function misfit(refused: readonly Line[]): string {
  return `The database does not fit the declaration:\n${refused.map(({ path, what }) => `  ${path} ${what}.`).join('\n')}`
}

function older({ place }: Structure): string {
  return `This declaration is an older one: the database ${place} has been brought to a newer one since. Start with that one, or go back on purpose with "takeback migrate --apply".`
}

/** The same for the same tables, in whatever order they are declared. */
function fingerprintOf(tables: readonly Table[]): string {
  const sorted = tables
    .map((table) => ({ ...table, columns: [...table.columns].sort(byName), renames: [], was: '' }))
    .sort(byName)
  return createHash('sha256').update(JSON.stringify(sorted)).digest('base64url')
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1
}

/** What the database says that it holds; undefined where it is new. */
export async function recall(structure: Structure, session: Session): Promise<Memory | undefined> {
  const tables = (await session.all(structure.ddl.tables)).map(([name]) => String(name))
  const told = tables.includes('takeback_meta') ? await readMeta(session) : new Map<string, string>()
  if (!told.has('format')) {
    if (tables.some((name) => name !== 'takeback_meta'))
      throw new StartError(
        `The database ${structure.place} holds tables that are not Takeback's: name another one.`,
      )
    return undefined
  }
  const format = Number(told.get('format'))
  if (format > FORMAT)
    throw new StartError(
      `The database ${structure.place} was written by a newer Takeback (format ${format}; this one reads ${FORMAT}): update Takeback.`,
    )
  if (told.has('copying'))
    throw new StartError(
      `The database ${structure.place} is half of a copy: run "takeback copy" again, which begins anew.`,
    )
  return {
    tables: JSON.parse(told.get('schema') ?? '[]') as Table[],
    generation: Number(told.get('generation') ?? 0),
    since: Number(told.get('since') ?? 0),
    fingerprint: told.get('fingerprint') ?? '',
    past: JSON.parse(told.get('past') ?? '[]') as string[],
  }
}

async function recallOrMake(structure: Structure, session: Session): Promise<Memory> {
  const known = await recall(structure, session)
  if (known !== undefined) return known
  await makeOwnTables(structure, session)
  return fresh
}

export async function makeOwnTables({ ddl }: Structure, session: Session): Promise<void> {
  for (const source of ddl.own) await session.run(source)
  await tell(session, 'format', String(FORMAT))
}

export async function remember(session: Session, memory: Memory): Promise<void> {
  await tell(session, 'schema', JSON.stringify(memory.tables))
  await tell(session, 'generation', String(memory.generation))
  await tell(session, 'since', String(memory.since))
  await tell(session, 'fingerprint', memory.fingerprint)
  await tell(session, 'past', JSON.stringify(memory.past))
}

async function readMeta(session: Session): Promise<Map<string, string>> {
  const rows = await session.all(sql`SELECT "key", "value" FROM "takeback_meta"`)
  return new Map(rows.map(([key, value]) => [String(key), String(value)]))
}

export async function tell(session: Session, key: string, value: string): Promise<void> {
  const bag: Bag = { $key: key, $value: value }
  await session.run(
    sql`INSERT INTO "takeback_meta" ("key", "value") VALUES (${param('$key')}, ${param('$value')})
      ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"`,
    bag,
  )
}

/** What is to go for good: a table that is kept aside, or columns that are. */
export interface Doomed {
  readonly path: string
  readonly table: Table
  readonly columns: readonly Column[]
  readonly rows: number
}

/** What stands at these paths, if it is kept aside: what is still declared, or still referred to, cannot go. */
export function findAside(structure: Structure, paths: readonly string[]): Promise<Doomed[]> {
  return structure.transact('read', async (session) => {
    const { tables } = (await recall(structure, session)) ?? fresh
    const doomed: Doomed[] = []
    for (const path of paths) doomed.push(await findOne(session, tables, path))
    for (const { table, path } of doomed.filter(isWhole)) {
      const holder = tables.find((other) => refersTo(other, table.name, doomed))
      if (holder !== undefined)
        throw new StartError(`${path} cannot be dropped: ${holder.name} still refers to it.`)
    }
    return doomed
  })
}

async function findOne(session: Session, tables: readonly Table[], path: string): Promise<Doomed> {
  const [name = '', ...rest] = path.split('.')
  const table = tables.find((one) => one.name === name)
  const inner = rest.join('.')
  const columns = (table?.columns ?? []).filter(
    (column) => inner === '' || column.name === inner || column.name.startsWith(`${inner}.`),
  )
  if (table === undefined || columns.length === 0)
    throw new StartError(`There is no ${path}: "takeback migrate" lists what is kept aside.`)
  if (columns.some(({ aside }) => !aside))
    throw new StartError(
      `${path} is declared: only what is kept aside can be dropped. Take it out of the declaration first.`,
    )
  const [row] = await session.all(sql`SELECT count(*) FROM ${id(name)}`)
  return { path, table, columns, rows: Number(row?.[0]) }
}

function isWhole({ path }: Doomed): boolean {
  return !path.includes('.')
}

function refersTo(other: Table, target: string, doomed: readonly Doomed[]): boolean {
  if (doomed.some((one) => isWhole(one) && one.table.name === other.name)) return false
  return other.columns.some(
    (column) =>
      column.references === target &&
      !doomed.some(({ table, columns }) => table.name === other.name && columns.includes(column)),
  )
}

/** Drops them for good: the rows or columns, and what the journal knows of them. */
export function dropAside(structure: Structure, doomed: readonly Doomed[]): Promise<void> {
  return structure.transact('change', async (session) => {
    const known = await recall(structure, session)
    if (known === undefined) return
    let { tables } = known
    // References first: a table cannot go while a column points at it.
    for (const { table, columns } of doomed.filter((one) => !isWhole(one))) {
      for (const column of columns) await dropColumn(structure, session, table, column)
      tables = tables.map((one) =>
        one.name === table.name ? { ...one, columns: one.columns.filter(isNot(columns)) } : one,
      )
    }
    const whole = doomed.filter(isWhole).map(({ table }) => table)
    for (const table of whole)
      for (const column of table.columns.filter(({ references }) => references !== undefined))
        await dropColumn(structure, session, table, column)
    for (const table of whole) await dropTable(session, table)
    await remember(session, { ...known, tables: tables.filter(isNot(whole)) })
  })
}

function isNot(gone: readonly { readonly name: string }[]): (one: { readonly name: string }) => boolean {
  return ({ name }) => !gone.some((other) => other.name === name)
}

async function dropColumn({ ddl }: Structure, session: Session, table: Table, column: Column): Promise<void> {
  for (const source of ddl.dropColumn(table, column)) await session.run(source)
  const { set, where } = ddl.dropKey(column.name.replace(/\.id$/, ''))
  const ofTable: Sql = sql`"entity" = ${word(table.name)}`
  await session.run(sql`UPDATE "takeback_journal" SET "data" = ${set} WHERE ${ofTable} AND ${where}`)
  await session.run(sql`DELETE FROM "takeback_cleared" WHERE ${ofTable} AND "column" = ${word(column.name)}`)
}

async function dropTable(session: Session, { name }: Table): Promise<void> {
  await session.run(sql`DROP TABLE ${id(name)}`)
  await session.run(sql`UPDATE "takeback_journal" SET "data" = NULL WHERE "entity" = ${word(name)}`)
  await session.run(sql`DELETE FROM "takeback_cleared" WHERE "entity" = ${word(name)}`)
}
