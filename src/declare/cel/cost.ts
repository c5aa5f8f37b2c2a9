import { budget } from '../../budget.ts'
import { type Expression, type ListPlace, linkRowsOf, operandsOf, referrersOf, yes } from './expression.ts'
import { Mistake } from './parse.ts'

/** What is known where a part of an expression stands: the Entity, and the lists around the part by their depth. */
interface Setting {
  /** Whether the rows of its link tables exist. Past states of an Entity have none. */
  readonly stored: boolean
  readonly around: ReadonlyMap<number, ListPlace>
}

/**
 * Refuses an expression that could go through more than `most` items of lists for one Entity. A list counts as its
 * declared `max`, referrers count as `budget.referrers`, and lists within lists multiply. A rule is part of every
 * write, so it may cost less than a filter, which the statement timeout cuts off.
 */
export function refuseCostly(expression: Expression, most: number, stored = true): void {
  const items = itemsOf(expression, { stored, around: new Map() }, true)
  if (items > most)
    throw new Mistake(
      `can go through ${items} items for one Entity, more than ${most}: a list within a list needs a declared max`,
    )
  const searches = searchesOf(expression)
  if (searches > budget.expressionSearches)
    throw new Mistake(`searches in texts ${searches} times, more than ${budget.expressionSearches}`)
}

/** How many items of lists it looks at, at most. `holds`: only whether it is true counts. */
function itemsOf(expression: Expression, setting: Setting, holds: boolean): number {
  if (expression.op === 'exists' || expression.op === 'all') return itemsOfEach(expression, setting, holds)
  const also = holds && (expression.op === 'and' || expression.op === 'or')
  const inside = operandsOf(expression).reduce((all, part) => all + itemsOf(part, setting, also), 0)
  if (expression.op === 'member')
    return inside + (isIndexed(expression.list, setting) ? 1 : listLength(expression.list, setting))
  if (expression.op === 'size' && !('op' in expression.of)) return inside + listLength(expression.of, setting)
  return inside
}

function itemsOfEach(
  { op, list, depth, condition }: Extract<Expression, { op: 'exists' | 'all' }>,
  setting: Setting,
  holds: boolean,
): number {
  const around = new Map(setting.around).set(depth, list)
  const inside = itemsOf(condition, { ...setting, around }, holds && op === 'exists')
  const found = op === 'exists' && holds && isIndexed(list, setting) && namesId(condition, depth)
  return (found ? 1 : listLength(list, setting)) * Math.max(1, inside)
}

function listLength(list: ListPlace, { around }: Setting): number {
  const { root, hops } = list.place
  if (referrersOf(list) !== undefined) return budget.referrers
  // A list in an item is part of the same JSON: together they have no more items than the list around them.
  const outer =
    root.of === 'item' && hops.length === 0 && linkRowsOf(list) === undefined
      ? around.get(root.depth)
      : undefined
  if (outer !== undefined && outer.max === undefined && referrersOf(outer) === undefined) return 1
  return list.max ?? budget.listItems
}

/** Whether an index can find a member of the list. */
function isIndexed(list: ListPlace, { stored, around }: Setting): boolean {
  if (linkRowsOf(list) === undefined) return false
  const { root, hops } = list.place
  const outer = root.of === 'item' ? around.get(root.depth) : undefined
  const isRow = outer !== undefined && referrersOf(outer) !== undefined
  return hops.length > 0 || root.of === 'me' || isRow || (root.of === 'self' && stored)
}

/** Whether a condition names one item by its id, as in `m.id == me.id && …`, or can hold for none. */
function namesId(condition: Expression, depth: number): boolean {
  if (condition.op === 'constant') return condition !== yes
  if (condition.op === 'and') return condition.of.some((part) => namesId(part, depth))
  if (condition.op !== 'compare' || condition.how !== '==') return false
  const { left, right } = condition
  return (isId(left, depth) && isOutside(right)) || (isId(right, depth) && isOutside(left))
}

function isId(expression: Expression, depth: number): boolean {
  if (expression.op !== 'value') return false
  const { root, hops, column } = expression.place
  return root.of === 'item' && root.depth === depth && hops.length === 0 && column === 'target'
}

/** Whether a value is the same for all items. */
function isOutside(expression: Expression): boolean {
  return expression.op === 'literal' || (expression.op === 'value' && expression.place.root.of !== 'item')
}

/** How often it searches or builds a text. A literal prefix is found by comparison, so it does not count. */
function searchesOf(expression: Expression): number {
  const { op } = expression
  const own =
    op === 'contains' ||
    op === 'endsWith' ||
    op === 'matches' ||
    op === 'concat' ||
    (op === 'startsWith' && expression.part.op !== 'literal')
  return operandsOf(expression).reduce((all, part) => all + searchesOf(part), Number(own))
}
