import { didYouMean } from '../closest.ts'
import { formatDecimal, parseDecimal, SCALE_MAX } from '../fields/number.ts'
import { isStorable } from '../fields/text.ts'
import { isDate, parseInstant } from '../fields/time.ts'
import { isFoldedColumn } from '../folded-column.ts'
import { foldText } from '../words.ts'
import { type Comparison, type Expression, scaleOf, type ValueKind } from './expression.ts'

/** A literal as it was written. Its kind depends on what it is compared with. */
export type GivenLiteral = string | number | bigint | boolean

/** A comparison with a literal: the operator, which may be adjusted, and the value. */
export interface LiteralComparison {
  readonly how: Comparison
  readonly value: string | number | boolean
  readonly kind: ValueKind
  readonly scale: number
}

const names: Record<ValueKind, string> = {
  text: 'a text, such as "abc"',
  integer: 'a number',
  number: 'a number',
  reference: 'a number',
  decimal: 'a number, such as 10.50',
  boolean: 'true or false',
  date: 'a date, such as "2026-12-31"',
  datetime: 'a time with a zone, such as timestamp("2026-12-31T18:00:00Z")',
}

/** The name of a kind of value, for messages. */
export function kindName(kind: ValueKind): string {
  return names[kind]
}

/** A literal as a value of the target's kind; a sentence if it does not fit. */
export function literalComparison(
  target: Expression,
  how: Comparison,
  given: GivenLiteral,
  choices: readonly string[] | undefined,
): LiteralComparison | string {
  const { kind } = target
  const scale = scaleOf(target)
  const plain = (value: string | number | boolean, as: ValueKind = kind) => ({ how, value, kind: as, scale })
  switch (kind) {
    case 'text':
      if (typeof given !== 'string') break
      if (!isStorable(given)) return 'has a character that no text can have'
      if (choices !== undefined && !choices.includes(given))
        return `"${given}" is not one of its values${didYouMean(given, choices)}`
      return plain(isFolded(target) ? foldText(given) : given)
    case 'integer':
    case 'reference':
      if (typeof given === 'number') return plain(given, 'number')
      if (typeof given !== 'bigint') break
      return isSafe(given) ? plain(Number(given), 'integer') : TOO_LARGE
    case 'number':
      if (typeof given === 'number') return plain(given)
      if (typeof given !== 'bigint') break
      return isSafe(given) ? plain(Number(given)) : TOO_LARGE
    case 'decimal':
      if (typeof given === 'boolean') break
      return decimalComparison(how, typeof given === 'number' ? writtenOut(given) : String(given), scale)
    case 'boolean':
      if (typeof given !== 'boolean') break
      return plain(given)
    case 'date':
      return typeof given === 'string' && isDate(given) ? plain(given) : `must be ${names.date}`
    case 'datetime': {
      const instant = parseInstant(given)
      return instant === undefined ? `must be ${names.datetime}` : plain(instant)
    }
  }
  return `must be ${names[kind]}`
}

/** Whether an expression is a folded text. A literal beside it is folded too: otherwise it could never be equal. */
export function isFolded(expression: Expression): boolean {
  return expression.op === 'value' && isFoldedColumn(expression.place.column)
}

export const TOO_LARGE = 'is beyond 2^53'

function isSafe(given: bigint): boolean {
  return Number.isSafeInteger(Number(given))
}

/** A number with all its digits: JavaScript writes small ones with an exponent. */
function writtenOut(given: number): string {
  const [, sign = '', whole = '', fraction = '', places = ''] =
    /^(-?)(\d)(?:\.(\d+))?e-(\d+)$/.exec(String(given)) ?? []
  return places === '' ? String(given) : `${sign}0.${'0'.repeat(Number(places) - 1)}${whole}${fraction}`
}

/** A literal beside decimals, with the decimal places that were written; undefined if it is no decimal. */
export function decimalGiven(given: string | number): { value: string; scale: number } | undefined {
  const text = typeof given === 'number' ? writtenOut(given) : given
  const scale = text.split('.')[1]?.length ?? 0
  const exact = scale > SCALE_MAX ? undefined : parseDecimal(text, scale)
  return exact === undefined ? undefined : { value: formatDecimal(exact, scale), scale }
}

/** A literal with too many decimal places is compared as the next lower value that has few enough. */
function decimalComparison(how: Comparison, text: string, scale: number): LiteralComparison | string {
  const exact = parseDecimal(text, scale)
  if (exact !== undefined) return { how, value: formatDecimal(exact, scale), kind: 'decimal', scale }
  const [, whole = '', fraction = ''] = /^(-?\d+)\.(\d+)$/.exec(text) ?? []
  const cut = parseDecimal(scale === 0 ? whole : `${whole}.${fraction.slice(0, scale)}`, scale)
  if (cut === undefined || fraction === '') return `must be ${names.decimal}, within 18 digits`
  if (/^0*$/.test(fraction.slice(scale)))
    return { how, value: formatDecimal(cut, scale), kind: 'decimal', scale }
  if (how === '==' || how === '!=') return `has more than ${scale} decimal places`
  const lower = text.startsWith('-') ? cut - 1n : cut
  const adjusted = how === '<' || how === '<=' ? '<=' : '>'
  return { how: adjusted, value: formatDecimal(lower, scale), kind: 'decimal', scale }
}

/** A hundred years: longer durations are surely mistakes. */
export const DURATION_MAX = 100 * 366 * 86_400_000

/** `duration("1h30m")` in milliseconds; undefined if it is no duration. */
export function parseDuration(text: string): number | undefined {
  const units: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }
  if (!/^-?(\d+(\.\d+)?(h|ms|m|s))+$/.test(text)) return undefined
  let sum = 0
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g))
    sum += Number(number) * (units[unit ?? ''] ?? 0)
  const ms = Math.round(text.startsWith('-') ? -sum : sum)
  return Math.abs(ms) <= DURATION_MAX ? ms : undefined
}

/** How to round an instant to a date, so that a date can be compared with it by this operator. */
export function dayOf(how: Comparison): 'floor' | 'ceiling' | undefined {
  if (how === '<' || how === '>=') return 'ceiling'
  return how === '<=' || how === '>' ? 'floor' : undefined
}

/** The same for a known instant. Its day began before it, unless it is midnight. */
export function dayComparison(how: Comparison, instant: string): { how: Comparison; day: string } {
  const day = instant.slice(0, 10)
  if (instant === `${day}T00:00:00.000Z`) return { how, day }
  return { how: how === '<' || how === '<=' ? '<=' : '>', day }
}
