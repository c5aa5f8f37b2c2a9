import { didYouMean } from '../closest.ts'
import { type Comparison, type Expression, no, referrersOf, scaleOf, unknown, yes } from './expression.ts'
import { compareTexts, holds, mirrored, truth } from './fold.ts'
import type { Found, Reader } from './found.ts'
import { dayComparison, dayOf, type GivenLiteral, kindName, literalComparison } from './literal.ts'
import { move, TOO_FAR } from './move.ts'
import { asDecimal, commonKind, numberKindOf } from './numbers.ts'
import type { Node } from './parse.ts'

/** The comparison that is being read: its reader, its place in the text, and its operator. */
interface Comparing {
  readonly reader: Reader
  readonly node: Node
  readonly how: Comparison
}

/** Reads a comparison. */
export function compare(
  reader: Reader,
  node: Node,
  how: Comparison,
  [left, right]: readonly [Node, Node],
): Expression {
  return compareFound({ reader, node, how }, [left, reader.find(left)], [right, reader.find(right)])
}

/** Compares parts that are found already: finding them again would double the time with each level of nesting. */
function compareFound(
  comparing: Comparing,
  [left, a]: readonly [Node, Found],
  [right, b]: readonly [Node, Found],
): Expression {
  const { reader, node, how } = comparing
  const mirror = { ...comparing, how: mirrored[how] }
  if (a.is === 'null' || b.is === 'null') {
    if (how !== '==' && how !== '!=') return reader.fail(node, `compares null with "${how}"; use == or !=`)
    return a.is === 'null' ? nullTest(reader, right, b, how) : nullTest(reader, left, a, how)
  }
  if (a.is === 'nothing' || b.is === 'nothing') return unknown
  if (a.is === 'difference' && b.is === 'duration') return between(comparing, a, b.ms)
  if (a.is === 'duration' && b.is === 'difference') return between(mirror, b, a.ms)
  if (a.is === 'literal' && b.is === 'literal') {
    refuseOther(reader, right, a.choices, b.given)
    refuseOther(reader, left, b.choices, a.given)
    return compareLiterals(comparing, a.given, b.given)
  }
  if (a.is === 'literal')
    return compareLiteral({ ...mirror, node: left }, expression(reader, right, b), a.given, choicesOf(b))
  if (b.is === 'literal')
    return compareLiteral({ ...comparing, node: right }, expression(reader, left, a), b.given, choicesOf(a))
  return compareValues(comparing, expression(reader, left, a), expression(reader, right, b))
}

/** Refuses a user type that does not exist: it is a typo, and would lock people out. */
function refuseOther(
  reader: Reader,
  node: Node,
  choices: readonly string[] | undefined,
  given: GivenLiteral,
): void {
  if (choices !== undefined && typeof given === 'string' && !choices.includes(given))
    reader.fail(node, `"${given}" is not a user type${didYouMean(given, choices)}`)
}

/** Tests whether something is present, or with `not` that it is null. Works for everything that has a place. */
export function test(reader: Reader, node: Node, found: Found, not: boolean): Expression {
  if (found.is === 'nothing') return truth(not)
  if (found.is === 'list' && referrersOf(found.list) !== undefined)
    return reader.fail(node, 'compares referrers with null; use size() or exists()')
  if (found.is === 'list') return { op: 'there', kind: 'boolean', place: found.list.place, not }
  if (found.is === 'composite') {
    const { there } = found.composite
    return there === undefined ? truth(!not) : { op: 'there', kind: 'boolean', place: there, not }
  }
  if (found.is === 'expression' && found.of.op === 'value')
    return { op: 'there', kind: 'boolean', place: found.of.place, not }
  if (found.is === 'expression') return { op: 'made', kind: 'boolean', of: found.of, not }
  return reader.fail(node, 'compares null with something that is not a field')
}

function nullTest(reader: Reader, node: Node, found: Found, how: '==' | '!='): Expression {
  if (found.is === 'null') return truth(how === '==')
  return test(reader, node, found, how === '==')
}

