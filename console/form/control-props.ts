import type { Item } from '../model.ts'

/** What a control is told by the row that it stands in. */
export interface ControlProps {
  readonly kind: Item
  readonly path: string
  readonly id: string
  readonly label: string
  /** For `aria-describedby`: hints and errors. */
  readonly describedBy: string | undefined
  readonly isWrong: boolean
  readonly placeholder?: string | undefined
}
