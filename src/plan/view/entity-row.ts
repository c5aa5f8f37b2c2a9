import { type Action, actions } from '../../declare/define.ts'
import type { Row } from '../../store/dialect.ts'

/** What an answer shows of one Entity. */
export interface EntityRow {
  readonly id: number
  readonly version: number
  readonly json: string
}

/** Reads a row of (id, version, JSON), from reads, writes and removals. */
export function entityRow(row: Row | undefined): EntityRow | undefined {
  if (row === undefined) return undefined
  const [id, version, json] = row
  return { id: Number(id), version: Number(version), json: String(json) }
}

/** One Entity, live or deleted, as a viewer sees it. */
export interface EntityState extends EntityRow {
  /** The operation that deleted it; `null` if it is live. */
  readonly deletion: string | null
  /** Whether a rule holds for it. */
  may(action: Action): boolean
}

/** Reads a row of `View.state`. */
export function entityState(row: Row | undefined): EntityState | undefined {
  const entity = entityRow(row)
  if (row === undefined || entity === undefined) return undefined
  const [, , , deletion, ...flags] = row
  return {
    ...entity,
    deletion: deletion == null ? null : String(deletion),
    may: (action) => Number(flags[actions.indexOf(action)]) === 1,
  }
}