/** Reads `x in [a, b]` and `x in list`. */
export function isIn(reader: Reader, node: Node, [left, right]: readonly [Node, Node]): Expression {
  const value = reader.find(left)
  if (right.op === 'list') return isAmong(reader, left, value, right.args)
  const list = reader.find(right)
  if (list.is === 'nothing') return unknown
  if (list.is !== 'list') return reader.fail(right, 'needs a list after "in"')
  if (value.is === 'nothing') return unknown
  const { item } = list.list
  if (item === 'object') return reader.fail(node, 'looks for a value in a list of objects; use exists()')
  if ('from' in item) return reader.fail(node, 'looks for a value among referrers; use exists(x, x.id == …)')
  const like: Expression = {
    op: 'value',
    kind: 'table' in item ? 'reference' : item.kind,
    scale: 'table' in item ? 0 : item.scale,
    entity: 'table' in item ? item.target : undefined,
    place: list.list.place,
  }
  if (value.is === 'literal')
    return { op: 'member', kind: 'boolean', value: reader.coerce(left, like, value.given), list: list.list }
  const of = besides(expression(reader, left, value), [like])
  if (!areAlike(of, like))
    return reader.fail(node, `looks for ${kindName(of.kind)} in a list of ${kindName(like.kind)}`)
  const mismatch = idsOfDifferentTypes(of, like)
  if (mismatch === undefined) return { op: 'member', kind: 'boolean', value: of, list: list.list }
  return mismatch.mine
    ? no
    : reader.fail(node, `looks for an id of ${mismatch.of[0]} among those of ${mismatch.of[1]}`)
}

function isAmong(reader: Reader, node: Node, value: Found, items: readonly Node[]): Expression {
  if (items.length === 0) return no
  if (value.is === 'nothing') return unknown
  const found = items.map((item) => ({ item, of: reader.find(item) }))
  if (value.is === 'literal') {
    const each = found.map(({ item, of }) =>
      compareFound({ reader, node, how: '==' }, [node, value], [item, of]),
    )
    return each.some((one) => one === yes)
      ? yes
      : each.every((one) => one === no)
        ? no
        : { op: 'or', kind: 'boolean', of: each }
  }
  const values = found.flatMap(({ of }) => (of.is === 'expression' ? [of.of] : []))
  const target = besides(expression(reader, node, value), values)
  const of = found.flatMap(({ item, of }): Expression[] => {
    if (of.is === 'null') return reader.fail(item, 'has null in a list; use == null')
    if (of.is === 'nothing') return [unknown]
    if (of.is === 'literal') return [reader.coerce(item, target, of.given, choicesOf(value))]
    const one = besides(expression(reader, item, of), [target])
    if (!areAlike(one, target)) return reader.fail(item, `must be ${kindName(target.kind)}`)
    const mismatch = idsOfDifferentTypes(one, target)
    if (mismatch === undefined) return [one]
    return mismatch.mine
      ? []
      : reader.fail(item, `compares an id of ${mismatch.of[0]} with one of ${mismatch.of[1]}`)
  })
  if (of.length === 0) return no
  return of.every((one) => one === unknown) ? unknown : { op: 'in', kind: 'boolean', value: target, of }
}

/** Gives a value as many decimal places as the most exact decimal among the others. */
function besides(value: Expression, others: readonly Expression[]): Expression {
  const common = commonKind([value, ...others])
  return common?.kind === 'decimal' ? asDecimal(value, common.scale, false) : value
}

function choicesOf(found: Found): readonly string[] | undefined {
  return found.is === 'expression' ? found.choices : undefined
}

/** The value that was found. Fails for an object, an Entity or a list. */
export function expression(reader: Reader, node: Node, found: Found): Expression {
  if (found.is === 'expression') return found.of
  if (
    found.is === 'composite' &&
    (found.composite.reference !== undefined || found.composite.root.of === 'me')
  )
    return reader.fail(node, 'compares a whole Entity; compare its id, as in owner.id == me.id,')
  if (found.is === 'list') return reader.fail(node, 'compares a whole list; use "in", size() or exists()')
  if (found.is === 'duration' || found.is === 'difference')
    return reader.fail(node, 'compares a duration with something that is not a duration')
  return reader.fail(node, 'compares a whole object; name a field of it')
}

function compareLiterals({ reader, node, how }: Comparing, a: GivenLiteral, b: GivenLiteral): Expression {
  if (typeof a === 'string' && typeof b === 'string') return truth(holds(how, compareTexts(a, b)))
  if (isNumber(a) && isNumber(b)) return truth(holds(how, a < b ? -1 : a > b ? 1 : 0))
  if (typeof a === 'boolean' && typeof b === 'boolean') return truth(holds(how, Number(a) - Number(b)))
  return reader.fail(node, 'compares values of different types')
}

function isNumber(given: GivenLiteral): given is number | bigint {
  return typeof given === 'number' || typeof given === 'bigint'
}

