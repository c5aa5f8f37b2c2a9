import { budget } from '../budget.ts'
import type { Field } from '../declare/model.ts'
import { actorOf } from '../plan/actor.ts'
import type { Amendment, Obstacle, Sheaf } from '../plan/amend.ts'
import type { Plan, Plans } from '../plan/compile.ts'
import type { Naming } from '../plan/naming.ts'
import { EMAIL_KEY } from '../plan/schema.ts'
import type { Bound, Row } from '../store/dialect.ts'
import { type Changed, differenceOf } from './difference.ts'
import { type Mapped, mapState, type State } from './states.ts'

/** One Entity that is to be taken back to what it was. */
export interface Reversal {
  readonly plan: Plan
  readonly amendment: Amendment
  readonly columns: readonly string[]
  /** What would change of some fields. */
  changed(fields: readonly Field[]): Changed
  readonly unmapped: readonly string[]
}

/** Why one is not: sentences by Entity. */
export type Conflicts = Map<string, string[]>

export interface Reversals {
  readonly reversals: readonly Reversal[]
  readonly conflicts: Conflicts
  readonly moved: ReadonlyMap<string, Moved>
}

/** From what operations have touched to what would take that back; `skipped` are Entities that are left out. */
export function reverse(rows: readonly Row[], plans: Plans, skipped: ReadonlySet<string>): Reversals {
  const reversals: Reversal[] = []
  const conflicts: Conflicts = new Map()
  const moved = new Map<string, Moved>()
  for (const row of rows) {
    const name = `${row[0]}/${row[1]}`
    if (skipped.has(name)) continue
    const found = reverseOne(row, plans)
    if (typeof found === 'string') conflicts.set(name, [found])
    else if (found === undefined) continue
    else if ('amendment' in found) reversals.push(found)
    else moved.set(name, found)
  }
  return { reversals, conflicts, moved }
}

/** An Entity that others have changed since the last version that is to be taken back. */
export interface Moved {
  readonly plan: Plan
  readonly id: number
  readonly last: number
  readonly now: State
  readonly actor: string | null
}

/** Undefined where there is nothing to do; a sentence where it cannot be done. */
function reverseOne(row: Row, plans: Plans): Reversal | Moved | string | undefined {
  const [entity, id, first, last, number, version, kind, data, actor, actorId, before] = row
  const plan = plans.get(String(entity))
  if (plan === undefined) return `is of the type ${entity}, which is not declared any more`
  if (kind === 'purge') return 'was purged, and cannot come back'
  if (data === null) return 'is not known well enough any more'
  const now = JSON.parse(String(data)) as State
  if (Number(version) !== Number(first) + Number(number) - 1)
    return { plan, id: Number(id), last: Number(last), now, actor: actorOf(actor, actorId) }
  if (Number(first) > 1 && before === null) return 'has a past that is not kept any more'
  const former = Number(first) === 1 ? undefined : (JSON.parse(String(before)) as State)
  return reversalOf(plan, { id: Number(id), version: Number(version) }, now, former)
}

/** What takes an Entity from one state to another; undefined where it stands there already. */
export function reversalOf(
  plan: Plan,
  { id, version }: { readonly id: number; readonly version: number },
  now: State,
  former: State | undefined,
): Reversal | undefined {
  const [isLive, wasLive] = [now.deleted_at === null, former !== undefined && former.deleted_at === null]
  if (former === undefined && !isLive) return undefined
  const kind = isLive === wasLive ? 'update' : isLive ? 'delete' : 'restore'
  const same = former === undefined || isSame(plan, now, former)
  const { state, unmapped, ...then } = same ? nothing : mapState(plan, former, now)
  const { columns, values } = same ? nothing : differing(then, mapState(plan, now, now))
  if (kind === 'update' && columns.length === 0) return undefined
  const next = { ...now, ...state, deleted_at: kind === 'restore' ? null : now.deleted_at }
  const changed = (fields: readonly Field[]) => differenceOf(fields, now, next)
  return { plan, amendment: { id, version, kind, values }, columns, changed, unmapped }
}

/** Whether a deletion or its restore is all that lies between them, as it does for most of many. */
function isSame({ type }: Plan, now: State, former: State): boolean {
  const changed = differenceOf(type.fields, { ...now, deleted_at: null }, { ...former, deleted_at: null })
  return Object.keys(changed).length === 0
}

const nothing = { columns: [], values: [], state: {}, unmapped: [] }

/** What stands there already need not be set. */
function differing(
  then: Pick<Mapped, 'columns' | 'values'>,
  now: Mapped,
): { readonly columns: string[]; readonly values: Bound[] } {
  const current = new Map(now.columns.map((name, at) => [name, now.values[at]]))
  const different = then.columns.flatMap((name, at) =>
    current.has(name) && current.get(name) === then.values[at]
      ? []
      : [[name, then.values[at] ?? null] as const],
  )
  return { columns: different.map(([name]) => name), values: different.map(([, value]) => value) }
}

/** `fields` are those that whoever asks may see; undefined where they may not know what changed. */
export function changedSince(
  { now, actor }: Moved,
  after: State | undefined,
  fields: readonly Field[] | undefined,
): string {
  if (fields === undefined) return 'was changed since'
  const paths = after === undefined ? [] : Object.keys(differenceOf(fields, after, now))
  const what = paths.length === 0 ? '' : `: ${paths.join(', ')}`
  return `was changed since, by ${actor ?? 'nobody'}${what}`
}

/** Together where they set the same columns of the same type. */
export function sheavesOf(reversals: readonly Reversal[]): Sheaf[] {
  const sheaves = new Map<string, Reversal[]>()
  for (const reversal of reversals) {
    const key = `${reversal.plan.type.name}|${reversal.columns.join('|')}`
    const known = sheaves.get(key)
    if (known === undefined) sheaves.set(key, [reversal])
    else known.push(reversal)
  }
  return [...sheaves.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const amendments = group.map(({ amendment }) => amendment)
    return [{ type: first.plan.type, columns: first.columns, amendments }]
  })
}

/** What the database found to stand against it, as sentences by Entity. */
export function conflictsOf(obstacles: readonly Obstacle[], naming: Naming): Conflicts {
  const conflicts: Conflicts = new Map()
  for (const {
    reason,
    entity,
    id,
    columns,
    other: [type, otherId],
  } of obstacles) {
    const whose = reason === 'held' ? type : entity
    const seen = columns.filter((column) => naming.column(whose, column)).map(pathOf)
    const place = seen.length === 0 ? '' : ` in ${seen.join('+')}`
    const other = naming.entity(type) && naming.values(whose, columns) ? `${type}/${otherId}` : 'something'
    const name = `${entity}/${id}`
    const sentence = {
      gone: `refers to ${other}${place}, which was purged`,
      dead: `refers to ${other}${place}, which is deleted`,
      held: `is referred to by ${other}${place}`,
      taken: `has a value${place} that is taken by ${other}`,
    }[reason]
    const known = conflicts.get(name)
    if (known === undefined) conflicts.set(name, [sentence])
    else if (known.length < budget.namedConflicts && !known.includes(sentence)) known.push(sentence)
  }
  return conflicts
}

/** The key of an e-mail is the e-mail's. */
const pathOf = (column: string) => (column === EMAIL_KEY ? 'email' : column)
