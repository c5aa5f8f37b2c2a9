import { budget } from '../../budget.ts'

/**
 * How much each expansion of an answer may bring along. The whole budget is divided beforehand, by what is asked for and
 * not by what is there: so the same Entity is expanded alike, whatever stands beside it on the page.
 */
export interface Allotment {
  /** Of each list, so many of its first. */
  readonly entities: number
  /** For each list, or for each single Entity, that is reached over so many lists. */
  bytes(lists: number): number
}

/** So many Entities are few, whatever their size: they are not weighed. */
export const UNWEIGHED = 50

/** What is asked for: of so many rows, along so many paths, with so many lists behind each other. */
interface ExpansionExtent {
  readonly rows: number
  readonly paths: number
  readonly depth: number
}

/** Nothing, where little can come along. */
export function allotmentOf({ rows, paths, depth }: ExpansionExtent): Allotment | undefined {
  if (depth === 0 && rows * (1 + paths) <= UNWEIGHED) return undefined
  const shares = rows * paths
  const entities = Math.max(1, Math.floor((budget.expandEntities / shares) ** (1 / Math.max(1, depth))))
  return {
    entities,
    bytes: (lists) => Math.floor(budget.expandBytes / shares / entities ** Math.max(0, lists)),
  }
}
