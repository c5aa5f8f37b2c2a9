import { StartError } from '../../errors.ts'
import { ordered } from '../order.ts'
import { aboutColumns } from '../own.ts'
import { id, join, param, quoted, type Sql, sql } from '../sql.ts'
import type { Column, Index, Table } from '../tables.ts'
import { addLinks, fillLinks, renameLinks } from './links.ts'
import { orderedChanges } from './order.ts'
import { rejoin } from './rejoin.ts'
import {
  type DatabaseSession,
  type Ddl,
  deletionIndex,
  indexName,
  ofDeletion,
  type Structure,
  type StructureSession,
  type TableChange,
} from './structure.ts'
import { renameType } from './type-names.ts'
import { fillWords } from './words.ts'

/** Carries out the changes of a plan, each after those that it depends on. */
export async function apply(
  structure: Structure,
  session: DatabaseSession,
  changes: readonly TableChange[],
): Promise<void> {
  const database = { structure, session }
  const added = changes.flatMap((change) => (change.kind === 'add table' ? [change.table] : []))
  for (const change of changes) if (change.kind === 'rename table') await renameTable(database, change)
  for (const table of added) await createTable(database, table)
  for (const change of orderedChanges(changes)) await carryOut(database, change)
  for (const table of added) await completeTable(database, table)
}

async function carryOut(database: StructureSession, change: TableChange): Promise<void> {
  const { session, structure } = database
  switch (change.kind) {
    case 'add column':
      return addColumn(database, change.table, change.column)
    case 'fill column':
      return fillColumn(database, change.table, change.column)
    case 'set aside':
      return
    case 'rejoin column':
      return rejoin(database, change.table, change.column)
    case 'end sessions':
      return endSessions(database, change.table, change.column)
    case 'drop column':
      for (const source of structure.ddl.dropColumn(change.table, change.column)) await session.run(source)
      return
    case 'fill words':
      return fillWords(database, change.table, change.column)
    case 'convert column':
      for (const source of structure.ddl.convert(change.table.name, change.from, change.column))
        await session.run(source)
      return
    case 'rename field':
      return renameField(database, change)
    case 'rename links':
      return renameLinks(database, change.from, change.to)
    case 'rename index':
      return renameIndex(database, change.table, change.from, change.index)
    case 'add index':
      return addIndex(database, change.table, change.index)
    case 'drop index':
      return dropIndex(database, indexName(change.table.name, change.index), change.index)
  }
}

/** Ends tokens from before the type stopped having a login. */
async function endSessions({ session }: StructureSession, table: Table, { name }: Column): Promise<void> {
  await session.run(sql`UPDATE ${id(table.name)} SET ${id(name)} = ${id(name)} + 1`)
}

/** Creates a table with its columns. `completeTable` adds references, link tables and indexes once it is filled. */
export async function createTable(
  { structure: { ddl }, session }: StructureSession,
  table: Table,
): Promise<void> {
  const columns = [...entityColumns, ...table.columns].map((column) => sql`, ${describeColumn(ddl, column)}`)
  await session.run(
    sql`CREATE TABLE ${id(table.name)} (${ddl.numbered('id')}${join(columns, sql``)})${ddl.tableOptions}`,
  )
  // A table with this name may have been dropped: its ids are not reused.
  const [row] = await session.all(
    sql`SELECT max("entity_id") FROM "takeback_journal" WHERE "entity" = ${quoted(table.name)} OR "entity" LIKE ${quoted(`${table.name}~%`)}`,
  )
  const last = Number(row?.[0] ?? 0)
  if (last > 0) for (const source of ddl.giveAfter(table.name, 'id', last)) await session.run(source)
}

/** The columns that every Entity has besides its id. */
export const entityColumns: readonly (Column & { readonly required?: boolean })[] = [
  { name: 'version', kind: 'integer', required: true },
  { name: 'created_at', kind: 'datetime', required: true },
  { name: 'updated_at', kind: 'datetime', required: true },
  { name: 'deleted_at', kind: 'datetime' },
  { name: 'deletion', kind: 'text' },
]

export async function completeTable(database: StructureSession, table: Table): Promise<void> {
  for (const column of table.columns) await addReference(database, table, column)
  for (const column of table.columns) {
    await addLinks(database, table, column)
    await fillLinks(database, table, column)
  }
  for (const index of [ofDeletion, ...table.indexes]) await addIndex(database, table, index)
}

function describeColumn(ddl: Ddl, column: Column): Sql {
  const { name, references } = column
  const always = entityColumns.includes(column) && column.required ? sql` NOT NULL` : sql``
  const inline =
    references === undefined || ddl.referencesLater ? sql`` : sql` REFERENCES ${id(references)} ("id")`
  return sql`${id(name)} ${ddl.type(column)}${always}${inline}`
}

async function addReference(
  { structure: { ddl }, session }: StructureSession,
  table: Table,
  { name, references }: Column,
): Promise<void> {
  if (references === undefined || !ddl.referencesLater) return
  await session.run(
    sql`ALTER TABLE ${id(table.name)} ADD FOREIGN KEY (${id(name)}) REFERENCES ${id(references)} ("id")`,
  )
}

