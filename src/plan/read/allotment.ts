import { budget } from '../../budget.ts'

/**
 * How much each expansion may add to an answer. The budget is divided in advance, by what the request asks for and not
 * by the data. So an Entity is always expanded in the same way, whatever else is on the page.
 */
export interface Allotment {
  /** How many Entities at most of each list: the first ones. */
  readonly entities: number
  /** How many bytes at most for each list or single Entity, by the number of lists on the way to it. */
  bytes(lists: number): number
}

/** Pages of up to this many Entities are not measured before their JSON is made. */
export const UNWEIGHED = 50

/** What the request asks for: how many rows, how many paths, and how many lists at most along one path. */
interface ExpansionExtent {
  readonly rows: number
  readonly paths: number
  readonly depth: number
}

/** Undefined where expansions cannot become large. */
export function allotmentOf({ rows, paths, depth }: ExpansionExtent): Allotment | undefined {
  if (depth === 0 && rows * (1 + paths) <= UNWEIGHED) return undefined
  const shares = rows * paths
  const entities = Math.max(1, Math.floor((budget.expandEntities / shares) ** (1 / Math.max(1, depth))))
  return {
    entities,
    bytes: (lists) => Math.floor(budget.expandBytes / shares / entities ** Math.max(0, lists)),
  }
}
