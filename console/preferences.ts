import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { Forbidden, get, send } from './api.ts'

/** What a person has kept for themselves, on the server: it is there in every browser. */
export interface Preferences {
  /** Views of lists, by Entity type. */
  readonly views?: Readonly<Record<string, readonly SavedView[]>>
  /** The columns of lists, by Entity type, written as in the address of a list. */
  readonly columns?: Readonly<Record<string, string>>
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
  const { data, isError } = useQuery({
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
  })
  return isError && data === undefined ? null : data
}

let newest: Promise<unknown> = Promise.resolve()

/**
 * Changes what is kept, one change after the other. They are read first: another window may have kept something. What
 * somebody has chosen shows at once.
 */
export function useKeep(): (change: (was: Preferences) => Preferences) => Promise<void> {
  const queries = useQueryClient()
  return useCallback(
    async (change) => {
      await queries.cancelQueries({ queryKey: PREFERENCES })
      queries.setQueryData<Preferences | null>(PREFERENCES, (was) => was && change(was))
      const kept = newest.then(async () => {
        const next = change(await get<Preferences>(PATH))
        await send('PUT', PATH, { body: next })
        return next
      })
      const settled = kept.catch(() => undefined)
      newest = settled
      const next = await settled
      // What others wait to change shows already.
      if (newest === settled && next !== undefined) queries.setQueryData(PREFERENCES, next)
      else if (newest === settled) await queries.invalidateQueries({ queryKey: PREFERENCES })
      await kept
    },
    [queries],
  )
}
