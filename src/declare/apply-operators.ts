import { addError, type Errors } from '../errors.ts'
import type { Check } from './fields/field.ts'
import { decimalType, formatDecimal, integerType, numberType, parseDecimal } from './fields/number.ts'
import type { Field, ValueField } from './model.ts'
import { isOperable, type Operable, operatorsOf } from './operators.ts'
import { isRecord } from './record.ts'
import { checkOf, memberId, type Values } from './values.ts'

/** Whether a value has operators. These fields never hold objects, so a key with a `$` is always an operator. */
function hasOperator(value: Values): boolean {
  return Object.keys(value).some((key) => key.startsWith('$'))
}

/** Whether a body has operators for any of these fields. */
export function hasOperators(fields: readonly Field[], body: unknown): boolean {
  if (!isRecord(body)) return false
  return fields.some((field) => {
    const sent = Object.hasOwn(body, field.name) ? body[field.name] : undefined
    if (!isRecord(sent)) return false
    return field.kind === 'object' ? hasOperators(field.fields, sent) : isOperable(field) && hasOperator(sent)
  })
}

/** Where the application of operators reports errors, and the places of added items. */
export interface Applied {
  readonly errors: Errors
  /** For each item that was added to a list: its place in the result → its place in the body. */
  readonly places: Map<string, string>
}

/** Replaces the operators in a body by their results, computed from the present values. Failed fields are left out. */
export function applyOperators(
  fields: readonly Field[],
  body: Values,
  present: unknown,
  applied: Applied,
): Values {
  const result: Record<string, unknown> = { ...body }
  for (const field of fields) {
    const sent = Object.hasOwn(body, field.name) ? body[field.name] : undefined
    if (!isRecord(sent)) continue
    const value = isRecord(present) ? present[field.name] : undefined
    if (field.kind === 'object') result[field.name] = applyOperators(field.fields, sent, value, applied)
    else if (isOperable(field) && hasOperator(sent)) {
      const made = operate(field, sent, value, applied)
      if (made === undefined) delete result[field.name]
      else result[field.name] = made
    }
  }
  return result
}

/** Removes the operators from a body and checks their operands. For writes of many Entities, before any is read. */
export function withoutOperators(fields: readonly Field[], body: Values, errors: Errors): Values {
  const result: Record<string, unknown> = { ...body }
  for (const field of fields) {
    const sent = Object.hasOwn(body, field.name) ? body[field.name] : undefined
    if (!isRecord(sent)) continue
    if (field.kind === 'object') result[field.name] = withoutOperators(field.fields, sent, errors)
    else if (isOperable(field) && hasOperator(sent)) {
      sentOperands(field, sent, errors)
      delete result[field.name]
    }
  }
  return result
}

/** The new value of a field; undefined if an operator failed. */
function operate(field: Operable, sent: Values, present: unknown, applied: Applied): unknown {
  const { errors } = applied
  const operands = sentOperands(field, sent, errors)
  if (operands === undefined) return undefined
  if (present === null || present === undefined)
    return addError(errors, field.path, 'has no value: set it first')
  if (Array.isArray(present)) return changedList(field, present, operands, applied)
  return field.kind === 'value' ? sum(field, present, operands[0]?.[0]) : undefined
}

/** The operands of each operator; undefined if one of them is wrong. */
function sentOperands(field: Operable, sent: Values, errors: Errors): unknown[][] | undefined {
  const known: readonly string[] = operatorsOf(field)
  const before = errors.size
  for (const key of Object.keys(sent))
    if (!known.includes(key))
      addError(errors, `${field.path}.${key}`, `is not an operator here; use ${known.join(' or ')}`)
  const operands = known.map((key) => (Object.hasOwn(sent, key) ? sentOperand(field, key, sent, errors) : []))
  return errors.size > before ? undefined : operands
}

/** The operand of an operator: the items for a list, one number for a number. */
function sentOperand(field: Operable, key: string, sent: Values, errors: Errors): unknown[] {
  const place = `${field.path}.${key}`
  const value = sent[key]
  const check = itemCheck(field)
  if (field.kind === 'value' && field.type !== 'list') return [check(value, place, errors)]
  if (!Array.isArray(value)) {
    addError(errors, place, 'must be a list')
    return []
  }
  const mayBeNull = field.kind === 'value' && field.item?.optional === true
  return value.map((one: unknown, at) => {
    if (one === null) return mayBeNull ? null : addError(errors, `${place}.${at}`, 'must not be null')
    // An item may break a limit that was declared later. It can still be removed.
    const own = key === '$remove' && (field.kind === 'value' || field.item !== undefined) ? new Map() : errors
    const checked = check(one, `${place}.${at}`, own)
    return own !== errors && own.size > 0 ? one : checked
  })
}

/** The check of one operand. A number may exceed the field's limits: only the result must be within them. */
function itemCheck(field: Operable): Check {
  if (field.kind === 'links' && field.item !== undefined) return checkOf(field.item, 'whole')
  if (field.kind === 'links')
    return checkOf({ ...field, kind: 'reference', unique: false, provided: undefined }, 'whole')
  if (field.type === 'integer') return integerType.check({ type: 'integer' })
  if (field.type === 'number') return numberType.check({ type: 'number' })
  if (field.type === 'decimal') return decimalType.check({ type: 'decimal', scale: field.scale })
  return field.item === undefined ? (value) => value : checkOf(field.item, 'whole')
}

/** Decimals are added exactly. */
function sum({ type, scale }: ValueField, present: unknown, by: unknown): unknown {
  if (type !== 'decimal') return Number(present) + Number(by)
  const [now, more] = [parseDecimal(present, scale), parseDecimal(by, scale)]
  return now === undefined || more === undefined ? present : formatDecimal(now + more, scale)
}

/** Applies `$remove`, then `$add`. A list of references has no duplicates; a list of values may have them. */
function changedList(
  field: Operable,
  present: readonly unknown[],
  [added = [], removed = []]: readonly (readonly unknown[])[],
  { places }: Applied,
): unknown[] {
  const gone = new Set(removed.map((one) => identityOf(field, one)))
  const list = present.filter((one) => !gone.has(identityOf(field, one)))
  const there = new Set(list.map(canonical))
  for (const [at, one] of added.entries()) {
    if (field.kind === 'links' && there.has(canonical(one))) continue
    there.add(canonical(one))
    places.set(`${field.path}.${list.length}`, `${field.path}.$add.${at}`)
    list.push(one)
  }
  return list
}

/** The key by which `$remove` finds an item: in a list of objects with a reference, that reference. */
function identityOf(field: Operable, one: unknown): string {
  if (field.kind !== 'links' || field.member === '') return canonical(one)
  return canonical(memberId(one, field.member))
}

/** A text that is the same for equal values, whatever the order of their keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    isRecord(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  )
}

/** Moves errors of added items from their place in the result to their place in the body. */
export function atSentPlaces(errors: Errors, places: ReadonlyMap<string, string>): Errors {
  if (places.size === 0) return errors
  const moved: Errors = new Map()
  for (const [path, sentences] of errors) {
    const [, item = path, rest = ''] = /^(.*\.\d+)(\..*)?$/.exec(path) ?? []
    const place = places.get(item)
    moved.set(place === undefined ? path : place + rest, sentences)
  }
  return moved
}
