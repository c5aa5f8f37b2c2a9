import { type ASTNode, parse } from '@marcbachmann/cel-js'
import type { FieldDeclaration } from '../src/declare/define.ts'

/** What a value is; `null` is one that is not there, and the truth of what is not known. */
type Value =
  | null
  | boolean
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'number'; readonly number: number | bigint }
  | { readonly is: 'decimal'; readonly digits: bigint; readonly scale: number }
  /** A date is the instant at which its day begins in UTC. */
  | { readonly is: 'time'; readonly ms: number }
  | { readonly is: 'duration'; readonly ms: number }
  | { readonly is: 'list'; readonly items: readonly Value[] }
  | { readonly is: 'thing'; get(name: string): Value }
  /** Any JSON, of which it is only known that it is there. */
  | { readonly is: 'json' }

type Json = Readonly<Record<string, unknown>>
type Declarations = Readonly<Record<string, FieldDeclaration>>

/** What is declared, and what there is. */
export interface World {
  fieldsOf(type: string): Declarations
  /** An Entity that is live, as the API answers it. */
  find(type: string, id: number): Json | undefined
  /** Those that refer to an Entity by a name, all live; undefined where nothing has that name. */
  referring?(type: string, id: number, name: string): Referring | undefined
  /** Whoever asks: the login type with its user type, and the Entity. */
  readonly me: { readonly type: string; readonly userType: string; readonly entity: Json } | null
}

export interface Referring {
  readonly type: string
  readonly entities: readonly Json[]
}

/** Says of an Entity whether a condition in CEL is true, false, or neither. It knows no Model and no SQL. */
export function compileCel(text: string): (type: string, entity: Json, world: World) => boolean | null {
  const evaluated = compileValue(text)
  return (type, entity, world) => truthOf(evaluated(type, entity, world))
}

/** Which of two Entities comes first by the value at a path: what is not there is before everything. */
export function compileOrder(path: string): (type: string, a: Json, b: Json, world: World) => number {
  const evaluated = compileValue(path)
  return (type, left, right, world) => {
    const [a, b] = [evaluated(type, left, world), evaluated(type, right, world)]
    return a === null || b === null ? Number(a !== null) - Number(b !== null) : orderOf(a, b)
  }
}

