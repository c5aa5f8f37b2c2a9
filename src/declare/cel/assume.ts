import { type Expression, no, type Place, yes } from './expression.ts'
import { allTrue, not, or } from './fold.ts'

/** The part of an update rule about the Entity as it is now. Every condition on `next` is assumed to be met. */
export function withoutNext(rule: Expression, wanted = true): Expression {
  switch (rule.op) {
    case 'and':
      return allTrue(rule.of.map((one) => withoutNext(one, wanted)))
    case 'or':
      return or(rule.of.map((one) => withoutNext(one, wanted)))
    case 'not':
      return not(withoutNext(rule.of, !wanted))
    default:
      return usesNext(rule) ? (wanted ? yes : no) : rule
  }
}

/** Searches the whole tree: expressions are plain data, and every place has a `root`. */
function usesNext(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false
  if ('root' in part && (part as Place).root.of === 'next') return true
  return Object.values(part).some(usesNext)
}
