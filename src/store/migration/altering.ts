import type { Column, Table } from '../tables.ts'
import type { Draft } from './draft.ts'

/** A table as it is held, the same one as it is wanted, and the draft of the way there. */
export interface Altering {
  readonly old: Table
  readonly table: Table
  readonly draft: Draft
}

/** Rows that have nothing in a column get what new ones would, where it has another role than before. */
export function needsFill(former: Column, column: Column): boolean {
  return (
    column.fill !== undefined &&
    column.optional !== true &&
    (former.aside === true || former.fill === undefined || former.optional === true)
  )
}
