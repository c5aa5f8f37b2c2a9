import { entityColumns } from '../migration/apply.ts'
import type { Memory } from '../migration/memory.ts'
import { columnsIn, tablesIn } from '../own.ts'
import type { Column } from '../tables.ts'

/** A table as a copy sees it: all of its columns, and those that put its rows in an order. */
export interface CopiedTable {
  readonly name: string
  readonly columns: readonly Column[]
  readonly key: readonly string[]
  /** The column that is numbered by the database, if any. */
  readonly numbered: string | undefined
}

/**
 * Entity types with all that is kept of them, what is aside and what is secret included; and Takeback's own tables. Link
 * tables are not among them: they are made from the lists.
 */
export function copiedTables({ tables, format }: Pick<Memory, 'tables' | 'format'>): CopiedTable[] {
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
