import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Forbidden, get, send } from './api.ts'

/** What a person has kept for themselves, on the server: it is there in every browser. */
export interface Preferences {
  /** Views of lists, by Entity type. */
  readonly views?: Readonly<Record<string, readonly SavedView[]>>
  readonly [more: string]: unknown
}

export interface SavedView {
  readonly name: string
  /** The address of the list behind `?`. */
  readonly query: string
}

const PREFERENCES = ['preferences']
const PATH = 'auth/preferences/'

/** `null`: there are none to keep, as for an admin who acts as somebody. Undefined: not known yet. */
export function usePreferences(): Preferences | null | undefined {
  return useQuery({
    queryKey: PREFERENCES,
    queryFn: async ({ signal }) => {
      try {
        return await get<Preferences>(PATH, {}, signal)
      } catch (error) {
        if (error instanceof Forbidden) return null
        throw error
      }
    },
    staleTime: 60_000,
  }).data
}

/** Changes what is kept. It is read first: another window may have kept something. */
export function useKeep(): (change: (was: Preferences) => Preferences) => Promise<void> {
  const queries = useQueryClient()
  return async (change) => {
    const next = change(await get<Preferences>(PATH))
    await send('PUT', PATH, { body: next })
    queries.setQueryData(PREFERENCES, next)
  }
}
