import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo, useRef, useSyncExternalStore } from 'react'
import { type EntityData, get, type Page } from '../../api.ts'
import { type SeenChange, useChanges } from '../../live.ts'
import { useSignedIn } from '../../session.ts'
import { type Rows, type RowsRequest, type RowsState, rowsOf } from './rows.ts'

export interface LiveRows extends RowsState {
  readonly store: Rows
  /** The error of the latest request. The rows may be those of an earlier one. */
  readonly failure: unknown
  /** Whether the rows are those of an earlier request, while the new one is being read. */
  readonly isStale: boolean
  retry(): void
}

/** Returns the rows of a list, kept up to date. Until a new request has its first page, the old rows stay. */
export function useRows(request: RowsRequest): LiveRows {
  const { user_type, id } = useSignedIn()
  const key = JSON.stringify(request)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all that the request does.
  const current = useMemo(() => rowsOf(request, `${user_type}/${id}`), [key, user_type, id])
  // Its key makes everything that refetches the lists of a type refetch this one: the feed, and every write.
  const { error, refetch } = useQuery({
    queryKey: ['list', request.entity, 'rows', key],
    queryFn: async ({ signal }) => {
      await current.renew(signal)
      return Date.now()
    },
    staleTime: 0,
    gcTime: 0,
  })
  useNotes(current)
  const isLoaded = useSyncExternalStore(current.subscribe, () => current.state().next !== undefined)
  const last = useRef(current)
  if (isLoaded) last.current = current
  else if (!isLoaded && isSameList(last.current.request, request)) current.resume(last.current)
  const shown = last.current.request.entity === request.entity ? last.current : current
  const state = useSyncExternalStore(shown.subscribe, shown.state)
  return {
    ...state,
    store: shown,
    failure: error ?? state.error ?? null,
    isStale: !isLoaded,
    retry: () => void refetch(),
  }
}

function isSameList(a: RowsRequest, b: RowsRequest): boolean {
  const told = ({ entity, from, query: { fields: _, expand: __, ...query } }: RowsRequest) =>
    JSON.stringify([entity, from, query])
  return told(a) === told(b)
}

/** Passes the changes of the feed to the rows, including those of Entities that they only name. */
function useNotes(rows: Rows): void {
  const queries = useQueryClient()
  const listener = useCallback(
    (changes: readonly SeenChange[]) => {
      const { entity, targets, query } = rows.request
      if (query.at !== undefined) return
      rows.note(changes)
      const named = new Set(Object.values(targets).map(({ to }) => to))
      if (changes.some((change) => change.entity !== entity && named.has(change.entity)))
        void queries.invalidateQueries({ queryKey: ['list', entity, 'rows'] })
    },
    [rows, queries],
  )
  useChanges(listener)
}

/**
 * Returns the number of rows; with `isWhole`, without the filter and the search. It is read apart from the rows,
 * because counting a million takes a while.
 */
export function useTotal(
  { entity, query }: RowsRequest,
  { isWhole = false, isWanted = true } = {},
): number | undefined {
  const { trashed, at } = query
  const { filter, search } = isWhole ? {} : query
  const { data } = useQuery({
    queryKey: ['list', entity, 'total', { filter, search, trashed, at }],
    queryFn: ({ signal }) =>
      get<Page<EntityData>>(
        `${entity}/`,
        { filter, search, trashed, at, count: 1, limit: 1, fields: 'id' },
        signal,
      ),
    enabled: isWanted,
    placeholderData: (before, query) => (query?.queryKey[1] === entity ? before : undefined),
  })
  return data?.total
}
