import { isRecord } from '../declare/record.ts'
import { memberId } from '../declare/values.ts'
import type { FeedChange } from '../journal/feed.ts'

/** What an operation did to one Entity, however often it changed it. */
export interface EntityChange {
  readonly entity: string
  /** `null` for a migration, which is of the whole type. */
  readonly id: number | null
  readonly version: number
  readonly kind: string
  /** JSON, as in a `FeedChange`: before the first change, and after the last. */
  readonly before: string | null
  readonly data: string | null
  /** Whether there was a state before it that is not known any more. */
  readonly lost: boolean
}

export function changedIn(changes: readonly FeedChange[]): EntityChange[] {
  const changed = new Map<string, EntityChange>()
  for (const { entity, id, version, kind, data, before } of changes) {
    const known = changed.get(`${entity}/${id}`)
    const lost = known?.lost ?? (before === null && version > 1)
    changed.set(`${entity}/${id}`, {
      entity,
      id,
      version,
      kind,
      data,
      before: known === undefined ? before : known.before,
      lost,
    })
  }
  return [...changed.values()]
}

/** Whether one of these columns is another one, or the Entity came or went. */
export function touches({ before, data }: EntityChange, columns: ReadonlySet<string> | undefined): boolean {
  if (columns === undefined || before === null || data === null) return true
  const [then, now] = [JSON.parse(before), JSON.parse(data)]
  return [...columns, 'deleted_at'].some(
    (column) => JSON.stringify(valueOfPath(then, column)) !== JSON.stringify(valueOfPath(now, column)),
  )
}

/** The ids that a reference, or a list of references, had before and has after. */
export function referredIn(
  { before, data }: EntityChange,
  { column, member }: { readonly column: string; readonly member: string },
): number[] {
  return [before, data].flatMap((state) => {
    const value = state === null ? null : valueOfPath(JSON.parse(state), column)
    const all = Array.isArray(value) ? value.map((one) => memberId(one, member)) : [value]
    return all.filter((one): one is number => Number.isSafeInteger(one))
  })
}

/** The value at a dot path. */
function valueOfPath(state: unknown, path: string): unknown {
  return (
    path.split('.').reduce<unknown>((value, name) => (isRecord(value) ? value[name] : undefined), state) ??
    null
  )
}
