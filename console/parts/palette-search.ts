import { useQuery } from '@tanstack/react-query'
import { type EntityData, get, type Page } from '../api.ts'
import { soughtIn } from '../find-by-name.ts'
import { type EntityType, useModel } from '../model.ts'
import { namingFields } from '../names.ts'
import { useCalm } from './use-calm.ts'

export interface Hit {
  readonly type: EntityType
  readonly data: EntityData
}

const PAUSE_MS = 200
const LEAST = 2
const MOST_TYPES = 8
const MOST_HITS = 5

/**
 * Entities of all types that fit a text. They come all at once, so that nothing moves while somebody chooses.
 * Undefined until they are those for this very text.
 */
export function useHits(typed: string): readonly Hit[] | undefined {
  const text = typed.trim()
  const wanted = useCalm(text, PAUSE_MS)
  const { entities } = useModel()
  const { data } = useQuery({
    queryKey: ['list', 'found by name', wanted],
    queryFn: ({ signal }) => hitsOf(entities, wanted, signal),
    enabled: wanted.length >= LEAST,
    // The feed renews lists by their type, and this is no list of one.
    staleTime: 0,
    gcTime: 0,
  })
  if (text.length < LEAST) return []
  return wanted === text ? data : undefined
}

/** A type that does not answer must not hide the others. */
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

/** By its words, or by the beginning of its name; undefined if the type has neither. */
function queryFor(type: EntityType, text: string): object | undefined {
  if (type.may.list === false) return undefined
  const shape = { limit: MOST_HITS, fields: ['id', ...namingFields(type)].join(',') }
  if (type.search) return { ...shape, search: text }
  // Each of these can use an index; without capitals, all rows would be read.
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  const conditions = soughtIn(type).flatMap(({ path, fold }) => {
    const by = fold === true ? `fold(${path})` : path
    const spellings = fold === true ? [text] : new Set([text, capital])
    return [...spellings].map((one) => `${by}.startsWith(${JSON.stringify(one)})`)
  })
  return conditions.length === 0 ? undefined : { ...shape, filter: conditions.join(' || ') }
}
