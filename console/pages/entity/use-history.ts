import { type InfiniteData, useInfiniteQuery } from '@tanstack/react-query'
import { get, type Page } from '../../api.ts'
import { paged } from '../../query-cache.ts'

/** One change of an Entity, as its history lists it. */
export interface HistoryEntry {
  readonly version: number
  readonly kind: string
  readonly at: string
  readonly actor: string | null
  readonly operation: string
  readonly changed: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>> | null
  /** Dot paths of secrets that were changed. */
  readonly secrets?: readonly string[]
  readonly run?: string
  readonly reason?: string
}

const PAGE = 20

/** Returns the history, newest first, page by page. */
export function useHistory(entity: string, id: number, isEnabled = true) {
  return useInfiniteQuery({
    queryKey: ['history', entity, id],
    ...paged((cursor) => get<Page<HistoryEntry>>(`${entity}/${id}/history/`, { limit: PAGE, cursor })),
    enabled: isEnabled,
  })
}

export function entriesOf(data: InfiniteData<Page<HistoryEntry>> | undefined): readonly HistoryEntry[] {
  return data?.pages.flatMap((page) => page.data) ?? []
}

/** Returns the newest change of a field, or of a part of it. */
export function lastChange(entries: readonly HistoryEntry[], path: string): HistoryEntry | undefined {
  return entries.find(({ changed }) =>
    Object.keys(changed ?? {}).some((one) => one === path || one.startsWith(`${path}.`)),
  )
}
