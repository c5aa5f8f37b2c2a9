import { type Expression, no, type Place, yes } from './expression.ts'
import { allTrue, not, or } from './fold.ts'

/** What a rule of update asks of the Entity as it is: whatever it asks of `next` is taken to be as the rule wants it. */
export function withoutNext(rule: Expression, wanted = true): Expression {
  switch (rule.op) {
    case 'and':
      return allTrue(rule.of.map((one) => withoutNext(one, wanted)))
    case 'or':
      return or(rule.of.map((one) => withoutNext(one, wanted)))
    case 'not':
      return not(withoutNext(rule.of, !wanted))
    default:
      return speaksOfNext(rule) ? (wanted ? yes : no) : rule
  }
}

/** Expressions are trees of plain data, and a place stands where a root does. */
function speaksOfNext(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false
  if ('root' in part && (part as Place).root.of === 'next') return true
  return Object.values(part).some(speaksOfNext)
}
