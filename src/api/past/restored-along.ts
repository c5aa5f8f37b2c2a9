import type { Edge, Model } from '../../declare/model.ts'
import { isRecord } from '../../declare/record.ts'
import { memberId } from '../../declare/values.ts'
import { leavesOf } from '../../journal/leaves.ts'
import { type Reversal, reversedEntity } from '../../journal/reversal.ts'
import type { Obstacle } from '../../plan/past/obstacle.ts'

/**
 * Returns changes that a rule forbids on their own, but that belong to the restore of another Entity: callers who may
 * restore that one may take back its whole deletion, with what cascaded from it and the references that it cleared.
 */
export function excusedBy(
  reversals: readonly Reversal[],
  obstacles: readonly Obstacle[],
  { edges }: Model,
): Set<string> {
  const forbidden = new Set(
    obstacles.filter(({ reason }) => reason === 'forbidden').map(({ entity, id }) => `${entity}/${id}`),
  )
  const excused = new Set<string>()
  if (forbidden.size === 0) return excused
  const restored = new Map<string, Reversal>()
  const open: Reversal[] = []
  for (const one of reversals) {
    if (forbidden.has(reversedEntity(one))) open.push(one)
    else if (one.amendment.kind === 'restore') restored.set(reversedEntity(one), one)
  }
  for (let grown = true; grown; ) {
    grown = false
    for (const one of open)
      if (!restored.has(reversedEntity(one)) && cascadesFrom(one, restored, edges)) {
        restored.set(reversedEntity(one), one)
        excused.add(reversedEntity(one))
        grown = true
      }
  }
  for (const one of open) if (wasEmptiedWith(one, restored, edges)) excused.add(reversedEntity(one))
  return excused
}

/** Whether the same operation deleted the Entity and another one that it cascades from. */
function cascadesFrom(
  { plan, now, amendment, columns, deletedBy }: Reversal,
  restored: ReadonlyMap<string, Reversal>,
  edges: readonly Edge[],
): boolean {
  if (amendment.kind !== 'restore' || columns.length > 0) return false
  return edges.some(
    (edge) =>
      edge.from === plan.type.name &&
      edge.onDelete === 'cascade' &&
      targetsOf(edge, plan.type, now.snapshot.state).some(
        (id) => restored.get(`${edge.to}/${id}`)?.deletedBy.isDisjointFrom(deletedBy) === false,
      ),
  )
}

/** Whether the change only sets references that were cleared when their target was deleted. */
function wasEmptiedWith(
  { plan, now, amendment, columns, by }: Reversal,
  restored: ReadonlyMap<string, Reversal>,
  edges: readonly Edge[],
): boolean {
  if (amendment.kind !== 'update' || now.deletion !== null || columns.length === 0) return false
  return columns.every((column, at) => {
    const edge = edges.find((one) => one.from === plan.type.name && one.column === column)
    if (edge === undefined || edge.onDelete !== 'clear') return false
    const before = new Set(targetsOf(edge, plan.type, now.snapshot.state))
    const after =
      edge.list === undefined ? [amendment.values[at]] : idsIn(String(amendment.values[at]), edge.list.member)
    const back = after.map(Number).filter((id) => !before.has(id))
    const keepsAll = [...before].every((id) => after.map(Number).includes(id))
    return (
      keepsAll && back.every((id) => restored.get(`${edge.to}/${id}`)?.deletedBy.has(by.get(column) ?? ''))
    )
  })
}

function targetsOf(
  { column, list }: Edge,
  type: Reversal['plan']['type'],
  state: Readonly<Record<string, unknown>>,
): number[] {
  const value = leavesOf(type)
    .find((leaf) => leaf.column === column)
    ?.read(state)
  if (value === null || value === undefined) return []
  return list === undefined ? [Number(value)] : idsOf(value, list.member)
}

function idsIn(json: string, member: string): number[] {
  return idsOf(JSON.parse(json), member)
}

function idsOf(list: unknown, member: string): number[] {
  return Array.isArray(list) ? list.flatMap((one) => (isRecord(one) ? [memberId(one, member)] : [])) : []
}
