import { type ASTNode, parse } from '@marcbachmann/cel-js'
import {
  absolute,
  calculate,
  extreme,
  type Numeric,
  negate,
  orderNumbers,
  roundTo,
} from './cel-arithmetic.ts'
import { callerOf, decimalIn, entityOf, type Json, timeOf, type Value, type World } from './cel-world.ts'

type Top = (name: string) => Value

/** Evaluates a condition in CEL for an Entity: true, false, or neither. It knows no Model and no SQL. */
export function compileCel(text: string): (type: string, entity: Json, world: World) => boolean | null {
  const evaluated = compileValue(text)
  return (type, entity, world) => truthOf(evaluated(type, entity, world))
}

/** Compares two Entities by the value at a path: a missing value comes first. */
export function compileOrder(path: string): (type: string, a: Json, b: Json, world: World) => number {
  const evaluated = compileValue(path)
  return (type, left, right, world) => {
    const [a, b] = [evaluated(type, left, world), evaluated(type, right, world)]
    return a === null || b === null ? Number(a !== null) - Number(b !== null) : orderOf(a, b)
  }
}

function compileValue(text: string): (type: string, entity: Json, world: World) => Value {
  const { ast } = parse(text)
  // One value of `now` for the whole expression.
  const now: Value = { is: 'time', ms: Date.now() }
  return (type, entity, world) => {
    const self = entityOf(type, entity, world)
    const { me } = world
    const caller = me === null ? null : callerOf(me, world)
    const top = (name: string): Value => {
      if (name === 'me') return caller
      if (name === 'now') return now
      return self.get(name)
    }
    return evaluate(ast, top)
  }
}

function truthOf(value: Value): boolean | null {
  if (value === null || typeof value === 'boolean') return value
  throw new Error(`${value.is} is neither true nor false`)
}

function evaluate(node: ASTNode, top: Top): Value {
  const of = (one: ASTNode) => evaluate(one, top)
  switch (node.op) {
    case 'value':
      return literalOf(node.args)
    case 'id':
      return top(node.args)
    case '.': {
      const thing = of(node.args[0])
      if (thing === null) return null
      if (typeof thing === 'object' && thing.is === 'composite') return thing.get(node.args[1])
      throw new Error(`nothing is called ${node.args[1]} in it`)
    }
    case '&&': {
      const [a, b] = node.args.map((one) => truthOf(of(one)))
      return a === false || b === false ? false : a === null || b === null ? null : true
    }
    case '||': {
      const [a, b] = node.args.map((one) => truthOf(of(one)))
      return a === true || b === true ? true : a === null || b === null ? null : false
    }
    case '!_': {
      const truth = truthOf(of(node.args))
      return truth === null ? null : !truth
    }
    case '-_':
      return negative(of(node.args), ['value', '-_'].includes(node.args.op))
    case '?:': {
      const condition = truthOf(of(node.args[0]))
      return condition === null ? null : of(node.args[condition ? 1 : 2])
    }
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
      return calculated(node.op, of(node.args[0]), of(node.args[1]))
    case '==':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return compared(node.op, node.args, of)
    case 'in':
      return isIn(node.args, of)
    case 'call':
      return call(node.args[0], node.args[1], top)
    case 'rcall':
      return call(node.args[0], [node.args[1], ...node.args[2]], top)
    default:
      throw new Error(`${node.op} is not known`)
  }
}

function literalOf(value: unknown): Value {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string') return { is: 'text', text: value }
  return { is: 'number', number: value as number | bigint }
}

/** The sign is part of a literal; before anything else it is a subtraction from 0. */
function negative(value: Value, literal: boolean): Value {
  if (value === null) return null
  if (typeof value === 'object') {
    if (value.is === 'number')
      return numberOf(literal ? negate(value.number) : calculate('-', 0n, value.number))
    if (value.is === 'duration') return { is: 'duration', ms: -value.ms }
  }
  throw new Error('only numbers and durations have a sign')
}

function numberOf(number: Numeric | null): Value {
  return number === null ? null : { is: 'number', number }
}

/** Calculates with numbers, texts and times. */
function calculated(op: '+' | '-' | '*' | '/' | '%', a: Value, b: Value): Value {
  if (a === null || b === null) return null
  const [x, y] = [numericOf(a), numericOf(b)]
  if (x !== undefined && y !== undefined && typeof a === 'object' && typeof b === 'object') {
    if (a.is === 'number' || b.is === 'number') return numberOf(calculate(op, x, y))
  }
  if (op !== '+' && op !== '-') throw new Error(`${op} needs numbers`)
  const [left, right] = [a, b].map((one) => (typeof one === 'object' && one.is === 'text' ? one.text : null))
  if (op === '+' && typeof left === 'string' && typeof right === 'string')
    return { is: 'text', text: left + right }
  return moved(op, a, b)
}

/** Returns a number, also from a text that contains one. */
function numericOf(value: NonNullable<Value>): Numeric | undefined {
  if (typeof value !== 'object') return undefined
  if (value.is === 'number') return value.number
  return value.is === 'text' && /^-?\d+(\.\d+)?$/.test(value.text) ? decimalIn(value.text) : undefined
}

