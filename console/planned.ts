import { hashKey, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiResponse } from '../client/transport.ts'
import { PlanChanged } from './api.ts'

interface Planned<Preview> {
  /** Identifies the request. The answer to another one is discarded. */
  readonly key: readonly unknown[]
  /** Whether to preview now, which is the default. False while the user is still choosing. */
  readonly isEnabled?: boolean
  /** Reads the preview. */
  read(signal?: AbortSignal): Promise<Preview>
  /** Does what the preview shows, with its plan. */
  perform(preview: Preview): Promise<ApiResponse>
}

/**
 * A write with a preview: shows what it would do, then does exactly that. Changes of others do not refresh the preview,
 * because it is what the user agrees to: the plan detects them, and then there is a new preview.
 */
export function usePlanned<Preview extends { readonly plan?: string }>({
  key,
  isEnabled = true,
  read,
  perform,
}: Planned<Preview>) {
  const requestKey = hashKey(key)
  const [latest, setLatest] = useState<Latest<Preview>>({ requestKey })
  // The preview is read again, even if the user returns to an earlier choice.
  if (latest.requestKey !== requestKey) setLatest({ requestKey })
  const { renewed, refusal }: Partial<Latest<Preview>> = latest.requestKey === requestKey ? latest : {}
  const renew = (next: Preview) => setLatest({ requestKey, renewed: next })
  const [isBusy, setBusy] = useState(false)
  const { data, error, isFetching } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => read(signal),
    enabled: isEnabled,
    gcTime: 0,
    staleTime: 0,
    refetchOnWindowFocus: false,
    retry: false,
  })
  const failure = refusal ?? error ?? undefined
  const preview = failure === undefined ? (renewed ?? data) : undefined
  /** Returns undefined if it was not done. */
  const run = async (): Promise<ApiResponse | undefined> => {
    if (preview?.plan === undefined || isBusy) return undefined
    setBusy(true)
    try {
      return await perform(preview)
    } catch (thrown) {
      if (!(thrown instanceof PlanChanged)) setLatest({ requestKey, refusal: thrown })
      // The preview in the refusal is only a first page, without a cursor.
      else renew(await read().catch(() => thrown.preview as Preview))
      return undefined
    } finally {
      setBusy(false)
    }
  }
  const hasMoved = renewed !== undefined && renewed.plan !== data?.plan
  return { preview, failure, isFetching, isBusy, hasMoved, run, renew }
}

interface Latest<Preview> {
  readonly requestKey: string
  readonly renewed?: Preview
  readonly refusal?: unknown
}

interface PreviewPage {
  readonly total: number
  readonly changes: readonly unknown[]
  readonly next: string | null
}

/** Up to this many changes, all are read, so that they can be counted by type. Each page costs a whole dry run. */
const MOST_COUNTED = 1000

/** Reads all pages of a preview. */
export async function wholePreview<Preview extends PreviewPage>(
  read: (cursor?: string) => Promise<Preview>,
): Promise<Preview> {
  let all = await read()
  while (all.next !== null && all.total <= MOST_COUNTED) {
    const more = await read(all.next)
    all = { ...all, changes: [...all.changes, ...more.changes], next: more.next }
  }
  return all
}
