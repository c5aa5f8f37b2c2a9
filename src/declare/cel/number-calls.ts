import { SCALE_MAX } from '../fields/number.ts'
import { numberGiven } from './arithmetic.ts'
import { expression } from './compare.ts'
import { type Expression, scaleOf } from './expression.ts'
import { type CelCall, type Found, foundExpression, type Reader } from './found.ts'
import { asCommon, asDecimal, commonKind, MIXED, numberKindOf } from './numbers.ts'
import type { Node } from './parse.ts'

/** A number argument of a function; undefined if it is missing for this caller. */
function numberAt(reader: Reader, node: Node, name: string): Expression | undefined {
  const found = reader.find(node)
  if (found.is === 'nothing') return undefined
  if (found.is === 'literal')
    return literalNumber(reader, node, found.given) ?? failNumber(reader, node, name)
  const one = expression(reader, node, found)
  return numberKindOf(one) === undefined ? failNumber(reader, node, name) : one
}

function failNumber(reader: Reader, node: Node, name: string): never {
  return reader.fail(node, `needs a number in ${name}()`)
}

/** A literal without a value beside it: an integer or a number. */
function literalNumber(
  reader: Reader,
  node: Node,
  given: string | number | bigint | boolean,
): Expression | undefined {
  if (typeof given !== 'bigint' && typeof given !== 'number') return undefined
  return numberGiven(reader, node, given, AN_INTEGER)
}

const AN_INTEGER: Expression = { op: 'literal', kind: 'integer', scale: 0, value: 0, at: 0 }

const NOTHING: Found = { is: 'nothing', candidates: [] }

/** `abs(x)` */
export function absCall(reader: Reader, { node, args }: CelCall): Found {
  const [first] = args
  if (first === undefined || args.length > 1) return reader.fail(node, 'needs one argument')
  const of = numberAt(reader, first, 'abs')
  const kind = of && numberKindOf(of)
  return of === undefined || kind === undefined
    ? NOTHING
    : foundExpression({ op: 'abs', kind, scale: scaleOf(of), of })
}

/** `round(x)`, a whole number; `round(x, places)`, a decimal. */
export function roundCall(reader: Reader, { node, args }: CelCall): Found {
  const [first, second] = args
  if (first === undefined || args.length > 2)
    return reader.fail(node, 'needs a number, and at most a number of decimal places')
  const places = second === undefined ? undefined : placesAt(reader, second)
  const of = numberAt(reader, first, 'round')
  if (of === undefined) return NOTHING
  const kind = numberKindOf(of)
  if (kind === 'integer') return foundExpression(places === undefined ? of : asDecimal(of, places, true))
  if (kind === 'decimal' && scaleOf(of) <= (places ?? 0))
    return foundExpression(asDecimal(of, places ?? 0, true))
  if (kind === 'number' && places === undefined)
    return foundExpression({ op: 'round', kind: 'integer', scale: 0, of })
  return foundExpression({ op: 'round', kind: 'decimal', scale: places ?? 0, of })
}

function placesAt(reader: Reader, node: Node): number {
  const found = reader.find(node)
  const places = found.is === 'literal' && typeof found.given === 'bigint' ? Number(found.given) : -1
  return places >= 0 && places <= SCALE_MAX
    ? places
    : reader.fail(node, `needs a number of decimal places from 0 to ${SCALE_MAX}`)
}

/** `min(a, b, …)` and `max(a, b, …)`, of numbers, of dates or of times. */
export function extremeCall(reader: Reader, { node, args }: CelCall, op: 'min' | 'max'): Found {
  if (args.length < 2) return reader.fail(node, `needs two or more values in ${op}()`)
  const found = args.map((arg) => ({ arg, of: reader.find(arg) }))
  if (found.some(({ of }) => of.is === 'nothing')) return NOTHING
  const values = found.flatMap(({ of }) => (of.is === 'expression' ? [of.of] : []))
  // Beside a decimal every literal is exact.
  const like = values.find(({ kind }) => kind === 'decimal') ?? values[0]
  const all = found.map(({ arg, of }): Expression => {
    if (of.is !== 'literal') return expression(reader, arg, of)
    if (like === undefined || numberKindOf(like) !== undefined)
      return numberBeside(reader, arg, of.given, like) ?? failNumber(reader, arg, op)
    return reader.coerce(arg, like, of.given)
  })
  const numbers = asCommon(all)
  const common = numbers && commonKind(numbers)
  if (numbers !== undefined && common !== undefined)
    return foundExpression({ op, kind: common.kind, scale: common.scale, of: numbers })
  const [{ kind } = { kind: 'text' }] = all
  const isTime = (kind === 'date' || kind === 'datetime') && all.every((one) => one.kind === kind)
  if (isTime) return foundExpression({ op, kind, scale: 0, of: all })
  return all.every((one) => numberKindOf(one) !== undefined)
    ? reader.fail(node, MIXED)
    : reader.fail(node, `needs only numbers, only dates or only times in ${op}()`)
}

function numberBeside(
  reader: Reader,
  node: Node,
  given: string | number | bigint | boolean,
  like: Expression | undefined,
): Expression | undefined {
  return like === undefined ? literalNumber(reader, node, given) : numberGiven(reader, node, given, like)
}
