import { linkTableOf } from '../../declare/model.ts'
import { id, sql } from '../sql.ts'
import type { Column, Index, Table } from '../tables.ts'
import { indexName, type LinkColumn, type StructureSession } from './structure.ts'

/** The index that finds the lists with a target. */
const byTarget: Index = { columns: ['target', 'source'], unique: false }

export function linksOf(table: string, { name: column, member = '' }: Column): LinkColumn {
  return { table, column, links: linkTableOf(table, column).table, member }
}

/** Adds the link table of a new list of references, which is empty in all rows. Triggers maintain it from then on. */
export async function addLinks(
  { structure: { ddl }, session }: StructureSession,
  table: Table,
  column: Column,
): Promise<void> {
  if (column.links === undefined) return
  const list = linksOf(table.name, column)
  const links = id(list.links)
  const type = ddl.type({ name: 'id', kind: 'reference' })
  await session.run(
    sql`CREATE TABLE ${links} ("source" ${type} NOT NULL REFERENCES ${id(table.name)} ("id") ON DELETE CASCADE,
      "target" ${type} NOT NULL REFERENCES ${id(column.links)} ("id"), "place" ${type} NOT NULL,
      PRIMARY KEY ("source", "target"))${ddl.keyedOptions}`,
  )
  await session.run(sql`CREATE INDEX ${id(indexName(list.links, byTarget))} ON ${links} ("target", "source")`)
  for (const source of ddl.keepLinks(list)) await session.run(source)
}

/** Fills the link tables of a table that had rows before. */
export async function fillLinks(
  { structure: { dialect }, session }: StructureSession,
  table: Table,
  column: Column,
): Promise<void> {
  if (column.links === undefined) return
  const { links, member } = linksOf(table.name, column)
  const { rows, target, place } = dialect.members(sql`t.${id(column.name)}`, member)
  await session.run(
    sql`INSERT INTO ${id(links)} ("source", "target", "place")
      SELECT t."id", ${target}, ${place} FROM ${id(table.name)} t CROSS JOIN ${rows}`,
  )
}

/** Renames link tables, after the table or the column itself was renamed. */
export async function renameLinks(
  { structure: { ddl }, session }: StructureSession,
  from: LinkColumn,
  to: LinkColumn,
): Promise<void> {
  for (const source of ddl.releaseLinks(from)) await session.run(source)
  if (from.links !== to.links) {
    await session.run(sql`ALTER TABLE ${id(from.links)} RENAME TO ${id(to.links)}`)
    const [old, fresh] = [id(indexName(from.links, byTarget)), id(indexName(to.links, byTarget))]
    if (ddl.renamesIndexes) await session.run(sql`ALTER INDEX ${old} RENAME TO ${fresh}`)
    else {
      await session.run(sql`DROP INDEX ${old}`)
      await session.run(sql`CREATE INDEX ${fresh} ON ${id(to.links)} ("target", "source")`)
    }
  }
  for (const source of ddl.keepLinks(to)) await session.run(source)
}

/** Drops link tables, before the column or its table goes. */
export async function dropLinks(
  { structure: { ddl }, session }: StructureSession,
  table: Table,
  column: Column,
): Promise<void> {
  if (column.links === undefined) return
  const list = linksOf(table.name, column)
  for (const source of ddl.releaseLinks(list)) await session.run(source)
  await session.run(sql`DROP TABLE ${id(list.links)}`)
}
