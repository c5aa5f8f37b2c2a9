import { countInWords } from '../../declare/with-article.ts'
import { type Column, pathOf as pathIn, type Table } from '../tables.ts'
import { type FoundRows, named, type RowQueries } from './rows.ts'
import type { MigrationLine, NewCheck, TableChange } from './structure.ts'

/** A plan in the making. */
export class Draft {
  readonly changes: TableChange[] = []
  readonly lines: MigrationLine[] = []
  /** New checks that existing rows must meet. */
  readonly checks: NewCheck[] = []
  readonly rows: RowQueries
  additive = true

  constructor(rows: RowQueries) {
    this.rows = rows
  }

  do(change: TableChange, path?: string, what?: string): void {
    this.changes.push(change)
    if (path !== undefined && what !== undefined) this.safe(path, what)
  }

  /** `rows`: the number of rows that change. */
  safe(path: string, what: string, rows?: number): void {
    this.lines.push({ effect: 'safe', path, what, ...(rows !== undefined && { rows }) })
  }

  refuse(path: string, what: string): void {
    this.lines.push({ effect: 'refused', path, what })
  }

  /** Refuses the change if rows were found that do not fit. */
  refuseFound(table: Table, path: string, found: FoundRows, say: (which: string) => string): boolean {
    if (found.count === 0) return false
    const what = say(`${countInWords(found.count, table.name)} (${named(table, found)})`)
    this.lines.push({ effect: 'refused', path, what, rows: found.count, ids: found.ids })
    return true
  }
}

/** The dot path of the field that a column belongs to. */
export function columnPath(table: Table, column: Column): string {
  return `${table.name}.${pathIn(column)}`
}