async function addIndex({ structure, session }: StructureSession, table: Table, index: Index): Promise<void> {
  try {
    await makeIndex({ structure, session }, table, index)
  } catch (error) {
    if (!structure.isTaken(error)) throw error
    throw new StartError(
      `The database cannot be migrated to this declaration:\n  ${table.name}.${index.columns.join('+')} must be unique now, but has duplicates in some ${table.name}: change them first.`,
    )
  }
}

async function makeIndex(
  { structure: { ddl }, session }: StructureSession,
  table: Table,
  index: Index,
): Promise<void> {
  const name = nameOf(table.name, index)
  const sources = index.search
    ? ddl.makeSearch(table.name, name, index.columns)
    : [createIndex(ddl, table.name, index)]
  for (const source of sources) await session.run(source)
}

export async function dropIndex(
  { structure: { ddl }, session }: StructureSession,
  name: string,
  index: Index,
): Promise<void> {
  for (const source of index.search ? ddl.dropSearch(name) : [sql`DROP INDEX ${id(name)}`])
    await session.run(source)
}

/**
 * Adds a column. Existing rows get the default from the column itself, which takes no time however many there are. So
 * do new rows from servers with the former declaration. Not inside of an optional object, which may be missing.
 */
async function addColumn(database: StructureSession, table: Table, column: Column): Promise<void> {
  const { dialect, ddl } = database.structure
  const { kind, scale = 0, fill, within } = column
  const given = fill !== undefined && within === undefined
  const standard = given ? sql` DEFAULT ${literal(dialect.encode(kind, scale)(fill))}` : sql``
  await database.session.run(
    sql`ALTER TABLE ${id(table.name)} ADD COLUMN ${describeColumn(ddl, column)}${standard}`,
  )
  await addReference(database, table, column)
  await addLinks(database, table, column)
}

async function fillColumn(
  { structure: { dialect }, session }: StructureSession,
  table: Table,
  column: Column,
): Promise<void> {
  const { name, kind, scale = 0, within, fill } = column
  const there = within === undefined ? sql`` : sql` AND ${id(within)} IS NOT NULL`
  await session.run(
    sql`UPDATE ${id(table.name)} SET ${id(name)} = ${param('$fill', kind)} WHERE ${id(name)} IS NULL${there}`,
    { $fill: dialect.encode(kind, scale)(fill) },
  )
}

async function renameIndex(
  database: StructureSession,
  table: Table,
  from: string,
  index: Index,
): Promise<void> {
  const { ddl } = database.structure
  const to = nameOf(table.name, index)
  if (ddl.renamesIndexes) return database.session.run(sql`ALTER INDEX ${id(from)} RENAME TO ${id(to)}`)
  await dropIndex(database, from, index)
  await makeIndex(database, table, index)
}

async function renameField(
  { structure: { ddl }, session }: StructureSession,
  { table, from, to, columns }: Extract<TableChange, { kind: 'rename field' }>,
): Promise<void> {
  for (const [old, fresh] of columns) {
    await session.run(sql`ALTER TABLE ${id(table)} RENAME COLUMN ${id(old)} TO ${id(fresh)}`)
    for (const { name } of aboutColumns)
      await session.run(
        sql`UPDATE ${id(name)} SET "column" = ${quoted(fresh)} WHERE "entity" = ${quoted(table)} AND "column" = ${quoted(old)}`,
      )
  }
  const { set, where } = ddl.renameKey(from, to)
  await session.run(
    sql`UPDATE "takeback_journal" SET "data" = ${set} WHERE "entity" = ${quoted(table)} AND ${where}`,
  )
}

async function renameTable(
  { session }: StructureSession,
  { from, to }: Extract<TableChange, { kind: 'rename table' }>,
): Promise<void> {
  await session.run(sql`ALTER TABLE ${id(from)} RENAME TO ${id(to)}`)
  await renameType(session, from, to)
}

function createIndex(ddl: Ddl, table: string, index: Index): Sql {
  const { columns, descending, unique } = index
  const picked =
    index === ofDeletion
      ? sql` WHERE "deletion" IS NOT NULL`
      : unique || descending !== undefined
        ? sql` WHERE "deleted_at" IS NULL`
        : sql``
  const keys = columns.map((name, at) =>
    descending === undefined ? id(name) : ordered(id(name), name, descending[at] ?? false, ddl.nulls),
  )
  return sql`CREATE ${unique ? sql`UNIQUE ` : sql``}INDEX ${id(nameOf(table, index))} ON ${id(table)} (${join(keys)})${picked}`
}

function nameOf(table: string, index: Index): string {
  return index === ofDeletion ? deletionIndex(table) : indexName(table, index)
}

function literal(value: unknown): Sql {
  return typeof value === 'string' ? quoted(value) : { parts: [String(value ?? 'NULL')] }
}
