import type { Shown } from '../value.tsx'

/** A field that can be filtered by. */
export interface FilterField {
  readonly path: string
  readonly label: string
  readonly field: Shown
}

export type Operator =
  | 'contains'
  | 'starts'
  | 'is'
  | 'not'
  | 'any'
  | 'more'
  | 'least'
  | 'less'
  | 'most'
  | 'after'
  | 'before'
  | 'within'
  | 'has'
  | 'empty'
  | 'filled'

export type Literal = string | number | boolean

/** A condition that can be built by clicking. All conditions of a filter must hold. */
export interface Condition {
  readonly path: string
  readonly operator: Operator
  readonly values: readonly Literal[]
}

const EMPTY = ['empty', 'filled'] as const
const NUMBERS: readonly Operator[] = ['is', 'not', 'more', 'least', 'less', 'most', ...EMPTY]

/** Returns the operators for a field. The first is the most common one. */
export function operatorsOf({ type, items }: Shown): readonly Operator[] {
  switch (type) {
    case 'text':
    case 'email':
    case 'url':
      return ['contains', 'is', 'not', 'starts', ...EMPTY]
    case 'choice':
      return ['any', 'not', ...EMPTY]
    case 'ref':
      return ['any', ...EMPTY]
    case 'integer':
    case 'number':
    case 'decimal':
      return NUMBERS
    case 'date':
      return ['is', 'after', 'before', ...EMPTY]
    case 'datetime':
      return ['within', 'after', 'before', ...EMPTY]
    case 'boolean':
      return ['is', ...EMPTY]
    case 'list':
      return items?.type === 'object' ? EMPTY : ['has', ...EMPTY]
    default:
      return EMPTY
  }
}

/** Whether an operator needs a value. */
export function needsValue(operator: Operator): boolean {
  return operator !== 'empty' && operator !== 'filled'
}

const SIGNS = {
  is: '==',
  not: '!=',
  more: '>',
  least: '>=',
  less: '<',
  most: '<=',
  after: '>',
  before: '<',
} as const

/** Converts conditions to CEL. */
export function celOf(conditions: readonly Condition[], fields: readonly FilterField[]): string | undefined {
  const parts = conditions.map((one) => celOfOne(one, fields.find(({ path }) => path === one.path)?.field))
  return parts.length === 0 ? undefined : parts.join(' && ')
}

function celOfOne({ path, operator, values }: Condition, field: Shown = { type: 'text' }): string {
  const value = literal(values[0] ?? '', field)
  const all = `[${values.map((one) => literal(one, field)).join(', ')}]`
  const isList = field.type === 'list'
  switch (operator) {
    case 'empty':
      return isList ? `size(${path}) == 0` : `${path} == null`
    case 'filled':
      return isList ? `size(${path}) > 0` : `${path} != null`
    case 'contains':
      return `${plain(path, field)}.contains(${lower(values[0], field)})`
    case 'starts':
      return `${plain(path, field)}.startsWith(${lower(values[0], field)})`
    case 'has':
      return `${value} in ${path}`
    case 'any':
      return `${field.type === 'ref' ? `${path}.id` : path} in ${all}`
    case 'within':
      return `${path} > now - duration("${Number(values[0]) * 24}h")`
    case 'not':
      // In CEL, a comparison with null is neither true nor false. People expect empty values to be "not equal".
      return field.nullable === true ? `(${path} != ${value} || ${path} == null)` : `${path} != ${value}`
    default:
      return `${path} ${SIGNS[operator]} ${value}`
  }
}

/** Ignores case, as people do. Folded fields also ignore accents. */
function plain(path: string, { fold }: Shown): string {
  return fold === true ? `fold(${path})` : `${path}.lowerAscii()`
}

function lower(value: Literal = '', { fold }: Shown): string {
  const text = String(value)
  return JSON.stringify(fold === true ? text : text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()))
}

function literal(value: Literal, { type }: Shown): string {
  if (type === 'datetime') return `timestamp(${JSON.stringify(value)})`
  return type === 'decimal' && typeof value === 'number'
    ? JSON.stringify(String(value))
    : JSON.stringify(value)
}
