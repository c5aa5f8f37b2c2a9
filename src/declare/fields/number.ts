import { addError } from '../../errors.ts'
import type { CelValue } from '../server-value.ts'
import {
  aBoolean,
  aNumber,
  anInteger,
  aValue,
  common,
  type FieldOptions,
  type FieldType,
  minAboveMax,
  type OptionCheck,
} from './field.ts'

export interface NumberOptions extends FieldOptions {
  readonly min?: number
  readonly max?: number
  readonly unique?: boolean
  readonly default?: number | CelValue
}
export interface DecimalOptions extends FieldOptions {
  /** Decimal places, 0 to 9. Default 2. */
  readonly scale?: number
  /** A decimal as a text, such as `'0.01'`. */
  readonly min?: string
  readonly max?: string
  readonly unique?: boolean
  readonly default?: string | CelValue
}
export interface IntegerDeclaration extends NumberOptions {
  readonly type: 'integer'
}
export interface NumberDeclaration extends NumberOptions {
  readonly type: 'number'
}
export interface DecimalDeclaration extends DecimalOptions {
  readonly type: 'decimal'
}

/** Whether a whole number is too large for a double: the JSON may have had a different one. */
export function isInexact(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

export const INEXACT =
  'must not be a whole number beyond 2^53, which cannot be kept exactly; send it as a text'

const [LEAST, GREATEST] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
/** Beyond these limits, doubles are whole numbers with gaps. */
const OUTSIDE = `must be a number from ${LEAST} to ${GREATEST}`

const numeric = { ...common, unique: aBoolean, default: aValue }

function bounds(min: number | undefined, max: number | undefined): { minimum?: number; maximum?: number } {
  return { ...(min !== undefined && { minimum: min }), ...(max !== undefined && { maximum: max }) }
}

export const integerType: FieldType<IntegerDeclaration> = {
  column: 'integer',
  options: { ...numeric, min: anInteger, max: anInteger },
  conflict: minAboveMax,
  check:
    ({ min = LEAST, max = GREATEST }) =>
    (value, path, errors) => {
      if (typeof value !== 'number' || !Number.isInteger(value)) addError(errors, path, 'must be an integer')
      else if (value < min) addError(errors, path, `must be at least ${min}`)
      else if (value > max) addError(errors, path, `must be at most ${max}`)
      else return value === 0 ? 0 : value // no -0
      return undefined
    },
  schema: ({ min = LEAST, max = GREATEST }) => ({
    type: 'integer',
    ...bounds(min, max),
  }),
}

export const numberType: FieldType<NumberDeclaration> = {
  column: 'number',
  options: { ...numeric, min: aNumber, max: aNumber },
  conflict: minAboveMax,
  check:
    ({ min, max }) =>
    (value, path, errors) => {
      if (typeof value !== 'number' || !Number.isFinite(value)) addError(errors, path, 'must be a number')
      else if (isInexact(value)) addError(errors, path, OUTSIDE)
      else if (min !== undefined && value < min) addError(errors, path, `must be at least ${min}`)
      else if (max !== undefined && value > max) addError(errors, path, `must be at most ${max}`)
      else return value === 0 ? 0 : value
      return undefined
    },
  schema: ({ min = LEAST, max = GREATEST }) => ({
    type: 'number',
    ...bounds(Math.max(min, LEAST), Math.min(max, GREATEST)),
  }),
}

export const DEFAULT_SCALE = 2
/** The maximum number of decimal places, in fields and expressions. */
export const SCALE_MAX = 9
/** A 64-bit integer always holds 18 digits, so both databases store, sort and add them exactly. */
export const DECIMAL_DIGITS = 18
const DECIMAL = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/

/** `'12.5'` at scale 2 is `1250n`; undefined if it is not a decimal that fits. */
export function parseDecimal(value: unknown, scale: number): bigint | undefined {
  if (typeof value !== 'string' || value.length > DECIMAL_DIGITS + 3 || !DECIMAL.test(value)) return undefined
  const [whole = '', fraction = ''] = value.split('.')
  if (fraction.length > scale || whole.replace('-', '').length + scale > DECIMAL_DIGITS) return undefined
  return BigInt(whole + fraction.padEnd(scale, '0'))
}

export function formatDecimal(scaled: bigint, scale: number): string {
  const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(scale + 1, '0')
  const point = digits.length - scale
  return (scaled < 0n ? '-' : '') + digits.slice(0, point) + (scale === 0 ? '' : `.${digits.slice(point)}`)
}

const aScale: OptionCheck = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= SCALE_MAX
    ? undefined
    : `must be a whole number from 0 to ${SCALE_MAX}`

export const decimalType: FieldType<DecimalDeclaration> = {
  column: 'decimal',
  options: { ...numeric, scale: aScale, min: aValue, max: aValue },
  conflict({ scale = DEFAULT_SCALE, min, max }) {
    const sentence = `must be a decimal as a string with at most ${scale} decimal places, such as '10.5'`
    const [least, most] = [parseDecimal(min, scale), parseDecimal(max, scale)]
    if (min !== undefined && least === undefined) return ['min', sentence]
    if (max !== undefined && most === undefined) return ['max', sentence]
    return least !== undefined && most !== undefined && least > most
      ? ['min', `must not be above max, which is ${max}`]
      : undefined
  },
  check({ scale = DEFAULT_SCALE, min, max }) {
    const [least, most] = [parseDecimal(min, scale), parseDecimal(max, scale)]
    const whole = DECIMAL_DIGITS - scale
    const shape = `must be a decimal as a string, such as "10.50", with at most ${whole} digits before the point and ${scale} after it`
    return (value, path, errors) => {
      const scaled = parseDecimal(value, scale)
      if (scaled === undefined) addError(errors, path, shape)
      else if (least !== undefined && scaled < least) addError(errors, path, `must be at least ${min}`)
      else if (most !== undefined && scaled > most) addError(errors, path, `must be at most ${max}`)
      else return formatDecimal(scaled, scale)
      return undefined
    }
  },
  schema: ({ scale = DEFAULT_SCALE, min, max }) => ({
    type: 'string',
    pattern: `^-?(0|[1-9][0-9]{0,${DECIMAL_DIGITS - scale - 1}})${scale === 0 ? '' : `(\\.[0-9]{1,${scale}})?`}$`,
    ...(limits(min, max) !== '' && { description: limits(min, max) }),
  }),
}

/** The limits in words: JSON Schema has no keyword for limits of a number in a string. */
function limits(min: string | undefined, max: string | undefined): string {
  const sentences = [min === undefined ? '' : `At least ${min}.`, max === undefined ? '' : `At most ${max}.`]
  return sentences.filter((sentence) => sentence !== '').join(' ')
}
