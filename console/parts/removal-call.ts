import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Json, PlanChanged, send } from '../api.ts'
import type { OperationChange } from '../operations.ts'
import { noteRemoved } from '../removed.ts'
import { useWrite } from '../writes.ts'

/** What is to be deleted or restored: one Entity, or all that match a filter. */
export interface RemovalTarget {
  readonly entity: string
  readonly id?: number
  /** In place of an id: deletes only. */
  readonly filter?: string
  readonly kind: 'delete' | 'restore'
}

export type RemovalChange = Pick<OperationChange, 'entity' | 'id' | 'kind' | 'changed'>

export interface RemovalPreview {
  readonly total: number
  readonly changes: readonly RemovalChange[]
  readonly plan: string
  readonly next: string | null
}

/** So many pages of a hundred are read to count by type. */
const MOST_PAGES = 10

function callOf(
  { entity, id, filter, kind }: RemovalTarget,
  withTargets: boolean,
): [path: string, query: Json] {
  const how = kind === 'restore' ? { restore: true, ...(withTargets && { with: 'targets' }) } : {}
  return id === undefined ? [`${entity}/`, { filter, ...how }] : [`${entity}/${id}/`, how]
}

async function readPreview(target: RemovalTarget, withTargets: boolean): Promise<RemovalPreview> {
  const [path, query] = callOf(target, withTargets)
  const read = async (cursor?: string) => {
    const { body } = await send('DELETE', path, {
      query: { ...query, dry_run: true, cursor },
      repeat: 'always',
    })
    return body as RemovalPreview
  }
  let all = await read()
  for (let pages = 1; pages < MOST_PAGES && all.next !== null; pages++) {
    const more = await read(all.next)
    all = { ...all, changes: [...all.changes, ...more.changes], next: more.next }
  }
  return all
}

/** What a deletion or a restore would do, and how to do exactly that. */
export function useRemoval(target: RemovalTarget, done: (total: number) => string) {
  const write = useWrite()
  const [withTargets, setWithTargets] = useState(false)
  const [renewed, setRenewed] = useState<RemovalPreview>()
  const [refusal, setRefusal] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  // Changes of others do not renew it: what is agreed to is what is shown. The plan notices them.
  const { data, error } = useQuery({
    queryKey: ['removal', target, withTargets],
    queryFn: () => readPreview(target, withTargets),
    gcTime: 0,
    staleTime: 0,
    refetchOnWindowFocus: false,
    retry: false,
  })
  const failure = refusal ?? error ?? undefined
  const preview = failure === undefined ? (renewed ?? data) : undefined
  const run = async (): Promise<boolean> => {
    if (preview === undefined || isBusy) return false
    setBusy(true)
    const [path, query] = callOf(target, withTargets)
    try {
      await write(done(preview.total), async () => {
        const received = await send('DELETE', path, { query: { ...query, plan: preview.plan } })
        for (const one of preview.changes)
          if (one.kind === 'delete' && one.id !== null) noteRemoved(one.entity, one.id)
        return received
      })
      return true
    } catch (thrown) {
      if (thrown instanceof PlanChanged) setRenewed(thrown.preview as RemovalPreview)
      else setRefusal(thrown)
      return false
    } finally {
      setBusy(false)
    }
  }
  const chooseTargets = (next: boolean) => {
    setRefusal(undefined)
    setRenewed(undefined)
    setWithTargets(next)
  }
  return { preview, failure, isBusy, hasMoved: renewed !== undefined, withTargets, chooseTargets, run }
}
