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

/** Whether an action is always or never allowed, or for some Entities and values. */
export type Possible = boolean | 'some'

export function possible(rule: Expression): Possible {
  if (rule === yes) return true
  return rule === no ? false : 'some'
}

/** Whether the viewer may do anything with Entities of a type. Other types do not exist for them. */
export function mayAny(viewer: Viewer, type: EntityType): boolean {
  return actions.some((action) => viewer.may(type, action) !== no)
}

/** Returns the fields that the viewer may set, in new or in existing Entities. */
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

/** Whether a column belongs to a field that the viewer sees. */
export function isSeenColumn(seen: readonly Field[], column: string): boolean {
  return [...walk(seen)].some(({ path }) => path === column || `${path}.id` === column)
}

/** A field that refers to Entities of another type. */
export interface Referrer {
  readonly from: EntityType
  readonly field: PointingField
}

/** Referrers for each viewer, by the name of the target, so that all types are walked only once. */
const referrers = new WeakMap<Viewer, ReadonlyMap<string, readonly Referrer[]>>()

/** Returns the fields that refer to a type, from Entities that the viewer may read. */
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

/** Whether the viewer may know the default of a field: not if they can never see the field. */
export function showsDefault(viewer: Viewer, type: EntityType, { path }: Field): boolean {
  return viewer.may(type, 'read') !== no && viewer.mayField(type, path, 'read') !== no
}
