import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { Forbidden, get, send } from './api.ts'

/** Settings that the user has stored on the server, for every browser. */
export interface Preferences {
  /** Views of lists, by Entity type. */
  readonly views?: Readonly<Record<string, readonly SavedView[]>>
  /** The columns of lists, by Entity type, in the format of the address. */
  readonly columns?: Readonly<Record<string, string>>
  readonly [more: string]: unknown
}

export interface SavedView {
  readonly name: string
  /** The query of the list's address, without `?`. */
  readonly query: string
}

const PREFERENCES = ['preferences']
const PATH = 'auth/preferences/'

/** Returns `null` if nothing can be stored, as for an admin who acts as somebody; undefined if not known yet. */
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
 * Changes the preferences, one change at a time. They are read first, because another window may have changed them. The
 * change shows at once.
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
      // If more changes are waiting, the page shows them already.
      if (newest === settled && next !== undefined) queries.setQueryData(PREFERENCES, next)
      else if (newest === settled) await queries.invalidateQueries({ queryKey: PREFERENCES })
      await kept
    },
    [queries],
  )
}
