import { hashKey, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Received } from '../client/transport.ts'
import { PlanChanged } from './api.ts'

interface Planned<Preview> {
  /** What is asked for. What was answered to something else is forgotten. */
  readonly key: readonly unknown[]
  /** Undefined: at once. False: somebody still chooses what to do. */
  readonly isAsked?: boolean
  /** Asks what would be done. */
  read(signal?: AbortSignal): Promise<Preview>
  /** Does what was shown, with its plan. */
  perform(preview: Preview): Promise<Received>
}

/**
 * A write that is shown before it is done: what it would do, and how to do exactly that. Changes of others do not renew
 * what is shown, since that is what is agreed to: the plan notices them, and then there is a new preview.
 */
export function usePlanned<Preview extends { readonly plan?: string }>({
  key,
  isAsked = true,
  read,
  perform,
}: Planned<Preview>) {
  const asked = hashKey(key)
  const [latest, setLatest] = useState<Latest<Preview>>({ asked })
  // Also if somebody comes back to it: it is asked anew.
  if (latest.asked !== asked) setLatest({ asked })
  const { renewed, refusal }: Partial<Latest<Preview>> = latest.asked === asked ? latest : {}
  const renew = (next: Preview) => setLatest({ asked, renewed: next })
  const [isBusy, setBusy] = useState(false)
  const { data, error, isFetching } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => read(signal),
    enabled: isAsked,
    gcTime: 0,
    staleTime: 0,
    refetchOnWindowFocus: false,
    retry: false,
  })
  const failure = refusal ?? error ?? undefined
  const preview = failure === undefined ? (renewed ?? data) : undefined
  /** Undefined if it was not done. */
  const run = async (): Promise<Received | undefined> => {
    if (preview?.plan === undefined || isBusy) return undefined
    setBusy(true)
    try {
      return await perform(preview)
    } catch (thrown) {
      if (!(thrown instanceof PlanChanged)) setLatest({ asked, refusal: thrown })
      // What the refusal tells is a first page, without the way to the next.
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
  readonly asked: string
  readonly renewed?: Preview
  readonly refusal?: unknown
}

interface PreviewPage {
  readonly total: number
  readonly changes: readonly unknown[]
  readonly next: string | null
}

/** Up to so many changes are all read, so that they can be counted by type. Each page does all of it, and rolls it back. */
const MOST_COUNTED = 1000

/** A preview with all of its changes, from its pages. */
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
