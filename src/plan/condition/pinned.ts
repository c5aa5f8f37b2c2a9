import {
  type Expression,
  type Place,
  type Referrers,
  referrersOf,
  yes,
} from '../../declare/cel/expression.ts'
import { type EntityType, fieldIn, type Model } from '../../declare/model.ts'

/** The referrers of a quantifier, and the depth of its items. */
export interface QuantifiedReferrers {
  readonly depth: number
  readonly referrers: Referrers
}

/** Whether an index finds the few referrers that meet a condition: it fixes their id, a reference or a unique value. */
export function isPinned(condition: Expression, named: QuantifiedReferrers, model: Model): boolean {
  switch (condition.op) {
    case 'constant':
      return condition !== yes
    case 'and':
      return condition.of.some((part) => isPinned(part, named, model))
    case 'or':
      return condition.of.every((part) => isPinned(part, named, model))
    case 'compare':
      return condition.how === '==' && isKeyOf(condition.left, condition.right, named, model)
    case 'in':
      return condition.of.every((one) => isKeyOf(condition.value, one, named, model))
    case 'member':
      return isOwn(condition.list.place, named) && isConstant(condition.value)
    case 'exists': {
      const { list, depth, condition: inner } = condition
      const referrers = referrersOf(list)
      if (referrers === undefined || !isOwn(list.place, named)) return false
      return isFree(inner, depth) && isPinned(inner, { depth, referrers }, model)
    }
    default:
      return false
  }
}

function isKeyOf(left: Expression, right: Expression, named: QuantifiedReferrers, model: Model): boolean {
  return (isKey(left, named, model) && isConstant(right)) || (isKey(right, named, model) && isConstant(left))
}

/** Whether few rows share the value. */
function isKey(expression: Expression, named: QuantifiedReferrers, { entities }: Model): boolean {
  if (expression.op !== 'value' || !isOwn(expression.place, named)) return false
  const { hops, column } = expression.place
  const type = entities.get(hops.at(-1)?.to ?? named.referrers.from)
  return type !== undefined && isKeyColumn(type, column)
}

function isKeyColumn(type: EntityType, column: string): boolean {
  if (column === 'id') return true
  const field = fieldIn(type, column)
  return field?.kind === 'reference' || (field?.kind === 'value' && field.unique)
}

/** For `exists` over a list of objects with a reference each: the constant that the reference must equal, if any. */
export function entryIn({
  list,
  depth,
  condition,
}: Extract<Expression, { op: 'exists' | 'all' }>): Expression | undefined {
  const { entries } = list
  if (entries === undefined) return undefined
  const isTarget = (one: Expression) =>
    one.op === 'value' &&
    isItem(one.place.root, depth) &&
    one.place.hops.length === 0 &&
    one.place.column === entries.column
  for (const part of condition.op === 'and' ? condition.of : [condition]) {
    if (part.op !== 'compare' || part.how !== '==') continue
    if (isTarget(part.left) && isConstant(part.right)) return part.right
    if (isTarget(part.right) && isConstant(part.left)) return part.left
  }
  return undefined
}

function isItem(root: Place['root'], depth: number): boolean {
  return root.of === 'item' && root.depth === depth
}

function isOwn({ root }: Place, { depth }: QuantifiedReferrers): boolean {
  return isItem(root, depth)
}

/** Whether a value is the same for all rows. */
export function isConstant(expression: Expression): boolean {
  const { op } = expression
  return op === 'literal' || op === 'now' || (op === 'value' && expression.place.root.of === 'me')
}

/** Whether a condition on items depends only on them and on the caller. Expressions are plain data. */
export function isFree(part: unknown, depth: number): boolean {
  if (typeof part !== 'object' || part === null) return true
  if ('root' in part) {
    const { root } = part as Place
    return root.of === 'me' || (root.of === 'item' && root.depth >= depth)
  }
  return Object.values(part).every((inner) => isFree(inner, depth))
}

/** An equality between a value of an item and a value of the row. */
export interface Tie {
  readonly inner: Expression
  readonly outer: Expression
}

export function tieIn(condition: Expression, depth: number): Tie | undefined {
  if (condition.op !== 'compare' || condition.how !== '==') return undefined
  const { left, right } = condition
  const of = (inner: Expression, outer: Expression): Tie | undefined =>
    isFree(inner, depth) && outer.op === 'value' && outer.place.root.of === 'self'
      ? { inner, outer }
      : undefined
  return of(left, right) ?? of(right, left)
}