function compileValue(text: string): (type: string, entity: Json, world: World) => Value {
  const { ast } = parse(text)
  // One for all that is said.
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

type Thing = Extract<Value, { is: 'thing' }>
type Top = (name: string) => Value

function callerOf({ type, userType, entity }: NonNullable<World['me']>, world: World): Thing {
  const own = entityOf(type, entity, world)
  return { is: 'thing', get: (name) => (name === 'type' ? { is: 'text', text: userType } : own.get(name)) }
}

const ownFields: Declarations = {
  id: { type: 'integer' },
  version: { type: 'integer' },
  created_at: { type: 'datetime' },
  updated_at: { type: 'datetime' },
  deleted_at: { type: 'datetime' },
}

function entityOf(type: string, entity: Json, world: World): Thing {
  const own = objectOf({ ...world.fieldsOf(type), ...ownFields }, entity, world)
  return {
    is: 'thing',
    get(name) {
      const referring = world.referring?.(type, entity.id as number, name)
      if (referring === undefined) return own.get(name)
      return {
        is: 'list',
        items: referring.entities.map((one) => entityOf(referring.type, one, world)),
      }
    },
  }
}

function objectOf(fields: Declarations, json: Json, world: World): Thing {
  return {
    is: 'thing',
    get(name) {
      const field = fields[name]
      if (field === undefined) throw new Error(`there is no ${name}`)
      return fieldValue(field, json[name], world)
    },
  }
}

function fieldValue(field: FieldDeclaration, json: unknown, world: World): Value {
  if (json === null || json === undefined) return null
  switch (field.type) {
    case 'integer':
    case 'number':
      return { is: 'number', number: json as number }
    case 'decimal':
      return decimalOf(json as string)
    case 'boolean':
      return json as boolean
    case 'date':
    case 'datetime':
      return timeOf(json as string)
    case 'json':
      return { is: 'json' }
    case 'object':
      return objectOf(field.fields, json as Json, world)
    case 'list':
      return { is: 'list', items: (json as unknown[]).map((item) => fieldValue(field.items, item, world)) }
    case 'ref':
      return referenceOf(field.target, (json as { id: number }).id, world)
    default:
      return { is: 'text', text: json as string }
  }
}

function referenceOf(type: string, id: number, world: World): Thing {
  return {
    is: 'thing',
    get(name) {
      if (name === 'id') return { is: 'number', number: id }
      const target = world.find(type, id)
      return target === undefined ? null : entityOf(type, target, world).get(name)
    },
  }
}

function decimalOf(text: string): Value {
  const [whole = '', fraction = ''] = text.split('.')
  return { is: 'decimal', digits: BigInt(whole + fraction), scale: fraction.length }
}

function timeOf(text: string): Value {
  return { is: 'time', ms: Date.parse(text) }
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
      if (typeof thing === 'object' && thing.is === 'thing') return thing.get(node.args[1])
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
      return negative(of(node.args))
    case '?:': {
      const condition = truthOf(of(node.args[0]))
      return condition === null ? null : of(node.args[condition ? 1 : 2])
    }
    case '+':
    case '-':
      return moved(node.op, of(node.args[0]), of(node.args[1]))
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

function negative(value: Value): Value {
  if (value !== null && typeof value === 'object') {
    if (value.is === 'number') return { is: 'number', number: -value.number }
    if (value.is === 'duration') return { is: 'duration', ms: -value.ms }
  }
  throw new Error('only numbers and durations have a sign')
}

/** Times and durations; a time may go beyond all that can be written down. */
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
  const [a, b] = [of(left), of(right)]
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

function isNull(node: ASTNode): boolean {
  return node.op === 'value' && node.args === null
}

/** What is written as a text or as a number is what it is compared with. */
function orderOf(a: NonNullable<Value>, b: NonNullable<Value>): number {
  if (typeof a === 'boolean' || typeof b === 'boolean') {
    if (typeof a !== typeof b) throw new Error('compares a truth with something else')
    return Number(a) - Number(b)
  }
  if (a.is === 'time' && b.is === 'text') return orderOf(a, timeOf(b.text) ?? b)
  if (a.is === 'text' && b.is === 'time') return orderOf(timeOf(a.text) ?? a, b)
  // A text beside a number is a decimal too: one that was chosen in place of one.
  if ([a.is, b.is].includes('decimal') || (a.is === 'text') !== (b.is === 'text')) return decimalOrder(a, b)
  if (a.is === 'text' && b.is === 'text') return textOrder(a.text, b.text)
  if (a.is === 'number' && b.is === 'number') return a.number < b.number ? -1 : a.number > b.number ? 1 : 0
  if (isTimely(a) && isTimely(b) && a.is === b.is) return a.ms - b.ms
  throw new Error(`compares ${a.is} with ${b.is}`)
}

function decimalOrder(a: NonNullable<Value>, b: NonNullable<Value>): number {
  const [x, y] = [exact(a), exact(b)]
  const [left, right] = [x.digits * 10n ** BigInt(y.scale), y.digits * 10n ** BigInt(x.scale)]
  return left < right ? -1 : left > right ? 1 : 0
}

function exact(value: NonNullable<Value>): { digits: bigint; scale: number } {
  if (typeof value === 'object' && value.is === 'decimal') return value
  const text =
    typeof value === 'object' && value.is === 'text'
      ? value.text
      : typeof value === 'object' && value.is === 'number'
        ? String(value.number)
        : ''
  const parts = /^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text)
  if (parts === null) throw new Error(`${text} is no decimal`)
  const fraction = parts[2] ?? ''
  const scale = fraction.length - Number(parts[3] ?? 0)
  const digits = BigInt(parts[1] + fraction)
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale }
}

/** By code points. */
function textOrder(a: string, b: string): number {
  const [left, right] = [[...a], [...b]]
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const apart = (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? 0)
    if (apart !== 0) return apart
  }
  return left.length - right.length
}

/** True if it is equal to one, otherwise not known if one of them is not. */
function isIn([left, right]: readonly ASTNode[], of: (node: ASTNode) => Value): Value {
  if (left === undefined || right === undefined) throw new Error('looks in nothing')
  if (right.op === 'list' && right.args.length === 0) return false
  const value = of(left)
  const list = right.op === 'list' ? right.args.map(of) : (itemsOf(of(right))?.map(idOf) ?? null)
  if (value === null || list === null) return null
  if (list.some((item) => item !== null && orderOf(value, item) === 0)) return true
  return right.op === 'list' && list.includes(null) ? null : false
}

/** Of a reference its id, which is what is looked for in a list of them. */
function idOf(value: Value): Value {
  return value !== null && typeof value === 'object' && value.is === 'thing' ? value.get('id') : value
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
    // One item decides; otherwise it is not known if it is not known of one.
    const decides = name === 'exists'
    if (truths.includes(decides)) return decides
    return truths.includes(null) ? null : !decides
  }
  const value = evaluate(first, top)
  if (name === 'has') return value !== null
  const other = second === undefined ? null : evaluate(second, top)
  if (value === null || (second !== undefined && other === null)) return null
  if (name === 'size' && typeof value === 'object' && value.is === 'list')
    return { is: 'number', number: value.items.length }
  return ofText(name, textOf(value), other === null ? '' : textOf(other))
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
      return { is: 'number', number: [...text].length }
    case 'lowerAscii':
      return { is: 'text', text: text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) }
    case 'startsWith':
      return text.startsWith(other)
    case 'endsWith':
      return text.endsWith(other)
    case 'contains':
      return text.includes(other)
    case 'matches':
      // Of what JavaScript and RE2 read alike; a dot is any character but a newline.
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
