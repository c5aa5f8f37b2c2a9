import { parseInstant } from '../fields/time.ts'
import { foldText } from '../words.ts'
import { expression, test } from './compare.ts'
import {
  crossedTo,
  type Expression,
  foldedValue,
  type ListPlace,
  linkRowsOf,
  referrersOf,
  unknown,
} from './expression.ts'
import type { CelCall, Found, Reader } from './found.ts'
import { isFolded, parseDuration } from './literal.ts'
import { absCall, extremeCall, roundCall } from './number-calls.ts'
import type { Node } from './parse.ts'
import { normalPattern } from './pattern.ts'
import type { Members } from './scope.ts'
import { partCall } from './time-calls.ts'

type ReadCall = (reader: Reader, one: CelCall) => Found

/** The functions and methods that expressions can call, by name. */
const functions: Readonly<Record<string, ReadCall>> = {
  has,
  size: (reader, { node, args }) => size(reader, node, only(reader, node, args)),
  timestamp: (reader, { node, args }) => {
    const at = parseInstant(textGiven(reader, node, only(reader, node, args)))
    if (at === undefined)
      return reader.fail(node, 'needs a time with a zone, such as timestamp("2026-12-31T18:00:00Z"),')
    return { is: 'expression', of: reader.literal('datetime', 0, at) }
  },
  duration: (reader, { node, args }) => {
    const given = textGiven(reader, node, only(reader, node, args))
    const ms = parseDuration(given)
    if (ms === undefined)
      return reader.fail(
        node,
        `needs a duration, such as duration("1h30m") or duration("90s"),${inHours(given)}`,
      )
    return { is: 'duration', ms }
  },
  matches: (reader, { node, args: [of, pattern] }) =>
    of === undefined || pattern === undefined
      ? reader.fail(node, 'needs a text and a pattern')
      : matchesCall(reader, node, of, pattern),
  min: (reader, one) => extremeCall(reader, one, 'min'),
  max: (reader, one) => extremeCall(reader, one, 'max'),
  fold,
  round: roundCall,
  abs: absCall,
}
const methods: Readonly<Record<string, ReadCall>> = {
  size: (reader, { node, receiver }) => size(reader, node, receiver ?? node),
  startsWith: (reader, one) => part(reader, one, 'startsWith'),
  endsWith: (reader, one) => part(reader, one, 'endsWith'),
  contains: (reader, one) => part(reader, one, 'contains'),
  matches: (reader, { node, receiver, args }) =>
    matchesCall(reader, node, receiver ?? node, only(reader, node, args)),
  lowerAscii: (reader, { node, receiver }) => lower(reader, node, receiver ?? node),
  ...Object.fromEntries(
    (['year', 'month', 'day', 'hour', 'minute', 'weekday', 'date'] as const).map((part) => [
      part,
      (reader: Reader, one: CelCall) => partCall(reader, one, part),
    ]),
  ),
  exists: (reader, one) => each(reader, one, 'exists'),
  all: (reader, one) => each(reader, one, 'all'),
}

/** Reads a call of a function or method. */
export function call(reader: Reader, one: CelCall): Found {
  const table = one.receiver === undefined ? functions : methods
  const known = Object.hasOwn(table, one.name) ? table[one.name] : undefined
  if (known !== undefined) return known(reader, one)
  return reader.fail(
    one.node,
    `uses ${one.name}(), which is not known; there are ${Object.keys(table).join(', ')};`,
  )
}

function only(reader: Reader, node: Node, args: readonly Node[]): Node {
  const [first] = args
  return first === undefined || args.length > 1 ? reader.fail(node, 'needs one argument') : first
}

function textGiven(reader: Reader, node: Node, argument: Node): string {
  const found = reader.find(argument)
  return found.is === 'literal' && typeof found.given === 'string'
    ? found.given
    : reader.fail(node, 'needs a text in quotes')
}

function has(reader: Reader, { node, args }: CelCall): Found {
  const argument = only(reader, node, args)
  return { is: 'expression', of: test(reader, argument, reader.find(argument), false) }
}

function size(reader: Reader, node: Node, of: Node): Found {
  const found = reader.find(of)
  if (found.is === 'nothing') return { is: 'nothing', candidates: [] }
  if (found.is === 'list') return { is: 'expression', of: { op: 'size', kind: 'integer', of: found.list } }
  if (found.is === 'literal' && typeof found.given === 'string')
    return { is: 'literal', given: BigInt([...found.given].length) }
  if (found.is === 'expression' && found.of.kind === 'text')
    return { is: 'expression', of: { op: 'size', kind: 'integer', of: found.of } }
  return reader.fail(node, 'needs a text or a list in size()')
}

