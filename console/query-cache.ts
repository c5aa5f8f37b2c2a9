import type { QueryClient } from '@tanstack/react-query'

/** How many unused answers are kept, to be shown at once when the user comes back. */
const MOST_UNUSED = 50

/** A page that is being rendered has requested its data, but does not use it until a moment later. */
const PAUSE_MS = 1000

/** Limits the number of unused answers: by default they stay for minutes, no matter how many there are. */
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

/** Removes the oldest unused answers. */
function forgetOldest(queries: QueryClient): void {
  const cache = queries.getQueryCache()
  const unused = cache
    .getAll()
    .filter((one) => one.getObserversCount() === 0 && one.state.fetchStatus === 'idle')
  for (const one of unused.slice(0, Math.max(0, unused.length - MOST_UNUSED))) cache.remove(one)
}

/**
 * Options for an infinite query that reads a list. They do not use its `signal`: with an infinite query, each fetch
 * would leave a listener behind that keeps everything read before in memory.
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
