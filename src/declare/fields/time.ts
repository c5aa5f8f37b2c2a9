import { addError } from '../../errors.ts'
import type { CelValue, NowValue } from '../server-value.ts'
import { aBoolean, aValue, common, type FieldOptions, type FieldType } from './field.ts'

export interface TimeOptions extends FieldOptions {
  readonly unique?: boolean
  readonly default?: string | NowValue | CelValue
}
export interface DateDeclaration extends TimeOptions {
  readonly type: 'date'
}
export interface DatetimeDeclaration extends TimeOptions {
  readonly type: 'datetime'
}

const options = { ...common, unique: aBoolean, default: aValue }
const DATE = /^\d{4}-\d{2}-\d{2}$/
/** RFC 3339, section 5.6. Digits beyond milliseconds must be zero. */
const DATETIME =
  /^\d{4}-\d{2}-\d{2}[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,3}0*)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

export function isDate(value: string): boolean {
  return DATE.test(value) && beginsWithDay(value)
}

/** Whether the day at the beginning of a text exists. */
function beginsWithDay(value: string): boolean {
  const [year, month, day] = [
    Number(value.slice(0, 4)),
    Number(value.slice(5, 7)),
    Number(value.slice(8, 10)),
  ]
  return year > 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** The instant in UTC with milliseconds; undefined if the value is not a time. */
export function parseInstant(value: unknown): string | undefined {
  if (typeof value !== 'string' || !DATETIME.test(value) || !beginsWithDay(value)) return undefined
  // This is the stored form, which answers have and most clients send.
  if (value.length === 24 && value[10] === 'T' && value.endsWith('Z')) return value
  const instant = new Date(value.toUpperCase())
  const text = Number.isNaN(instant.getTime()) ? '' : instant.toISOString()
  return text.length === 24 && text > '0001' ? text : undefined
}

export const dateType: FieldType<DateDeclaration> = {
  column: 'date',
  options,
  check: () => (value, path, errors) => {
    if (typeof value === 'string' && isDate(value)) return value
    return addError(errors, path, 'must be a date, such as "2026-12-31"')
  },
  schema: () => ({ type: 'string', format: 'date' }),
}

export const datetimeType: FieldType<DatetimeDeclaration> = {
  column: 'datetime',
  options,
  check: () => (value, path, errors) => {
    const instant = parseInstant(value)
    if (instant === undefined)
      addError(
        errors,
        path,
        'must be a time with a zone and at most milliseconds, such as "2026-12-31T18:00:00Z"',
      )
    return instant
  },
  schema: () => ({ type: 'string', format: 'date-time' }),
}
