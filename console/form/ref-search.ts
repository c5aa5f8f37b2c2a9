import { useQuery } from '@tanstack/react-query'
import { type EntityData, get, type Page } from '../api.ts'
import { byName } from '../find-by-name.ts'
import { useEntityType } from '../model.ts'
import { useDebounced } from '../parts/use-debounced.ts'

const MOST = 8
const PAUSE_MS = 150

/** Returns Entities that match a text, newest first. Undefined until they are those for the current text. */
export function useFound(to: string, text: string, isOpen: boolean): readonly EntityData[] | undefined {
  const type = useEntityType(to)
  const wanted = useDebounced(text.trim(), PAUSE_MS)
  const { data } = useQuery({
    queryKey: ['list', to, 'pick', wanted],
    queryFn: async ({ signal }) => {
      if (type === undefined) return []
      const { data: found } = await get<Page<EntityData>>(`${to}/`, byName(type, wanted, MOST), signal)
      return found
    },
    enabled: isOpen && type !== undefined,
  })
  // Enter right after typing must not choose a result of an earlier text.
  return wanted === text.trim() ? data : undefined
}
