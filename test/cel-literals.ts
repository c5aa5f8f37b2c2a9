import fc, { type Arbitrary } from 'fast-check'
import type { Kind } from './cel-paths.ts'
import { DAYS, DECIMALS, INTEGERS, NUMBERS, TEXTS, TIMES } from './cel-values.ts'

/** Quotes a text for CEL. */
export function quoted(text: string): string {
  return JSON.stringify(text)
}

function part(text: string, from: number, to: number): string {
  return [...text].slice(from, to).join('')
}

export const anyText = fc.oneof(
  // Texts that are neighbours in the order, or contain each other.
  { weight: 4, arbitrary: fc.constantFrom('a', 'A', 'b', 'ab', '', '😀', '\uffff', '\u{10000}') },
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS) },
  fc.tuple(fc.constantFrom(...TEXTS), fc.nat(2), fc.nat(3)).map(([text, from, to]) => part(text, from, to)),
  fc.tuple(fc.constantFrom(...TEXTS), fc.constantFrom(...TEXTS)).map(([a, b]) => a + b),
)

/** Writes a number. With `double`, a whole number gets a point, so that CEL reads a double. */
function writeNumber(value: number, double = false): string {
  const text = String(Object.is(value, -0) ? 0 : value)
  return Number.isInteger(value) && !/[.e]/.test(text) && double ? `${text}.0` : text
}

const wholeNumber = fc
  .tuple(fc.constantFrom(...INTEGERS), fc.constantFrom(-1, 0, 0, 0, 1))
  .map(([value, by]) => (Number.isSafeInteger(value + by) ? value + by : value))
export const literalOf: Readonly<Record<Kind, Arbitrary<string>>> = {
  text: anyText.map(quoted),
  integer: anyNumber(),
  number: anyNumber(),
  'decimal 0': decimalLiteral(0),
  'decimal 2': decimalLiteral(2),
  'decimal 9': decimalLiteral(9),
  date: fc.constantFrom(...DAYS).map(quoted),
  datetime: fc.oneof(
    fc.constantFrom(...TIMES).map(quoted),
    fc.constantFrom(...TIMES).map((time) => `timestamp(${quoted(time)})`),
    fc.constantFrom('timestamp("2026-01-01T02:00:00+02:00")', 'timestamp("2024-02-29T12:00:00.001Z")', 'now'),
  ),
}

function anyNumber(): Arbitrary<string> {
  return fc.oneof(
    wholeNumber.map((value) => writeNumber(value)),
    wholeNumber.map((value) => writeNumber(value, true)),
    fc.constantFrom(...NUMBERS).map((value) => writeNumber(value, true)),
    fc.constantFrom('0.5', '-0.5', '1.25', '-0.0', '1e300', '-1.7976931348623157e+308'),
  )
}

/** Writes a decimal as a text, or as an equal number. */
function decimalLiteral(scale: number): Arbitrary<string> {
  const known = fc.constantFrom(...(DECIMALS[scale] ?? []))
  const exact = (text: string) =>
    (/^-?\d+$/.test(text) || Number(text).toFixed(scale) === text) && text.length < 16
  return fc.oneof(
    known.map(quoted),
    known.map((text) => (exact(text) ? writeNumber(Number(text)) : quoted(text))),
    known.map((text) => (text.includes('.') ? quoted(text) : text)),
  )
}

/**
 * Literals in a conditional. Decimals are written as numbers, because a text would be compared as a text. Numbers have
 * a point and integers have none: only by that can the evaluator tell them apart.
 */
export function chosenLiterals(kind: Kind): Arbitrary<string> {
  if (kind === 'integer') return wholeNumber.map((value) => writeNumber(value))
  if (kind === 'number') return fc.constantFrom(...NUMBERS).map((value) => writeNumber(value, true))
  return kind.startsWith('decimal') ? fc.constantFrom('-1', '0', '1', '2') : literalOf[kind]
}

/** Operands of arithmetic: literals beside integers, numbers and decimals. */
export const operandsBeside = {
  integer: fc.constantFrom('0', '1', '2', '-3', '7', '9007199254740991', '-4503599627370496'),
  number: fc.constantFrom('0', '2', '0.5', '-1.5', '1e100', '1e-100', '3.0'),
  decimal: fc.constantFrom('0', '2', '0.5', '-1.25', '3', '"0.01"', '"-2.500"', '1e-9', '9007199254740991'),
} as const

/** Literals with more digits than the values can have: not for equalities. */
export const finer = fc.constantFrom(
  '1.495',
  '-0.005',
  '1.4999999999',
  '-1.5000000001',
  '0.00000000001',
  '1e-10',
  '"1.505"',
)
const duration = fc.constantFrom('1ms', '1h', '1h30m', '24h', '8784h', '-1h', '0s', '876000h', '-876000h')
export const durations = duration.map((text) => `duration("${text}")`)
export const equality = fc.constantFrom('==', '!=')
export const order = fc.constantFrom('<', '<=', '>', '>=')
export const comparison = fc.oneof(equality, order)
const zone = fc.constantFrom(
  '',
  '"UTC"',
  '"Europe/Zurich"',
  '"America/New_York"',
  '"Asia/Kolkata"',
  '"Australia/Lord_Howe"',
  '"Pacific/Apia"',
)
/** Calls on a time, calls on any date, and those that return a date. */
export const timeParts = fc
  .tuple(fc.constantFrom('year', 'month', 'day', 'hour', 'minute', 'weekday'), zone)
  .map(([part, of]) => `.${part}(${of})`)
export const dateParts = fc.constantFrom('.year()', '.month()', '.day()', '.weekday()')
export const localDates = zone.map((of) => `.date(${of})`)
export const extremes = fc.constantFrom('min', 'max')
export const patterns = ['^a', 'b$', '^$', '^.$', '[a-c]+', 'a|B', '^[^a]*$', '\\\\', '^.{2}$', '^😀', '%|_']
