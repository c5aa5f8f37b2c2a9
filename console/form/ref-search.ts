import { useQuery } from '@tanstack/react-query'
import { type EntityData, get, type Page } from '../api.ts'
import { type EntityType, fieldAt, useEntityType } from '../model.ts'
import { useCalm } from '../parts/use-calm.ts'

const MOST = 8
const PAUSE_MS = 150

/** Entities to refer to that fit a text, the newest first. Undefined until they are those for this very text. */
export function useFound(to: string, text: string, isOpen: boolean): readonly EntityData[] | undefined {
  const type = useEntityType(to)
  const wanted = useCalm(text.trim(), PAUSE_MS)
  const { data } = useQuery({
    queryKey: ['list', to, 'pick', wanted],
    queryFn: async ({ signal }) => {
      if (type === undefined) return []
      const { data: found } = await get<Page<EntityData>>(`${to}/`, queryFor(type, wanted), signal)
      return found
    },
    enabled: isOpen && type !== undefined,
  })
  // Whoever types and presses Enter at once must not get what fitted an earlier text.
  return wanted === text.trim() ? data : undefined
}

function queryFor(type: EntityType, text: string): object {
  const shape = { limit: MOST, fields: ['id', ...(type.title === null ? [] : [type.title])].join(',') }
  if (text === '') return { ...shape, sort: '-id' }
  if (/^\d{1,15}$/.test(text)) return { ...shape, filter: `id == ${text}` }
  if (type.search) return { ...shape, search: text }
  if (type.title === null) return { ...shape, filter: 'false' }
  const title = fieldAt(type.fields, type.title)
  const condition =
    title?.fold === true
      ? `fold(${type.title}).contains(${JSON.stringify(text)})`
      : `${type.title}.lowerAscii().contains(${JSON.stringify(text.toLowerCase())})`
  return { ...shape, filter: condition, sort: '-id' }
}
