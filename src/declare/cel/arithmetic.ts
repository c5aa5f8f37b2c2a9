import { SCALE_MAX } from '../fields/number.ts'
import type { Arithmetic, Expression, NumberKind } from './expression.ts'
import { type Found, foundExpression, type Reader } from './found.ts'
import { decimalGiven, type GivenLiteral, kindName, TOO_LARGE } from './literal.ts'
import { move, TOO_FAR } from './move.ts'
import { commonKind, MIXED, NUMBER_LEAST, NUMBER_MOST, numberKindOf, scaleOfResult } from './numbers.ts'
import type { Node } from './parse.ts'

/** The arithmetic operator that is being read. */
interface Calculation {
  readonly reader: Reader
  readonly node: Node
  readonly how: Arithmetic
}

/** Reads `+ - * / %` between numbers, texts, times and durations. */
export function calculate(
  reader: Reader,
  node: Node,
  how: Arithmetic,
  [left, right]: readonly [Node, Node],
): Found {
  const [a, b] = [reader.find(left), reader.find(right)]
  if (a.is === 'nothing') return { ...a, candidates: [] }
  if (b.is === 'nothing') return { ...b, candidates: [] }
  const calculation = { reader, node, how }
  const timely = ofTimes(calculation, a, b)
  if (timely !== undefined) return timely
  if (a.is === 'literal' && b.is === 'literal') return ofLiterals(calculation, a.given, b.given)
  const like = a.is === 'expression' ? a.of : b.is === 'expression' ? b.of : undefined
  const sides = [a, b].map((one) => operand(calculation, one, like))
  const [x, y] = sides
  if (x === undefined || y === undefined) return refuse(calculation)
  return ofValues(calculation, x, y)
}

/** `-x` */
export function negative(reader: Reader, node: Node, of: Node): Found {
  const inner = reader.find(of)
  if (inner.is === 'literal' && (typeof inner.given === 'bigint' || typeof inner.given === 'number'))
    return { is: 'literal', given: -inner.given }
  if (inner.is === 'duration') return { is: 'duration', ms: -inner.ms }
  if (inner.is === 'nothing') return { ...inner, candidates: [] }
  if (inner.is !== 'expression' || numberKindOf(inner.of) === undefined)
    return reader.fail(node, 'has a "-" before something that is not a number')
  return ofValues({ reader, node, how: '-' }, reader.literal('integer', 0, 0), inner.of)
}

/** Returns the expression of an operand. A literal becomes a value of the other operand's kind. */
function operand(
  { reader, node }: Calculation,
  found: Found,
  like: Expression | undefined,
): Expression | undefined {
  if (found.is === 'expression') return found.of
  if (found.is !== 'literal' || like === undefined) return undefined
  return numberGiven(reader, node, found.given, like) ?? textGiven(reader, found.given, like)
}

function textGiven(reader: Reader, given: GivenLiteral, like: Expression): Expression | undefined {
  return typeof given === 'string' && like.kind === 'text' ? reader.literal('text', 0, given) : undefined
}

/** A literal as an operand beside a number: an integer stays one, and beside a decimal every literal is exact. */
export function numberGiven(
  reader: Reader,
  node: Node,
  given: GivenLiteral,
  like: Expression,
): Expression | undefined {
  const beside = numberKindOf(like)
  if (beside === undefined || typeof given === 'boolean') return undefined
  if (beside === 'decimal' && typeof given !== 'bigint') {
    const exact = decimalGiven(given)
    if (exact === undefined)
      return reader.fail(node, `has an invalid decimal, or one with more than ${SCALE_MAX} places,`)
    return reader.literal('decimal', exact.scale, exact.value)
  }
  if (typeof given === 'string') return undefined
  if (typeof given === 'number') return reader.literal('number', 0, boundNumber(reader, node, given))
  return Number.isSafeInteger(Number(given))
    ? reader.literal('integer', 0, Number(given))
    : reader.fail(node, `${given} ${TOO_LARGE}`)
}

function boundNumber(reader: Reader, node: Node, given: number): number {
  if (Math.abs(given) > NUMBER_MOST) return reader.fail(node, `${given} is beyond ${NUMBER_MOST}`)
  return Math.abs(given) < NUMBER_LEAST ? 0 : given
}