function compareLiteral(
  { reader, node, how }: Comparing,
  target: Expression,
  given: GivenLiteral,
  choices: readonly string[] | undefined,
): Expression {
  if (target.kind === 'boolean' && how !== '==' && how !== '!=')
    return reader.fail(node, 'compares true or false by their order')
  const found = literalComparison(target, how, given, how === '==' || how === '!=' ? choices : undefined)
  if (typeof found === 'string') return reader.fail(node, found)
  const right = reader.literal(found.kind, found.scale, found.value)
  return { op: 'compare', kind: 'boolean', how: found.how, left: target, right }
}

function compareValues(comparing: Comparing, left: Expression, right: Expression): Expression {
  const { reader, node, how } = comparing
  if (left.kind === 'date' && right.kind === 'datetime') return compareDays(comparing, left, right)
  if (left.kind === 'datetime' && right.kind === 'date')
    return compareDays({ ...comparing, how: mirrored[how] }, right, left)
  if (!areAlike(left, right) && numberKindOf(left) !== undefined && numberKindOf(right) !== undefined)
    return compareNumbers(comparing, left, right)
  if (!areAlike(left, right))
    return reader.fail(node, `compares ${kindName(left.kind)} with ${kindName(right.kind)}`)
  if (left.kind === 'boolean' && how !== '==' && how !== '!=')
    return reader.fail(node, 'compares true or false by their order')
  const mismatch = idsOfDifferentTypes(left, right)
  if (mismatch === undefined) return { op: 'compare', kind: 'boolean', how, left, right }
  if (!mismatch.mine)
    return reader.fail(node, `compares an id of ${mismatch.of[0]} with one of ${mismatch.of[1]}`)
  return truth(how === '!=')
}

/** Compares numbers of different kinds. A number beside a decimal counts as the decimal that JSON shows. */
function compareNumbers({ reader, how }: Comparing, left: Expression, right: Expression): Expression {
  const common = commonKind([left, right])
  if (common !== undefined) {
    const [a, b] = [left, right].map((one) => asDecimal(one, common.scale, false))
    return { op: 'compare', kind: 'boolean', how, left: a ?? left, right: b ?? right }
  }
  const zero = reader.literal('integer', 0, 0)
  if (left.kind !== 'decimal') {
    const order: Expression = { op: 'order', kind: 'integer', left, right }
    return { op: 'compare', kind: 'boolean', how, left: order, right: zero }
  }
  const order: Expression = { op: 'order', kind: 'integer', left: right, right: left }
  return { op: 'compare', kind: 'boolean', how: mirrored[how], left: order, right: zero }
}

/**
 * Finds two ids of different types: `users/3` is not `staff/3`. If one of them is the caller's own id (`mine`), this is
 * no mistake: other callers may be of the type that was meant.
 */
function idsOfDifferentTypes(
  left: Expression,
  right: Expression,
): { of: [string, string]; mine: boolean } | undefined {
  if (left.op !== 'value' || right.op !== 'value') return undefined
  const [a, b] = [left.entity, right.entity]
  if (a === undefined || b === undefined || a === b) return undefined
  return { of: [a, b], mine: isOwnId(left) || isOwnId(right) }
}

function isOwnId({ place }: Extract<Expression, { op: 'value' }>): boolean {
  return place.root.of === 'me' && place.hops.length === 0 && place.column === 'id'
}

/** Compares a date with an instant: the date is before it if the day begins before it. */
function compareDays({ reader, node, how }: Comparing, date: Expression, time: Expression): Expression {
  const day = dayOf(how)
  if (day === undefined) return reader.fail(node, 'compares a date with a time for equality; use < or >=')
  if (time.op === 'now')
    return { op: 'compare', kind: 'boolean', how, left: date, right: { ...time, kind: 'date', day } }
  if (time.op !== 'literal') return reader.fail(node, 'compares a date with a time of another field')
  const found = dayComparison(how, String(time.value))
  const right = reader.literal('date', 0, found.day)
  return { op: 'compare', kind: 'boolean', how: found.how, left: date, right }
}

const numeric = ['integer', 'number', 'reference']

/** Whether two values can be compared as they are. */
export function areAlike(a: Expression, b: Expression): boolean {
  if (numeric.includes(a.kind) && numeric.includes(b.kind)) return true
  return a.kind === b.kind && (a.kind !== 'decimal' || scaleOf(a) === scaleOf(b))
}

/** `ends_at - starts_at > duration("8h")`: compares the later time with the earlier one moved by the duration. */
function between(
  { reader, node, how }: Comparing,
  { later, earlier }: Extract<Found, { is: 'difference' }>,
  ms: number,
): Expression {
  const right = move(earlier, ms) ?? reader.fail(node, TOO_FAR)
  return { op: 'compare', kind: 'boolean', how, left: later, right }
}
