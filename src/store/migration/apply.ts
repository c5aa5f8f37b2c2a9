import { StartError } from '../../errors.ts'
import { id, join, param, type Sql, sql, word } from '../sql.ts'
import type { Column, Index, Table } from '../tables.ts'
import {
  type Change,
  deletionIndex,
  indexName,
  ofDeletion,
  type Session,
  type Structure,
} from './structure.ts'

/** Carries out the changes of a plan, in an order in which each finds what it needs. */
export async function apply(
  { dialect, ddl, isTaken }: Structure,
  session: Session,
  changes: readonly Change[],
): Promise<void> {
  const added = changes.flatMap((change) => (change.kind === 'add table' ? [change.table] : []))
  for (const change of changes) if (change.kind === 'rename table') await renameTable(change, session)
  for (const table of added) await createTable(table)
  for (const change of changes) await carryOut(change)
  for (const table of added) await completeTable(table)

  async function createTable({ name, columns }: Table): Promise<void> {
    await session.run(
      sql`CREATE TABLE ${id(name)} (${ddl.idColumn}, "version" ${ddl.type(own('version', 'integer'))} NOT NULL,
        "created_at" ${ddl.type(own('created_at', 'datetime'))} NOT NULL, "updated_at" ${ddl.type(own('updated_at', 'datetime'))} NOT NULL,
        "deleted_at" ${ddl.type(own('deleted_at', 'datetime'))}, "deletion" ${ddl.type(own('deletion', 'text'))}${join(
          columns.map((column) => sql`, ${describe(column)}`),
          sql``,
        )})${ddl.tableOptions}`,
    )
  }

  async function completeTable(table: Table): Promise<void> {
    for (const column of table.columns) await addReference(table, column)
    await addIndex(table, ofDeletion)
    for (const index of table.indexes) await addIndex(table, index)
  }

  function describe(column: Column): Sql {
    const { name, references } = column
    const inline = references !== undefined && !ddl.referencesLater
    return sql`${id(name)} ${ddl.type(column)}${inline ? sql` REFERENCES ${id(references)} ("id")` : sql``}`
  }

  async function addReference(table: Table, { name, references }: Column): Promise<void> {
    if (references === undefined || !ddl.referencesLater) return
    await session.run(
      sql`ALTER TABLE ${id(table.name)} ADD FOREIGN KEY (${id(name)}) REFERENCES ${id(references)} ("id")`,
    )
  }

  async function addIndex(table: Table, index: Index): Promise<void> {
    try {
      await session.run(createIndex(table.name, index))
    } catch (error) {
      if (!isTaken(error)) throw error
      throw new StartError(
        `The database does not fit the declaration:\n  ${table.name}.${index.columns.join('+')} must be unique now, but some of ${table.name} have the same as others: change them first.`,
      )
    }
  }

  async function carryOut(change: Change): Promise<void> {
    switch (change.kind) {
      case 'add column':
        return addColumn(change.table, change.column)
      case 'fill column':
        return fillColumn(change.table, change.column)
      case 'convert column':
        for (const source of ddl.convert(change.table.name, change.from, change.column))
          await session.run(source)
        return
      case 'rename field':
        return renameField(change)
      case 'rename index':
        return renameIndex(change.table, change.from, change.index)
      case 'add index':
        return addIndex(change.table, change.index)
      case 'drop index':
        return session.run(sql`DROP INDEX ${id(indexName(change.table.name, change.index))}`)
    }
  }

  /**
   * What is there gets its default from the column itself, in no time however much there is; so do the rows of those who
   * still run with the former declaration. Not within an optional object, which may not be there.
   */
  async function addColumn(table: Table, column: Column): Promise<void> {
    const { kind, scale = 0, fill, within } = column
    const given = fill !== undefined && within === undefined
    const standard = given ? sql` DEFAULT ${literal(dialect.encode(kind, scale)(fill))}` : sql``
    await session.run(sql`ALTER TABLE ${id(table.name)} ADD COLUMN ${describe(column)}${standard}`)
    await addReference(table, column)
  }

  async function fillColumn(table: Table, column: Column): Promise<void> {
    const { name, kind, scale = 0, within, fill } = column
    const there = within === undefined ? sql`` : sql` AND ${id(within)} IS NOT NULL`
    await session.run(
      sql`UPDATE ${id(table.name)} SET ${id(name)} = ${param('$fill', kind)} WHERE ${id(name)} IS NULL${there}`,
      { $fill: dialect.encode(kind, scale)(fill) },
    )
  }

  async function renameIndex(table: Table, from: string, index: Index): Promise<void> {
    const to = nameOf(table.name, index)
    if (ddl.renamesIndexes) return session.run(sql`ALTER INDEX ${id(from)} RENAME TO ${id(to)}`)
    await session.run(sql`DROP INDEX ${id(from)}`)
    await session.run(createIndex(table.name, index))
  }

  async function renameField({ table, from, to, columns }: Extract<Change, { kind: 'rename field' }>) {
    for (const [old, fresh] of columns) {
      await session.run(sql`ALTER TABLE ${id(table)} RENAME COLUMN ${id(old)} TO ${id(fresh)}`)
      await session.run(
        sql`UPDATE "takeback_cleared" SET "column" = ${word(fresh)} WHERE "entity" = ${word(table)} AND "column" = ${word(old)}`,
      )
    }
    const { set, where } = ddl.renameKey(from, to)
    await session.run(
      sql`UPDATE "takeback_journal" SET "data" = ${set} WHERE "entity" = ${word(table)} AND ${where}`,
    )
  }
}

async function renameTable(
  { from, to }: Extract<Change, { kind: 'rename table' }>,
  session: Session,
): Promise<void> {
  await session.run(sql`ALTER TABLE ${id(from)} RENAME TO ${id(to)}`)
  for (const [table, column] of [
    ['takeback_journal', 'entity'],
    ['takeback_journal', 'actor'],
    ['takeback_cleared', 'entity'],
  ] as const)
    await session.run(
      sql`UPDATE ${id(table)} SET ${id(column)} = ${word(to)} WHERE ${id(column)} = ${word(from)}`,
    )
}

function createIndex(table: string, index: Index): Sql {
  const picked =
    index === ofDeletion
      ? sql` WHERE "deletion" IS NOT NULL`
      : index.unique
        ? sql` WHERE "deleted_at" IS NULL`
        : sql``
  return sql`CREATE ${index.unique ? sql`UNIQUE ` : sql``}INDEX ${id(nameOf(table, index))} ON ${id(table)} (${join(index.columns.map(id))})${picked}`
}

function nameOf(table: string, index: Index): string {
  return index === ofDeletion ? deletionIndex(table) : indexName(table, index)
}

function own(name: string, kind: Column['kind']): Column {
  return { name, kind }
}

function literal(value: unknown): Sql {
  return typeof value === 'string' ? word(value) : { parts: [String(value ?? 'NULL')] }
}