function ofValues(calculation: Calculation, left: Expression, right: Expression): Found {
  const { reader, node, how } = calculation
  if (left.kind === 'text' && right.kind === 'text' && how === '+')
    return foundExpression({ op: 'concat', kind: 'text', left, right })
  const common = commonKind([left, right])
  if (common === undefined) return refuse(calculation, left, right)
  const { kind } = common
  if (kind === 'number' && how === '%')
    return reader.fail(node, 'has a remainder of numbers; use "%" with integers or decimals')
  const scale = kind === 'decimal' ? scaleOfResult(how, left, right) : 0
  if (scale > SCALE_MAX)
    return reader.fail(
      node,
      `has a product with ${scale} decimal places, more than ${SCALE_MAX}; use round(…, places) first,`,
    )
  return foundExpression({ op: 'arithmetic', kind, scale, how, left, right })
}

function refuse({ reader, node, how }: Calculation, left?: Expression, right?: Expression): never {
  const kinds = [left, right].map((one): NumberKind | undefined => one && numberKindOf(one))
  if (kinds.every((kind) => kind !== undefined)) return reader.fail(node, MIXED)
  const both =
    left === undefined || right === undefined
      ? ''
      : `, not ${kindName(left.kind)} and ${kindName(right.kind)},`
  if (how === '+' || how === '-')
    return reader.fail(
      node,
      `needs numbers${how === '+' ? ', texts' : ''}, or a time and a duration("…"), on both sides of "${how}"${both}`,
    )
  return reader.fail(node, `needs numbers on both sides of "${how}"${both}`)
}

/** Adds and subtracts times and durations; undefined if the operands are something else. */
function ofTimes({ reader, node, how }: Calculation, a: Found, b: Found): Found | undefined {
  if (how !== '+' && how !== '-') return undefined
  const moved = (of: Expression, ms: number): Found => {
    if (of.kind !== 'datetime') return reader.fail(node, 'adds a duration to something that is not a time')
    const later = move(of, ms)
    return later === undefined ? reader.fail(node, TOO_FAR) : foundExpression(later)
  }
  if (a.is === 'duration' && b.is === 'duration')
    return { is: 'duration', ms: how === '+' ? a.ms + b.ms : a.ms - b.ms }
  if (how === '+' && a.is === 'duration' && b.is === 'expression') return moved(b.of, a.ms)
  if (a.is === 'expression' && b.is === 'duration') return moved(a.of, how === '+' ? b.ms : -b.ms)
  const isTime = (found: Found) => found.is === 'expression' && found.of.kind === 'datetime'
  if (how === '-' && a.is === 'expression' && b.is === 'expression' && isTime(a) && isTime(b))
    return { is: 'difference', later: a.of, earlier: b.of }
  return undefined
}

function ofLiterals(calculation: Calculation, a: GivenLiteral, b: GivenLiteral): Found {
  const { reader, node, how } = calculation
  if (typeof a === 'string' && typeof b === 'string' && how === '+') return { is: 'literal', given: a + b }
  if (typeof a === 'bigint' && typeof b === 'bigint') return integerOf(ofIntegers(how, a, b))
  const [x, y] = [a, b].map((one) => (typeof one === 'bigint' ? Number(one) : one))
  if (typeof x !== 'number' || typeof y !== 'number' || how === '%') return refuse(calculation)
  return numberOf(ofNumbers(how, boundNumber(reader, node, x), boundNumber(reader, node, y)))
}

const NOTHING: Found = { is: 'nothing', candidates: [] }

function integerOf(result: bigint | undefined): Found {
  return result !== undefined && Number.isSafeInteger(Number(result))
    ? { is: 'literal', given: result }
    : NOTHING
}

function numberOf(result: number): Found {
  if (!(Math.abs(result) <= NUMBER_MOST)) return NOTHING
  return { is: 'literal', given: Math.abs(result) < NUMBER_LEAST ? 0 : result }
}

function ofIntegers(how: Arithmetic, a: bigint, b: bigint): bigint | undefined {
  switch (how) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return b === 0n ? undefined : a / b
    case '%':
      return b === 0n ? undefined : a % b
  }
}

function ofNumbers(how: Exclude<Arithmetic, '%'>, a: number, b: number): number {
  switch (how) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return b === 0 ? Number.NaN : a / b
  }
}
