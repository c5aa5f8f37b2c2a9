import type { Database, FunctionOptions } from 'bun:sqlite'
import { DECIMAL_DIGITS } from '../../declare/fields/number.ts'
import { localTime } from './local-time.ts'

type Value = bigint | number | string | null

const options: FunctionOptions = { deterministic: true, directOnly: true, safeIntegers: true }

/** Functions that SQLite lacks: exact arithmetic with more than 64 bits, and time zones. For every connection. */
export function defineFunctions(database: Database): void {
  database
    .function('takeback_quotient', options, quotient)
    .function('takeback_remainder', options, remainder)
    .function('takeback_round', options, rounded)
    .function('takeback_digits', options, digitsOf)
    .function('takeback_order', options, order)
    .function('takeback_local_time', options, localTime)
}

const MOST = 10n ** BigInt(DECIMAL_DIGITS) - 1n

function bounded(value: bigint): bigint | null {
  return value > MOST || value < -MOST ? null : value
}

/** Division rounded half away from zero. `b` is not zero. */
function divide(a: bigint, b: bigint): bigint {
  const [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b]
  const whole = (2n * x + y) / (2n * y)
  return a < 0n === b < 0n ? whole : -whole
}

function isWhole(value: Value): value is bigint {
  return typeof value === 'bigint'
}

/** A quotient of scaled decimals, with so many more decimal places. */
function quotient(a: Value, b: Value, places: Value): bigint | null {
  if (!isWhole(a) || !isWhole(b) || !isWhole(places) || b === 0n) return null
  return bounded(divide(a * 10n ** places, b))
}

function remainder(a: Value, aPlaces: Value, b: Value, bPlaces: Value): bigint | null {
  if (!isWhole(a) || !isWhole(b) || !isWhole(aPlaces) || !isWhole(bPlaces) || b === 0n) return null
  return (a * 10n ** aPlaces) % (b * 10n ** bPlaces)
}

function rounded(value: Value, places: Value): bigint | null {
  return isWhole(value) && isWhole(places) ? divide(value, 10n ** places) : null
}

/** The digits of a number as JSON shows it, with so many decimal places. */
function digitsOf(value: Value, places: Value): bigint | null {
  if (value === null || !isWhole(places)) return null
  const { digits, scale } = exact(Number(value))
  const more = Number(places) - scale
  const result = more >= 0 ? digits * 10n ** BigInt(more) : divide(digits, 10n ** BigInt(-more))
  return bounded(result)
}

function order(number: Value, decimal: Value, places: Value): number | null {
  if (number === null || !isWhole(decimal) || !isWhole(places)) return null
  const { digits, scale } = exact(Number(number))
  const [a, b] = [digits * 10n ** places, decimal * 10n ** BigInt(scale)]
  return a < b ? -1 : a > b ? 1 : 0
}

/** A double as the shortest decimal that identifies it, as JSON shows it. */
function exact(value: number): { digits: bigint; scale: number } {
  const [, sign = '', whole = '0', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? []
  const digits = BigInt(sign + whole + fraction)
  const scale = fraction.length - Number(exponent)
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale }
}
