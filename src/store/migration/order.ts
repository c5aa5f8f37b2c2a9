import type { TableChange } from './structure.ts'

/** An index prevents the conversion of its column, and values that are no longer unique. */
const ORDER = [
  'rename',
  'drop index',
  'drop column',
  'add column',
  'set aside',
  'rejoin',
  'end sessions',
  'convert',
  'fill column',
  'fill words',
  'add index',
] as const

/** Orders changes so that each comes after those that it depends on. */
export function orderedChanges(changes: readonly TableChange[]): TableChange[] {
  const rank = ({ kind }: TableChange) => ORDER.findIndex((start) => kind.startsWith(start))
  return [...changes].sort((a, b) => rank(a) - rank(b))
}
