import { useState } from 'react'
import { type Json, send } from '../api.ts'
import type { OperationChange } from '../operations.ts'
import { usePlanned, wholePreview } from '../planned.ts'
import { markRemoved } from '../removed.ts'
import { useWrite } from '../writes.ts'

/** What is to be deleted or restored: one Entity, or all that match a filter. */
export interface RemovalTarget {
  readonly entity: string
  readonly id?: number
  /** Instead of an id. Only for a delete. */
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

function callOf(
  { entity, id, filter, kind }: RemovalTarget,
  withTargets: boolean,
): [path: string, query: Json] {
  const how = kind === 'restore' ? { restore: true, ...(withTargets && { with: 'targets' }) } : {}
  return id === undefined ? [`${entity}/`, { filter, ...how }] : [`${entity}/${id}/`, how]
}

function readingPreview(target: RemovalTarget, withTargets: boolean) {
  const [path, query] = callOf(target, withTargets)
  return async (cursor?: string): Promise<RemovalPreview> => {
    const { body } = await send('DELETE', path, {
      query: { ...query, dry_run: true, cursor },
      repeat: 'always',
    })
    return body as RemovalPreview
  }
}

/** Previews a delete or a restore, and does exactly that. */
export function useRemoval(target: RemovalTarget, done: (total: number) => string) {
  const write = useWrite()
  const [withTargets, setWithTargets] = useState(false)
  const read = readingPreview(target, withTargets)
  const { run, ...planned } = usePlanned({
    key: ['removal', target, withTargets],
    read: () => wholePreview(read),
    perform: ({ total, plan, changes }: RemovalPreview) =>
      write(done(total), async () => {
        const [path, query] = callOf(target, withTargets)
        const received = await send('DELETE', path, { query: { ...query, plan } })
        for (const { kind, entity, id } of changes)
          if (kind === 'delete' && id !== null) markRemoved(entity, id)
        return received
      }),
  })
  return {
    ...planned,
    withTargets,
    chooseTargets: setWithTargets,
    run: async () => (await run()) !== undefined,
  }
}
