import { entityColumns } from '../migration/apply.ts'
import type { Metadata } from '../migration/metadata.ts'
import { columnsIn, tablesIn } from '../own.ts'
import type { Column } from '../tables.ts'

/** A table as a copy reads it: all of its columns, and its key for the order of the rows. */
export interface CopiedTable {
  readonly name: string
  readonly columns: readonly Column[]
  readonly key: readonly string[]
  /** The column that is numbered by the database, if any. */
  readonly numbered: string | undefined
}

/**
 * The tables to copy: Entity types with all of their columns, aside and secret ones included, and Takeback's own
 * tables. Link tables are not copied: they are built from the lists.
 */
export function copiedTables({ tables, format }: Pick<Metadata, 'tables' | 'format'>): CopiedTable[] {
  return [
    ...tables.map(({ name, columns }) => ({
      name,
      columns: [integer('id'), ...entityColumns, ...columns],
      key: ['id'],
      numbered: 'id',
    })),
    ...tablesIn(format).map((table) => ({
      name: table.name,
      columns: columnsIn(table, format).map(({ name, kind }) => ({ name, kind })),
      key: table.key,
      numbered: table.numbered ? table.key[0] : undefined,
    })),
  ]
}

const integer = (name: string): Column => ({ name, kind: 'integer' })
