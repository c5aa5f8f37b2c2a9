import type { Errors } from '../../errors.ts'
import { isRule, type Rule } from '../rule.ts'

/** The kinds of column that a Store must be able to hold. */
export type ColumnKind =
  | 'text'
  | 'integer'
  | 'number'
  | 'decimal'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'json'
  | 'reference'
  | 'presence'

/** Checks one value of a body: reports errors, and returns the normalised value. */
export type Check = (value: unknown, path: string, errors: Errors) => unknown

export type JsonSchema = { readonly [key: string]: unknown }

/** Texts for people, in the OpenAPI document and on `/docs`. They change nothing else. */
export interface Labelled {
  /** The name for people: `Check-in` for `starts_at`. */
  readonly label?: string
  /** The meaning, in a sentence or two. */
  readonly description?: string
}

/** Who can see and set a field, besides the rules of its type. */
export interface FieldRules extends Labelled {
  /** The field is hidden where this rule does not hold. */
  readonly read?: Rule
  /** The field cannot be set where this rule does not hold. */
  readonly write?: Rule
}

export interface FieldOptions extends FieldRules {
  /** May be left out; it is then `null`. */
  readonly optional?: boolean
  /** A sample value for the OpenAPI document, the docs and the tour of the first start. */
  readonly example?: unknown
  /** Its old name: a rename keeps the data. */
  readonly was?: string
}

/** Returns what an option must be, or undefined if it is right. */
export type OptionCheck = (value: unknown) => string | undefined

/** Everything about one type of field that has a single column. */
export interface FieldType<Declaration> {
  readonly column: ColumnKind
  readonly options: Readonly<Record<string, OptionCheck>>
  /** Reports options that do not go together. */
  conflict?(declaration: Declaration): [option: string, sentence: string] | undefined
  check(declaration: Declaration): Check
  schema(declaration: Declaration): JsonSchema
}

export const aBoolean: OptionCheck = (value) =>
  typeof value === 'boolean' ? undefined : 'must be true or false'

export const aCount: OptionCheck = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? undefined : 'must be a whole number from 0'

export const anInteger: OptionCheck = (value) =>
  Number.isSafeInteger(value) ? undefined : 'must be a whole number within ±(2^53 - 1)'

export const aNumber: OptionCheck = (value) => (Number.isFinite(value) ? undefined : 'must be a number')

/** Accepts anything: defaults and examples are checked when the field is resolved. */
export const aValue: OptionCheck = () => undefined

/** The pattern for field names. */
export const FIELD_NAME = /^[A-Za-z][A-Za-z0-9_]*$/

export const aName: OptionCheck = (value) =>
  typeof value === 'string' && FIELD_NAME.test(value) ? undefined : 'must be its old name'

const aRule: OptionCheck = (value) =>
  isRule(value)
    ? undefined
    : 'must be everyone, signedIn or a condition in CEL, such as \'me.type == "staff"\''

const LABEL_MAX = 100
const DESCRIPTION_MAX = 2000

const aTextOf =
  (max: number): OptionCheck =>
  (value) =>
    typeof value === 'string' && value.trim() !== '' && value.length <= max && value.isWellFormed()
      ? undefined
      : `must be a text of 1 to ${max} characters`

const SENTENCE_MAX = 200

/** The check of an error message. */
export const aSentence = aTextOf(SENTENCE_MAX)

/** The checks of `Labelled`. */
export const labels = { label: aTextOf(LABEL_MAX), description: aTextOf(DESCRIPTION_MAX) }

export const rules = { read: aRule, write: aRule, ...labels }

export const common = { optional: aBoolean, example: aValue, was: aName, ...rules }

export function minAboveMax(declaration: { min?: number; max?: number }): [string, string] | undefined {
  return declaration.min !== undefined && declaration.max !== undefined && declaration.min > declaration.max
    ? ['min', `must not be above max, which is ${declaration.max}`]
    : undefined
}
