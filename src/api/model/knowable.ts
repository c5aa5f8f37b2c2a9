import { type Expression, no, yes } from '../../declare/cel/expression.ts'
import { actions } from '../../declare/define.ts'
import {
  type EntityType,
  type Field,
  isPointing,
  isReadOnly,
  type PointingField,
  walk,
} from '../../declare/model.ts'
import type { Plan, Plans } from '../../plan/compile.ts'
import type { Viewer } from '../../plan/viewer/viewer.ts'

/** Always, never, or depending on the Entity and its values. */
export type Possible = boolean | 'some'

export function possible(rule: Expression): Possible {
  if (rule === yes) return true
  return rule === no ? false : 'some'
}

/** Whether they may do anything at all with Entities of a type: all others do not exist for them. */
export function mayAny(viewer: Viewer, type: EntityType): boolean {
  return actions.some((action) => viewer.may(type, action) !== no)
}

/** The fields that they may set, in new Entities or in others. */
export function settable(viewer: Viewer, type: EntityType, fields: readonly Field[]): Field[] {
  return fields.flatMap((field): Field[] => {
    const may = (['write', 'change'] as const).some(
      (action) => viewer.mayField(type, field.path, action) !== no,
    )
    if (!may || isReadOnly(field)) return []
    if (field.kind !== 'object') return [field]
    const inner = settable(viewer, type, field.fields)
    return inner.length === 0 ? [] : [{ ...field, fields: inner }]
  })
}

/** Whether all columns of a unique set are of fields that they see. */
export function isSeenColumn(seen: readonly Field[], column: string): boolean {
  return [...walk(seen)].some(({ path }) => path === column || `${path}.id` === column)
}

/** A field of some type that refers to Entities of another one. */
export interface Referrer {
  readonly from: EntityType
  readonly field: PointingField
}

/** For each viewer, by the name of the target: all types are looked at once, not once for each target. */
const referrers = new WeakMap<Viewer, ReadonlyMap<string, readonly Referrer[]>>()

/** The fields through which Entities that they may read refer to Entities of a type. */
export function referrersSeen(plans: Plans, viewer: Viewer, target: EntityType): readonly Referrer[] {
  const found = referrers.get(viewer) ?? allReferrers(plans, viewer)
  referrers.set(viewer, found)
  return found.get(target.name) ?? []
}

function allReferrers(plans: Plans, viewer: Viewer): ReadonlyMap<string, readonly Referrer[]> {
  const all = [...plans.values()].flatMap(({ type: from }: Plan): Referrer[] => {
    if (viewer.may(from, 'read') === no) return []
    return [...walk(viewer.seen(from))].filter(isPointing).map((field) => ({ from, field }))
  })
  return Map.groupBy(all, ({ field }) => field.target)
}

/** Those who can never see a field do not learn its default either. */
export function showsDefault(viewer: Viewer, type: EntityType, { path }: Field): boolean {
  return viewer.may(type, 'read') !== no && viewer.mayField(type, path, 'read') !== no
}
