import type { EntityType } from '../../model.ts'
import type { RowsRequest } from './rows.ts'
import type { Selecting } from './selection.ts'
import type { ChosenColumns } from './use-columns.ts'
import type { View, ViewChange } from './view.ts'

/** What all parts of the page of a list know. */
export interface ListPart {
  readonly type: EntityType
  readonly view: View
  change(change: ViewChange): void
  readonly columns: ChosenColumns
  readonly request: RowsRequest
  readonly total: number | undefined
  readonly selecting: Selecting
  /** Goes to a place, as `go` of a view says; undefined for the top. */
  go(to: string | undefined): void
}
