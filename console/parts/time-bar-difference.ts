import { get, type Page } from '../api.ts'
import type { Operation, OperationChange, OperationInFull } from '../operations.ts'
import type { TimeBarTarget } from './time-bar-marks.ts'

/** The change of one Entity between two moments. */
export interface EntityDifference {
  readonly entity: string
  readonly id: number
  readonly kind: 'create' | 'update' | 'delete' | 'restore'
  readonly changed: NonNullable<OperationChange['changed']>
}

export interface Difference {
  readonly all: readonly EntityDifference[]
  /** Whether there were more changes than were read. */
  readonly isPartial: boolean
}

const MOST_OPERATIONS = 100
const MOST_CHANGES = 200
const AT_ONCE = 6

interface Step extends Pick<OperationChange, 'entity' | 'id' | 'kind' | 'changed'> {
  readonly at: string
}

/** Returns what was created, changed and deleted between two moments. */
export async function differenceBetween(
  { entity, id }: TimeBarTarget,
  from: string,
  to: string | undefined,
  signal: AbortSignal,
): Promise<Difference> {
  const isWithin = ({ at }: { at: string }) => at > from && (to === undefined || at <= to)
  if (id !== undefined) {
    const page = await get<Page<Step>>(`${entity}/${id}/history/`, { limit: MOST_CHANGES }, signal)
    const steps = page.data.filter(isWithin).map((step) => ({ ...step, entity, id }))
    return {
      all: fold(steps.toReversed()),
      isPartial: page.next !== null && steps.length === page.data.length,
    }
  }
  const until = to === undefined ? undefined : new Date(Date.parse(to) + 1).toISOString()
  const query = { entity, since: from, until, limit: MOST_OPERATIONS }
  const page = await get<Page<Operation>>('operations/', query, signal)
  const operations = page.data.filter(isWithin)
  const steps: Step[][] = []
  for (let start = 0; start < operations.length; start += AT_ONCE)
    steps.push(
      ...(await Promise.all(
        operations.slice(start, start + AT_ONCE).map((one) => stepsOf(one, entity, signal)),
      )),
    )
  const isCut = operations.some(({ changes }) => changes > MOST_CHANGES)
  return { all: fold(steps.toReversed().flat()), isPartial: page.next !== null || isCut }
}

async function stepsOf({ id, at }: Operation, entity: string, signal: AbortSignal): Promise<Step[]> {
  const { data } = await get<OperationInFull>(`operations/${id}/`, { limit: MOST_CHANGES }, signal)
  return data.filter((one) => one.entity === entity).map((one) => ({ ...one, at }))
}

/** Merges the changes of each Entity, oldest first, into one: from the first value to the last. */
export function fold(steps: readonly Step[]): readonly EntityDifference[] {
  const groups = Map.groupBy(
    steps.filter(({ id }) => id !== null),
    ({ entity, id }) => `${entity}/${id}`,
  )
  return [...groups.values()].flatMap((all): EntityDifference[] => {
    const first = all[0]
    const last = all.at(-1)
    if (first === undefined || last === undefined || first.id === null) return []
    const changed: Record<string, { from: unknown; to: unknown }> = {}
    for (const step of all)
      for (const [path, { from, to }] of Object.entries(step.changed ?? {}))
        changed[path] = { from: path in changed ? changed[path]?.from : from, to }
    for (const [path, { from, to }] of Object.entries(changed))
      if (JSON.stringify(from) === JSON.stringify(to) || path === 'deleted_at') delete changed[path]
    const kind = becomes(first.kind, last.kind, all)
    if (kind === undefined || (kind === 'update' && Object.keys(changed).length === 0)) return []
    return [{ entity: first.entity, id: first.id, kind, changed }]
  })
}

/** Returns undefined if it exists neither before nor afterwards. */
function becomes(first: string, last: string, all: readonly Step[]): EntityDifference['kind'] | undefined {
  const isGone =
    last === 'purge' || all.findLast(({ kind }) => kind === 'delete' || kind === 'restore')?.kind === 'delete'
  const wasThere = first !== 'create' && first !== 'restore'
  if (isGone) return wasThere ? 'delete' : undefined
  if (first === 'create') return 'create'
  return first === 'restore' ? 'restore' : 'update'
}
