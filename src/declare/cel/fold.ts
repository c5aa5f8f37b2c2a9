import { type Comparison, type Expression, no, unknown, yes } from './expression.ts'

/** `and` as in SQL: `false` if one part is false, `true` if all are true, otherwise unknown. */
export function allTrue(parts: readonly Expression[]): Expression {
  const left = parts.flatMap((part) => (part.op === 'and' ? part.of : [part])).filter((part) => part !== yes)
  if (left.some((part) => part === no)) return no
  if (left.length > 0 && left.every((part) => part === unknown)) return unknown
  const [first] = left
  return first === undefined ? yes : left.length === 1 ? first : { op: 'and', kind: 'boolean', of: left }
}

export function or(parts: readonly Expression[]): Expression {
  const left = parts.flatMap((part) => (part.op === 'or' ? part.of : [part])).filter((part) => part !== no)
  if (left.some((part) => part === yes)) return yes
  if (left.length > 0 && left.every((part) => part === unknown)) return unknown
  const [first] = left
  return first === undefined ? no : left.length === 1 ? first : { op: 'or', kind: 'boolean', of: left }
}

export function not(part: Expression): Expression {
  if (part === yes) return no
  if (part === no) return yes
  if (part === unknown) return unknown
  return part.op === 'not' && part.of.kind === 'boolean' ? part.of : { op: 'not', kind: 'boolean', of: part }
}

/** Simplifies a condition for callers that only ask whether it holds: unknown counts as false. */
export function settled(part: Expression): Expression {
  if (part === unknown) return no
  if (part.op === 'and') return allTrue(part.of.map(settled))
  return part.op === 'or' ? or(part.of.map(settled)) : part
}

/** Whether a condition can have this value for any Entity. `exists` cannot be true if its condition never is. */
export function canBe(value: boolean, part: Expression): boolean {
  const can = (one: Expression) => canBe(value, one)
  switch (part.op) {
    case 'constant':
      return part === truth(value)
    case 'and':
      return value ? part.of.every(can) : part.of.some(can)
    case 'or':
      return value ? part.of.some(can) : part.of.every(can)
    case 'not':
      return canBe(!value, part.of)
    // Any list may be empty, or have items.
    case 'exists':
      return !value || can(part.condition)
    case 'all':
      return value || can(part.condition)
    case 'choose':
      return can(part.then) || can(part.otherwise)
    default:
      return true
  }
}

export function truth(value: boolean): Expression {
  return value ? yes : no
}

/** Compares texts by code points, as the databases do with their bytes; JavaScript compares UTF-16 units. */
export function compareTexts(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

export function holds(how: Comparison, order: number): boolean {
  switch (how) {
    case '==':
      return order === 0
    case '!=':
      return order !== 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
  }
}

/** Each comparison with its sides swapped. */
export const mirrored: Readonly<Record<Comparison, Comparison>> = {
  '==': '==',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}
