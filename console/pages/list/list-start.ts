import { type EntityData, get, type Page } from '../../api.ts'
import { readSort } from './view.ts'

/**
 * Where a list starts, if not at the top: at its end, or at the first row that meets a condition. They are tried in
 * turn.
 */
export type ListStart = 'end' | { readonly conditions: readonly string[] }

/** The cursors to read from a place upwards, and downwards. */
export interface StartCursors {
  readonly up: string
  readonly down: string
}

/** Returns the reverse sort. The API sorts by id last, in the direction of the last key. */
export function reversed(sort = ''): string {
  return readSort(sort)
    .map(({ path, isDown }) => (isDown ? path : `-${path}`))
    .join(',')
}

interface StartQuery {
  readonly entity: string
  readonly query: Readonly<Record<string, string | undefined>>
  readonly conditions: readonly string[]
}

/**
 * Finds a place by its value, without reading the rows above it. A cursor belongs to a sort, not to a filter: so the
 * first two rows that meet the condition give the cursors of the whole list, in both directions. Undefined if fewer
 * meet it.
 */
export async function findStart(
  { entity, query, conditions }: StartQuery,
  signal?: AbortSignal,
): Promise<StartCursors | undefined> {
  const { filter, sort, search, trashed, at } = query
  const read = (more: object) =>
    get<Page<EntityData>>(`${entity}/`, { sort, search, trashed, at, fields: 'id', ...more }, signal)
  for (const condition of conditions) {
    const both = filter === undefined ? condition : `(${filter}) && (${condition})`
    const { data } = await read({ filter: both, limit: 2 })
    if (data.length < 2) continue
    const pair = { filter: `id in [${data.map(({ id }) => id).join(', ')}]`, limit: 1 }
    const [up, down] = await Promise.all([read({ ...pair, sort: reversed(sort) }), read(pair)])
    if (up.next !== null && down.next !== null) return { up: up.next, down: down.next }
  }
  return undefined
}
