import { budget } from '../../budget.ts'

/**
 * How much each expansion may add to an answer. The budget is divided in advance, by the request and not by the data.
 * So an Entity is always expanded in the same way, whatever else is on the page.
 */
export interface ExpansionBudget {
  /** The maximum number of Entities in each list; the first ones are shown. */
  readonly entities: number
  /** The maximum bytes of each list or single Entity, by the number of lists on the path to it. */
  bytes(lists: number): number
}

/** Pages of up to this many Entities are not measured in advance. */
export const UNMEASURED_ENTITIES = 50

/** The size of a request: its rows, its paths, and the most lists along one path. */
interface ExpansionExtent {
  readonly rows: number
  readonly paths: number
  readonly depth: number
}

/** Undefined if expansions cannot become large. */
export function expansionBudgetOf({ rows, paths, depth }: ExpansionExtent): ExpansionBudget | undefined {
  if (depth === 0 && rows * (1 + paths) <= UNMEASURED_ENTITIES) return undefined
  const shares = rows * paths
  const entities = Math.max(1, Math.floor((budget.expandEntities / shares) ** (1 / Math.max(1, depth))))
  return {
    entities,
    bytes: (lists) => Math.floor(budget.expandBytes / shares / entities ** Math.max(0, lists)),
  }
}