/** Adds and subtracts times and durations; a time may exceed what can be written. */
function moved(op: '+' | '-', a: Value, b: Value): Value {
  if (a === null || b === null) return null
  if (typeof a === 'object' && a.is === 'text') return moved(op, timeOf(a.text), b)
  if (typeof b === 'object' && b.is === 'text') return moved(op, a, timeOf(b.text))
  if (!isTimely(a) || !isTimely(b)) throw new Error('only times and durations can be added')
  const is = a.is === b.is ? 'duration' : 'time'
  return { is, ms: op === '+' ? a.ms + b.ms : a.ms - b.ms }
}

function isTimely(value: Value): value is Extract<Value, { ms: number }> {
  return value !== null && typeof value === 'object' && 'ms' in value
}

type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>='

function compared(how: Comparison, [left, right]: readonly ASTNode[], of: (node: ASTNode) => Value): Value {
  if (left === undefined || right === undefined) throw new Error('compares nothing')
  const [a, b] = [beside(right, left, of), beside(left, right, of)]
  if (isNull(left) || isNull(right)) {
    const both = a === null && b === null
    return how === '==' ? both : !both
  }
  if (a === null || b === null) return null
  const order = orderOf(a, b)
  return {
    '==': order === 0,
    '!=': order !== 0,
    '<': order < 0,
    '<=': order <= 0,
    '>': order > 0,
    '>=': order >= 0,
  }[how]
}

/** A literal compared with `fold(…)` is folded, too. */
function beside(other: ASTNode, node: ASTNode, of: (node: ASTNode) => Value): Value {
  const value = of(node)
  const isBeside = other.op === 'call' && other.args[0] === 'fold' && node.op === 'value'
  return isBeside && value !== null ? { is: 'text', text: folded(textOf(value)) } : value
}

/** Decomposes a text, removes the marks of European, Hebrew and Arabic scripts, ignores case, and composes it again. */
function folded(text: string): string {
  const bare = [...text.normalize('NFKD')].filter((one) => !isMark(one.codePointAt(0) ?? 0, one)).join('')
  return bare.toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFKC').replaceAll('ß', 'ss')
}

function isMark(code: number, character: string): boolean {
  const blocks = [
    [0x300, 0x36f],
    [0x590, 0x6ff],
    [0x1ab0, 0x1aff],
    [0x1dc0, 0x1dff],
    [0x20d0, 0x20ff],
    [0xfe20, 0xfe2f],
  ] as const
  return /\p{M}/u.test(character) && blocks.some(([first, last]) => code >= first && code <= last)
}

function isNull(node: ASTNode): boolean {
  return node.op === 'value' && node.args === null
}

/** Compares two values. A text or number takes the type of the value that it is compared with. */
function orderOf(a: NonNullable<Value>, b: NonNullable<Value>): number {
  if (typeof a === 'boolean' || typeof b === 'boolean') {
    if (typeof a !== typeof b) throw new Error('compares a truth with something else')
    return Number(a) - Number(b)
  }
  if (a.is === 'time' && b.is === 'text') return orderOf(a, timeOf(b.text) ?? b)
  if (a.is === 'text' && b.is === 'time') return orderOf(timeOf(a.text) ?? a, b)
  if (a.is === 'text' && b.is === 'text') return textOrder(a.text, b.text)
  // A text compared with a number is a decimal.
  const [x, y] = [numericOf(a), numericOf(b)]
  if (x !== undefined && y !== undefined) return orderNumbers(x, y)
  if (isTimely(a) && isTimely(b) && a.is === b.is) return a.ms - b.ms
  throw new Error(`compares ${a.is} with ${b.is}`)
}

/** Compares by code points. */
function textOrder(a: string, b: string): number {
  const [left, right] = [[...a], [...b]]
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const apart = (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? 0)
    if (apart !== 0) return apart
  }
  return left.length - right.length
}

/** True if the value equals one of them; otherwise unknown if one of them is null. */
function isIn([left, right]: readonly ASTNode[], of: (node: ASTNode) => Value): Value {
  if (left === undefined || right === undefined) throw new Error('looks in nothing')
  if (right.op === 'list' && right.args.length === 0) return false
  const value = of(left)
  const list =
    right.op === 'list'
      ? right.args.map((item) => beside(left, item, of))
      : (itemsOf(of(right))?.map(idOf) ?? null)
  if (value === null || list === null) return null
  if (list.some((item) => item !== null && orderOf(value, item) === 0)) return true
  return right.op === 'list' && list.includes(null) ? null : false
}

/** Returns the id of a reference, which is what lists of references are searched for. */
function idOf(value: Value): Value {
  return value !== null && typeof value === 'object' && value.is === 'composite' ? value.get('id') : value
}

function itemsOf(value: Value): readonly Value[] | null {
  if (value === null) return null
  if (typeof value === 'object' && value.is === 'list') return value.items
  throw new Error('needs a list')
}

