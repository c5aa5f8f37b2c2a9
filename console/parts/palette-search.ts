import { useQuery } from '@tanstack/react-query'
import { type EntityData, get, type Page } from '../api.ts'
import { searchedFields } from '../find-by-name.ts'
import { type EntityType, useModel } from '../model.ts'
import { namingFields } from '../names.ts'
import { useDebounced } from './use-debounced.ts'

export interface Hit {
  readonly type: EntityType
  readonly data: EntityData
}

const PAUSE_MS = 200
const LEAST = 2
const MOST_TYPES = 8
const MOST_HITS = 5

/**
 * Finds Entities of all types that match a text. They appear together, so that nothing moves while the user chooses.
 * Undefined until they are those for the current text.
 */
export function useHits(typed: string): readonly Hit[] | undefined {
  const text = typed.trim()
  const wanted = useDebounced(text, PAUSE_MS)
  const { entities } = useModel()
  const { data } = useQuery({
    queryKey: ['list', 'found by name', wanted],
    queryFn: ({ signal }) => hitsOf(entities, wanted, signal),
    enabled: wanted.length >= LEAST,
    // The feed refetches lists by their type, and this is a list of all types.
    staleTime: 0,
    gcTime: 0,
  })
  if (text.length < LEAST) return []
  return wanted === text ? data : undefined
}

/** A failure of one type must not hide the others. */
async function hitsOf(
  types: readonly EntityType[],
  text: string,
  signal: AbortSignal,
): Promise<readonly Hit[]> {
  const asked = types
    .map((type) => ({ type, query: queryFor(type, text) }))
    .filter(({ query }) => query !== undefined)
  const found = await Promise.all(
    asked.slice(0, MOST_TYPES).map(async ({ type, query }) => {
      const page = await get<Page<EntityData>>(`${type.name}/`, query, signal).catch(() => undefined)
      return page?.data.map((data) => ({ type, data })) ?? []
    }),
  )
  return found.flat()
}

/** Returns a search, or a filter by the start of the name; undefined if the type allows neither. */
function queryFor(type: EntityType, text: string): object | undefined {
  if (type.may.list === false) return undefined
  const shape = { limit: MOST_HITS, fields: ['id', ...namingFields(type)].join(',') }
  if (type.search) return { ...shape, search: text }
  // Each condition can use an index. Ignoring case would read all rows.
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  const conditions = searchedFields(type).flatMap(({ path, fold }) => {
    const by = fold === true ? `fold(${path})` : path
    const spellings = fold === true ? [text] : new Set([text, capital])
    return [...spellings].map((one) => `${by}.startsWith(${JSON.stringify(one)})`)
  })
  return conditions.length === 0 ? undefined : { ...shape, filter: conditions.join(' || ') }
}
