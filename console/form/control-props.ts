import type { Item } from '../model.ts'

/** The props that each control gets from its field row. */
export interface ControlProps {
  readonly kind: Item
  readonly path: string
  readonly id: string
  readonly label: string
  /** The ids of hints and errors, for `aria-describedby`. */
  readonly describedBy: string | undefined
  readonly isWrong: boolean
  readonly placeholder?: string | undefined
}
