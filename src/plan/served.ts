import type { EntityType } from '../declare/model.ts'
import type { SortKey } from './query.ts'

/**
 * Whether a declared index gives the live rows in the order of a sort: all of its keys but those that are held to one
 * value are the keys of the sort, in the same directions or in all the opposite ones.
 */
export function isServed(
  { indexes }: EntityType,
  sort: readonly SortKey[],
  held: ReadonlySet<string>,
): boolean {
  const wanted = sort.filter(({ column }) => !held.has(column))
  return indexes.some((index) => {
    const from = index.findIndex(({ column }) => !held.has(column))
    const keys = from < 0 ? [] : index.slice(from)
    const turned = keys[0]?.descending !== wanted[0]?.descending
    const same = ({ column, descending }: SortKey, other: SortKey | undefined) =>
      column === other?.column && (descending !== turned) === other.descending
    return keys.length === wanted.length && keys.every((key, place) => same(key, wanted[place]))
  })
}
