import type { QueryClient } from '@tanstack/react-query'

/** So many answers that nobody looks at stay, to be shown at once when somebody comes back. */
const MOST_UNUSED = 50

/** A page that is being built has asked for what it needs, and looks at it a moment later. */
const PAUSE_MS = 1000

/** By themselves answers stay for minutes, however many they are. */
export function boundQueries(queries: QueryClient): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  queries.getQueryCache().subscribe(({ type }) => {
    if (type !== 'added' || timer !== undefined) return
    timer = setTimeout(() => {
      timer = undefined
      forgetOldest(queries)
    }, PAUSE_MS)
  })
}

/** Forgets the oldest answers that nobody looks at. */
function forgetOldest(queries: QueryClient): void {
  const cache = queries.getQueryCache()
  const unused = cache
    .getAll()
    .filter((one) => one.getObserversCount() === 0 && one.state.fetchStatus === 'idle')
  for (const one of unused.slice(0, Math.max(0, unused.length - MOST_UNUSED))) cache.remove(one)
}

/**
 * How an infinite query reads a list of the API. Without its `signal`: whoever takes that from an infinite query leaves
 * a listener behind with each fetch, which keeps all that was read before in memory.
 */
export function paged<Read extends { readonly next: string | null }>(
  read: (cursor: string | undefined) => Promise<Read>,
) {
  return {
    queryFn: ({ pageParam }: { readonly pageParam: string | undefined }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }: Read) => next ?? undefined,
  }
}
