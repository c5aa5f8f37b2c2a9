import type { EntityType } from '../../model.ts'
import type { RowsRequest } from './rows.ts'
import type { Selecting } from './selection.ts'
import type { ChosenColumns } from './use-columns.ts'
import type { View, ViewChange } from './view.ts'

/** The data that all parts of a list page share. */
export interface ListPart {
  readonly type: EntityType
  readonly view: View
  change(change: ViewChange): void
  readonly columns: ChosenColumns
  readonly request: RowsRequest
  readonly total: number | undefined
  readonly selecting: Selecting
  /** Goes to a place, given as `go` of a view; undefined means the top. */
  go(to: string | undefined): void
}
