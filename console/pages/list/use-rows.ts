import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo, useRef, useSyncExternalStore } from 'react'
import { type EntityData, get, type Page } from '../../api.ts'
import { type SeenChange, useChanges } from '../../live.ts'
import { useSignedIn } from '../../session.ts'
import { type Rows, type RowsRequest, type RowsState, rowsOf } from './rows.ts'

export interface LiveRows extends RowsState {
  readonly store: Rows
  /** What went wrong with the newest request. What is shown may be that of the one before. */
  readonly failure: unknown
  /** Something else was asked for, and is on its way. */
  readonly isBehind: boolean
  retry(): void
}

/** The rows of a list, up to date. Until the first page of a new request is there, those of the one before stay. */
export function useRows(request: RowsRequest): LiveRows {
  const { user_type, id } = useSignedIn()
  const key = JSON.stringify(request)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all that the request does.
  const current = useMemo(() => rowsOf(request, `${user_type}/${id}`), [key, user_type, id])
  // Whatever renews the lists of a type renews this one: the feed, and every write.
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
    isBehind: !isLoaded,
    retry: () => void refetch(),
  }
}

function isSameList(a: RowsRequest, b: RowsRequest): boolean {
  const told = ({ entity, from, query: { fields: _, expand: __, ...query } }: RowsRequest) =>
    JSON.stringify([entity, from, query])
  return told(a) === told(b)
}

/** Tells the rows what the feed says, also of what they only name. */
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
 * How many there are; with `isWhole`, whatever the filter and the search. It comes later than the rows: to count a
 * million takes its time.
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
