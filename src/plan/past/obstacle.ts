import type { Edge, EntityCheck, EntityType, Model } from '../../declare/model.ts'
import type { Bound, Row } from '../../store/dialect.ts'
import { uniquesOf } from '../tables/schema.ts'

/** A reason why an Entity cannot be amended. */
export type Obstacle =
  | {
      readonly reason: 'gone' | 'dead' | 'held' | 'taken' | 'clash'
      readonly entity: string
      readonly id: number
      /** The columns of the reference, or of the unique set. */
      readonly columns: readonly string[]
      /** The other Entity that is involved: its type, its id. */
      readonly other: readonly [string, number]
    }
  | {
      /** A check that would fail. */
      readonly reason: 'unmet'
      readonly entity: string
      readonly id: number
      readonly check: EntityCheck
    }
  | {
      readonly reason: 'forbidden'
      readonly entity: string
      readonly id: number
      /** The rule: an action, or `write` of a field at a dot path. */
      readonly action: 'update' | 'delete' | 'restore' | 'write'
      readonly path: string
    }

/** The key of an obstacle in a row that a statement finds. */
export function edgeKey(reason: 'gone' | 'dead' | 'held', { from, column }: Edge): string {
  return `${reason} ${from} ${column}`
}

export function uniqueKey(reason: 'taken' | 'clash', type: EntityType, at: number): string {
  return `${reason} ${type.name} ${at}`
}

export function checkKey(type: EntityType, at: number): string {
  return `unmet ${type.name} ${at}`
}

export function ruleKey(type: EntityType, action: string, path = ''): string {
  return `forbidden ${type.name} ${action} ${path}`
}

/** Sorts rows of obstacles by Entity, so that every database names the same ones first. */
export function inOrder(rows: readonly Row[]): Row[] {
  const before = (a: Bound = null, b: Bound = null) => (a === b ? 0 : Number(a) - Number(b))
  return rows.toSorted(
    ([key, one, other], [nextKey, next, nextOther]) =>
      before(one, next) ||
      (key === nextKey ? before(other, nextOther) : String(key) < String(nextKey) ? -1 : 1),
  )
}

export function obstacleOf([key, one, two]: readonly Bound[], model: Model): Obstacle {
  const [reason, from = '', what = '', path = ''] = String(key).split(' ')
  const [id, other] = [Number(one), Number(two)]
  if (reason === 'forbidden') {
    const action = (['update', 'delete', 'restore'] as const).find((name) => name === what) ?? 'write'
    return { reason, entity: from, id, action, path }
  }
  const check = reason === 'unmet' ? model.entities.get(from)?.checks[Number(what)] : undefined
  if (check !== undefined) return { reason: 'unmet', entity: from, id, check }
  if (reason === 'taken' || reason === 'clash') {
    const type = model.entities.get(from)
    const columns = type === undefined ? [] : (uniquesOf(type)[Number(what)] ?? [])
    return { reason, entity: from, id, columns, other: [from, other] }
  }
  const to = model.edges.find((edge) => edge.from === from && edge.column === what)?.to ?? ''
  if (reason === 'held') return { reason, entity: to, id, columns: [what], other: [from, other] }
  return {
    reason: reason === 'gone' ? 'gone' : 'dead',
    entity: from,
    id,
    columns: [what],
    other: [to, other],
  }
}