function call(name: string, args: readonly ASTNode[], top: Top): Value {
  const [first, second, third] = args
  if (first === undefined) throw new Error(`${name} of nothing`)
  if ((name === 'exists' || name === 'all') && second?.op === 'id' && third !== undefined) {
    const items = itemsOf(evaluate(first, top))
    if (items === null) return null
    const truths = items.map((item) =>
      truthOf(evaluate(third, (asked) => (asked === second.args ? item : top(asked)))),
    )
    // One item decides; otherwise the result is unknown if an item is unknown.
    const decides = name === 'exists'
    if (truths.includes(decides)) return decides
    return truths.includes(null) ? null : !decides
  }
  const value = evaluate(first, top)
  if (name === 'has') return value !== null
  if (value !== null && name in PARTS) {
    const time = isTimely(value) ? value : timeOf(textOf(value))
    return partOf(time.ms, name, second === undefined ? 'UTC' : textOf(evaluate(second, top)))
  }
  if (['min', 'max', 'abs', 'round'].includes(name))
    return ofNumbers(
      name,
      args.map((arg) => evaluate(arg, top)),
    )
  const other = second === undefined ? null : beside(first, second, (node) => evaluate(node, top))
  if (value === null || (second !== undefined && other === null)) return null
  if (name === 'size' && typeof value === 'object' && value.is === 'list')
    return { is: 'number', number: BigInt(value.items.length) }
  return ofText(name, textOf(value), other === null ? '' : textOf(other))
}

const PARTS: Readonly<Record<string, (local: Temporal.ZonedDateTime) => number>> = {
  year: ({ year }) => year,
  month: ({ month }) => month,
  day: ({ day }) => day,
  hour: ({ hour }) => hour,
  minute: ({ minute }) => minute,
  weekday: ({ dayOfWeek }) => dayOfWeek,
  date: (local) => Date.parse(`${local.toPlainDate()}T00:00:00Z`),
}

/** Returns a part of a time in a zone; null if the local year could be outside of what can be written. */
function partOf(ms: number, name: string, zone: string): Value {
  const day = zone === 'UTC' ? 0 : 86_400_000
  if (ms < Date.parse('0001-01-01T00:00:00Z') + day) return null
  if (ms > Date.parse('9999-12-31T23:59:59.999Z') - day) return null
  // Clock changes after 2099 are not known.
  const known = Temporal.Instant.fromEpochMilliseconds(Math.min(ms, Date.UTC(2100, 0, 1) - 1))
  const offset = known.toZonedDateTimeISO(zone).offsetNanoseconds / 1_000_000
  const local = Temporal.Instant.fromEpochMilliseconds(ms + offset).toZonedDateTimeISO('UTC')
  const part = PARTS[name]?.(local) ?? 0
  return name === 'date' ? { is: 'time', ms: part } : numberOf(BigInt(part))
}

function ofNumbers(name: string, values: readonly Value[]): Value {
  const known = values.filter((value) => value !== null)
  if (known.length < values.length) return null
  // A text beside a time is a time, too.
  const isDay = (one: Value) => typeof one === 'object' && one?.is === 'text' && /^\d{4}-/.test(one.text)
  const times = known.map((one) => (isDay(one) ? timeOf(textOf(one)) : one)).filter(isTimely)
  if (times.length > 0) return times.toSorted((a, b) => (name === 'min' ? 1 : -1) * (a.ms - b.ms))[0] ?? null
  const numbers = known.map(numericOf).filter((one) => one !== undefined)
  const [first, places] = numbers
  if (first === undefined) throw new Error(`${name} needs numbers`)
  if (name === 'abs') return numberOf(absolute(first))
  if (name === 'round') return numberOf(roundTo(first, places === undefined ? undefined : Number(places)))
  return numberOf(extreme(name as 'min' | 'max', numbers))
}

function textOf(value: Value): string {
  if (value !== null && typeof value === 'object' && value.is === 'text') return value.text
  throw new Error('needs a text')
}

function ofText(name: string, text: string, other: string): Value {
  switch (name) {
    case 'timestamp':
      return timeOf(text)
    case 'duration':
      return { is: 'duration', ms: durationOf(text) }
    case 'size':
      return { is: 'number', number: BigInt([...text].length) }
    case 'fold':
      return { is: 'text', text: folded(text) }
    case 'lowerAscii':
      return { is: 'text', text: text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) }
    case 'startsWith':
      return text.startsWith(other)
    case 'endsWith':
      return text.endsWith(other)
    case 'contains':
      return text.includes(other)
    case 'matches':
      // Only patterns that JavaScript and RE2 read alike; a dot matches any character except a newline.
      return new RegExp(other.replace(/\./g, '[^\\n]'), 'u').test(text)
    default:
      throw new Error(`${name} is not known`)
  }
}

function durationOf(text: string): number {
  const units: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }
  const parts = [...text.matchAll(/([\d.]+)(h|ms|m|s)/g)]
  const sum = parts.reduce((total, [, count, unit]) => total + Number(count) * (units[unit ?? ''] ?? 0), 0)
  return Math.round(text.startsWith('-') ? -sum : sum)
}