/** The text that a method is called on; undefined if it is missing for this caller. */
function subject(reader: Reader, node: Node, of: Node, beside?: Expression): Expression | undefined {
  const found = reader.find(of)
  if (found.is === 'nothing') return undefined
  if (found.is === 'literal' && typeof found.given === 'string') {
    const folds = beside !== undefined && isFolded(beside)
    return reader.literal('text', 0, folds ? foldText(found.given) : found.given)
  }
  const one = expression(reader, of, found)
  return one.kind === 'text' ? one : reader.fail(node, 'needs a text before the dot')
}

function part(
  reader: Reader,
  { node, receiver, args }: CelCall,
  op: 'startsWith' | 'endsWith' | 'contains',
): Found {
  const of = subject(reader, node, receiver ?? node)
  const inside = subject(reader, node, only(reader, node, args), of)
  if (of === undefined || inside === undefined) return { is: 'expression', of: unknown }
  return { is: 'expression', of: { op, kind: 'boolean', text: of, part: inside } }
}

function lower(reader: Reader, node: Node, of: Node): Found {
  const one = subject(reader, node, of)
  if (one === undefined) return { is: 'nothing', candidates: [] }
  return { is: 'expression', of: { op: 'lower', kind: 'text', of: one } }
}

/** `fold(title)`: without capitals and accents. Only for fields stored folded, since databases fold differently. */
function fold(reader: Reader, { node, args }: CelCall): Found {
  const of = only(reader, node, args)
  const found = reader.find(of)
  if (found.is === 'nothing') return { is: 'nothing', candidates: [] }
  if (found.is === 'literal' && typeof found.given === 'string')
    return { is: 'literal', given: foldText(found.given) }
  if (found.is !== 'expression' || found.of.op !== 'value' || found.of.kind !== 'text')
    return reader.fail(of, 'needs a single text field in fold()')
  const folded = foldedValue(found.of)
  return folded === undefined
    ? reader.fail(of, 'needs a field that is declared with text({ fold: true }) in fold()')
    : { is: 'expression', of: folded }
}

function matchesCall(reader: Reader, node: Node, of: Node, pattern: Node): Found {
  const one = subject(reader, node, of)
  const normal = normalPattern(textGiven(reader, node, pattern))
  if ('problem' in normal)
    return reader.fail(pattern, `has a pattern that cannot be read: ${clause(normal.problem)}`)
  if (one === undefined) return { is: 'expression', of: unknown }
  return {
    is: 'expression',
    of: { op: 'matches', kind: 'boolean', text: one, part: reader.literal('text', 0, normal.pattern) },
  }
}

/** Returns a hint that gives days or weeks in hours. CEL has no units for them, since not every day has 24 hours. */
function inHours(given: string): string {
  const [, count = '', unit] = /^(-?\d{1,5})([dw])$/.exec(given) ?? []
  if (unit === undefined) return ''
  return ` with days in hours: duration("${Number(count) * (unit === 'd' ? 24 : 168)}h"),`
}

/** Turns a sentence into a clause of another sentence. */
function clause(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '')
}

/** `list.exists(x, …)`, `list.all(x, …)` */
function each(reader: Reader, { node, receiver, args }: CelCall, op: 'exists' | 'all'): Found {
  const [variable, body] = args
  if (variable?.op !== 'id' || body === undefined || args.length !== 2)
    return reader.fail(node, `needs a name and a condition, as in lines.${op}(line, line.price > 3),`)
  const name = variable.args
  if (reader.isTaken(name)) return reader.fail(variable, `calls an item "${name}", which is already a name`)
  const found = receiver === undefined ? undefined : reader.find(receiver)
  if (found?.is === 'nothing') return { is: 'expression', of: unknown }
  if (found?.is !== 'list') return reader.fail(receiver ?? node, `needs a list before .${op}()`)
  const depth = reader.depth
  // Comparing each item with each takes quadratic time. Referrers are found by an index.
  if (depth > 0 && found.list.place.root.of !== 'item' && referrersOf(found.list) === undefined)
    return reader.fail(
      receiver ?? node,
      'goes through a list for each item of another; name a list of the item',
    )
  const condition = reader.within(name, itemOf(found.list, found.members, depth), () =>
    reader.condition(body),
  )
  return { is: 'expression', of: { op, kind: 'boolean', list: found.list, depth, condition } }
}

function itemOf(list: ListPlace, members: Members | undefined, depth: number): Found {
  if (referrersOf(list) !== undefined && members !== undefined) {
    const root = { of: 'item', depth, crossed: crossedTo(list.place) + 1 } as const
    return { is: 'composite', composite: { root, hops: [], members, there: undefined, reference: undefined } }
  }
  const root = { of: 'item', depth } as const
  if (members !== undefined) {
    // An item of a list of references is a row with the target's id. All other values are in the target.
    const links = linkRowsOf(list)
    const reference = links === undefined ? undefined : { column: 'target', to: links.target }
    return { is: 'composite', composite: { root, hops: [], members, there: undefined, reference } }
  }
  const { kind, scale } = list.item as { kind: Expression['kind']; scale: number }
  return { is: 'expression', of: { op: 'value', kind, scale, place: { root, hops: [], column: '' } } }
}
