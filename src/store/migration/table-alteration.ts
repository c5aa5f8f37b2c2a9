import type { Column, Table } from '../tables.ts'
import type { Draft } from './draft.ts'

/** A table as it is, the table as it should be, and the draft of the changes. */
export interface TableAlteration {
  readonly old: Table
  readonly table: Table
  readonly draft: Draft
}

/** Whether rows without a value get the default, because the column was optional, aside or without a default. */
export function needsFill(former: Column, column: Column): boolean {
  return (
    column.fill !== undefined &&
    column.optional !== true &&
    (former.aside === true || former.fill === undefined || former.optional === true)
  )
}
