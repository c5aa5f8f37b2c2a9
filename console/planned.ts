import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Received } from '../client/transport.ts'
import { PlanChanged } from './api.ts'

interface Planned<Preview> {
  readonly key: readonly unknown[]
  /** Asks what would be done. */
  read(signal: AbortSignal): Promise<Preview>
  /** Does what was shown, with its plan. */
  perform(preview: Preview): Promise<Received>
}

/**
 * A write that is shown before it is done: what it would do, and how to do exactly that. Changes of others do not renew
 * what is shown, since that is what is agreed to: the plan notices them, and then there is a new preview.
 */
export function usePlanned<Preview extends { readonly plan?: string }>({
  key,
  read,
  perform,
}: Planned<Preview>) {
  const [renewed, renew] = useState<Preview>()
  const [refusal, setRefusal] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const { data, error, isFetching } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => read(signal),
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
      if (thrown instanceof PlanChanged) renew(thrown.preview as Preview)
      else setRefusal(thrown)
      return undefined
    } finally {
      setBusy(false)
    }
  }
  /** To be called when something else is asked for. */
  const forget = () => {
    renew(undefined)
    setRefusal(undefined)
  }
  const hasMoved = renewed !== undefined && renewed.plan !== data?.plan
  return { preview, failure, isFetching, isBusy, hasMoved, run, renew, forget }
}
