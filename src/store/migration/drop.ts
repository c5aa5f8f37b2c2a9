import { StartError } from '../../errors.ts'
import { droppedName } from '../dropped.ts'
import { aboutColumns, aboutEntities } from '../own.ts'
import { id, quoted, type Sql, sql } from '../sql.ts'
import { type Column, type Index, isDerivedFrom, pathOf, type Table } from '../tables.ts'
import { dropIndex } from './apply.ts'
import { dropLinks } from './links.ts'
import { emptyMetadata, readMetadata, upgrade, writeMetadata } from './metadata.ts'
import { type DatabaseSession, indexName, type Structure } from './structure.ts'
import { retireType } from './type-names.ts'

/** What to drop: an aside table, or aside columns. */
export interface DropTarget {
  readonly path: string
  readonly table: Table
  readonly columns: readonly Column[]
  readonly rows: number
}

/** The aside data at these paths. Refuses data that is still declared or referred to. */
export function findAside(structure: Structure, paths: readonly string[]): Promise<DropTarget[]> {
  return structure.transact('read', async (session) => {
    const { tables } = (await readMetadata(structure, session)) ?? emptyMetadata
    const targets: DropTarget[] = []
    for (const path of paths) targets.push(await findOne(session, tables, path))
    for (const { table, path } of targets.filter(isWholeTable)) {
      const holder = tables.find((other) => refersToAnyTarget(other, table.name, targets))
      if (holder !== undefined)
        throw new StartError(`${path} cannot be dropped: ${holder.name} still refers to it.`)
    }
    return targets
  })
}

async function findOne(
  session: DatabaseSession,
  tables: readonly Table[],
  path: string,
): Promise<DropTarget> {
  const [name = '', ...rest] = path.split('.')
  const table = tables.find((one) => one.name === name)
  const inner = rest.join('.')
  const columns = (table?.columns ?? []).filter(
    ({ name: one }) =>
      inner === '' || one === inner || isDerivedFrom(inner, one) || one.startsWith(`${inner}.`),
  )
  if (table === undefined || columns.length === 0)
    throw new StartError(`There is no ${path}: "takeback migrate" lists what is kept aside.`)
  if (columns.some(({ aside }) => !aside))
    throw new StartError(
      `${path} is declared: only data that is kept aside can be dropped. Remove it from the declaration first.`,
    )
  const [row] = await session.all(sql`SELECT count(*) FROM ${id(name)}`)
  return { path, table, columns, rows: Number(row?.[0]) }
}

function isWholeTable({ path }: DropTarget): boolean {
  return !path.includes('.')
}

function refersToAnyTarget(other: Table, target: string, targets: readonly DropTarget[]): boolean {
  if (targets.some((one) => isWholeTable(one) && one.table.name === other.name)) return false
  return other.columns.some(
    (column) =>
      (column.references ?? column.links) === target &&
      !targets.some(({ table, columns }) => table.name === other.name && columns.includes(column)),
  )
}

/** Drops it for good: the rows or columns, and their values in the journal. */
export function dropAside(structure: Structure, targets: readonly DropTarget[]): Promise<void> {
  return structure.transact('rebuild', async (session) => {
    const known = await readMetadata(structure, session)
    if (known === undefined) return
    await upgrade(structure, session, known)
    let { tables } = known
    for (const { table, columns } of targets.filter((one) => !isWholeTable(one))) {
      const isOver = (index: Index) => index.columns.some((name) => !isNot(columns)({ name }))
      for (const index of table.indexes.filter(isOver))
        await dropIndex({ structure, session }, indexName(table.name, index), index)
      for (const column of columns) await dropColumn(structure, session, table, column)
      tables = tables.map((one) =>
        one.name === table.name
          ? {
              ...one,
              columns: one.columns.filter(isNot(columns)),
              indexes: one.indexes.filter((index) => !isOver(index)),
            }
          : one,
      )
    }
    await session.run(sql`UPDATE "takeback_answers" SET "body" = NULL`)
    const whole = targets.filter(isWholeTable).map(({ table }) => table)
    for (const table of whole) await dropTable(structure, session, table, known.generation)
    await writeMetadata(session, { ...known, tables: tables.filter(isNot(whole)) })
  })
}

function isNot(gone: readonly { readonly name: string }[]): (one: { readonly name: string }) => boolean {
  return ({ name }) => !gone.some((other) => other.name === name)
}

async function dropColumn(
  structure: Structure,
  session: DatabaseSession,
  table: Table,
  column: Column,
): Promise<void> {
  const { ddl } = structure
  await dropLinks({ structure, session }, table, column)
  for (const source of ddl.dropColumn(table, column)) await session.run(source)
  const { set, where } = ddl.dropKey(pathOf(column))
  const ofTable: Sql = sql`"entity" = ${quoted(table.name)}`
  await session.run(sql`UPDATE "takeback_journal" SET "data" = ${set} WHERE ${ofTable} AND ${where}`)
  for (const own of aboutColumns)
    await session.run(sql`DELETE FROM ${id(own.name)} WHERE ${ofTable} AND "column" = ${quoted(column.name)}`)
}

/**
 * Drops a table. The journal keeps its changes, without their data, under a name that no type can have: another type
 * may get this one.
 */
async function dropTable(
  structure: Structure,
  session: DatabaseSession,
  table: Table,
  generation: number,
): Promise<void> {
  const { name, indexes } = table
  for (const column of table.columns) await dropLinks({ structure, session }, table, column)
  // A search index may be a separate table, which DROP TABLE would leave behind.
  for (const index of indexes.filter(({ search }) => search))
    await dropIndex({ structure, session }, indexName(name, index), index)
  await session.run(sql`DROP TABLE ${id(name)}${structure.ddl.withReferences}`)
  const former = droppedName(name, generation)
  await session.run(
    sql`UPDATE "takeback_journal" SET "data" = NULL, "entity" = ${quoted(former)} WHERE "entity" = ${quoted(name)}`,
  )
  for (const own of aboutEntities)
    await session.run(sql`DELETE FROM ${id(own.name)} WHERE "entity" = ${quoted(name)}`)
  await retireType(session, { from: name, to: former, clock: structure.dialect.clock })
}
