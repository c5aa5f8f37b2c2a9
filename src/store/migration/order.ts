import type { TableChange } from './structure.ts'

/** An index stands in the way of its column's conversion, and of values that are not unique any more. */
const ORDER = [
  'rename',
  'drop index',
  'drop column',
  'add column',
  'set aside',
  'rejoin',
  'convert',
  'fill column',
  'fill words',
  'add index',
] as const

/** The order in which each change finds what it needs. */
export function orderedChanges(changes: readonly TableChange[]): TableChange[] {
  const rank = ({ kind }: TableChange) => ORDER.findIndex((start) => kind.startsWith(start))
  return [...changes].sort((a, b) => rank(a) - rank(b))
}
