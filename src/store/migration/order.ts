import type { TableChange } from './structure.ts'

/** An index blocks the conversion of its column, and values that are no longer unique. */
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

/** The order in which each change finds what it needs. */
export function orderedChanges(changes: readonly TableChange[]): TableChange[] {
  const rank = ({ kind }: TableChange) => ORDER.findIndex((start) => kind.startsWith(start))
  return [...changes].sort((a, b) => rank(a) - rank(b))
}
