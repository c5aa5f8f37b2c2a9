import type { RE2JS } from 're2js'
import { addError, type Errors } from '../../errors.ts'
import { normalPattern } from '../cel/pattern.ts'
import type { CelValue } from '../server-value.ts'
import {
  aBoolean,
  aCount,
  aValue,
  common,
  type FieldOptions,
  type FieldType,
  minAboveMax,
  type OptionCheck,
} from './field.ts'

export interface TextOptions extends FieldOptions {
  /** The minimum number of characters. */
  readonly min?: number
  /** The maximum number of characters. */
  readonly max?: number
  /** A regular expression, in the same language as `matches()` in a rule. It matches anywhere unless it is anchored. */
  readonly pattern?: string
  readonly unique?: boolean
  /** Whether `?search=` finds its words. */
  readonly search?: boolean
  /** Whether rules, filters and indexes can use `fold(…)` of it, which ignores capitals and accents. */
  readonly fold?: boolean
  /** `'fold'`: sorts ignore capitals and accents. Includes `fold`. */
  readonly sort?: 'fold'
  readonly default?: string | CelValue
}
export interface AddressOptions extends FieldOptions {
  readonly unique?: boolean
  /** Whether `?search=` finds its words. */
  readonly search?: boolean
  readonly default?: string | CelValue
}
export interface ChoiceOptions<Value extends string = string> extends FieldOptions {
  readonly unique?: boolean
  /** Whether `?search=` finds its words. */
  readonly search?: boolean
  readonly default?: Value | CelValue
  readonly example?: Value
}
export interface TextDeclaration extends TextOptions {
  readonly type: 'text'
}
export interface EmailDeclaration extends AddressOptions {
  readonly type: 'email'
}
export interface UrlDeclaration extends AddressOptions {
  readonly type: 'url'
}
export interface ChoiceDeclaration extends ChoiceOptions {
  readonly type: 'choice'
  readonly values: readonly string[]
}

/** Whether every database can store a text unchanged: no NUL, no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

/** Checks that a value is a text that can be stored. */
export function storable(value: unknown, path: string, errors: Errors): value is string {
  if (typeof value !== 'string') addError(errors, path, 'must be a text')
  else if (value.includes('\0')) addError(errors, path, 'must not contain the character U+0000')
  else if (!value.isWellFormed()) addError(errors, path, 'must not contain half of a surrogate pair')
  else return true
  return false
}

/** Characters are code points, as in JSON Schema. They are counted only if the number of UTF-16 units does not decide. */
function lengthFault(value: string, min: number, max: number): 'short' | 'long' | undefined {
  if (value.length < min) return 'short'
  if (value.length <= max && value.length >= min * 2) return undefined
  const length = value.length > max * 2 ? value.length : [...value].length
  return length < min ? 'short' : length > max ? 'long' : undefined
}

const aPattern: OptionCheck = (value) => {
  if (typeof value !== 'string') return 'must be a text with a regular expression'
  const normal = normalPattern(value, { limited: false })
  return 'problem' in normal
    ? `is not a valid pattern: ${normal.problem} (character ${normal.at + 1})`
    : undefined
}

/**
 * Compiles a pattern. The language is that of `matches` without its limits, since this runs only once per written
 * value. The package is slow to load, so it is loaded with the first pattern.
 */
function expressionOf(pattern: string): RE2JS {
  const { RE2JS } = require('re2js') as typeof import('re2js')
  const normal = normalPattern(pattern, { limited: false })
  return RE2JS.compile('pattern' in normal ? normal.pattern : pattern)
}

/** The options of all kinds of text. */
const ofTexts = { unique: aBoolean, search: aBoolean, default: aValue }

const aSort: OptionCheck = (value) =>
  value === 'fold' ? undefined : "must be 'fold', to ignore capitals and accents when sorting"

const countOfCharacters = (count: number) => (count === 1 ? '1 character' : `${count} characters`)

export const textType: FieldType<TextDeclaration> = {
  column: 'text',
  options: {
    ...common,
    min: aCount,
    max: aCount,
    pattern: aPattern,
    fold: aBoolean,
    sort: aSort,
    ...ofTexts,
  },
  conflict: minAboveMax,
  check({ min = 0, max = Number.POSITIVE_INFINITY, pattern }) {
    let matching: RE2JS | undefined
    const isFound = (value: string, wanted: string) => {
      matching ??= expressionOf(wanted)
      return matching.matcher(value).find()
    }
    return (value, path, errors) => {
      if (!storable(value, path, errors)) return undefined
      const misfit = lengthFault(value, min, max)
      if (misfit === 'short') addError(errors, path, `must have at least ${countOfCharacters(min)}`)
      else if (misfit === 'long') addError(errors, path, `must have at most ${countOfCharacters(max)}`)
      else if (pattern !== undefined && !isFound(value, pattern))
        addError(errors, path, `must match the pattern ${pattern}`)
      return value
    }
  },
  schema: ({ min, max, pattern }) => ({
    type: 'string',
    ...(min !== undefined && { minLength: min }),
    ...(max !== undefined && { maxLength: max }),
    ...(pattern !== undefined && { pattern }),
  }),
}

const EMAIL_MAX = 254
const LABEL = /^[\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u

/** Accepts what mail can be sent to, not all of RFC 5322: one `@`, a plain local part, and a host name. */
export function isEmail(value: string): boolean {
  if (value.length > EMAIL_MAX) return false
  const at = value.lastIndexOf('@')
  const local = value.slice(0, at)
  if (at < 1 || at > 64 || !/^[^\s@<>()[\]\\,;:"\p{Cc}\p{Cf}]+$/u.test(local)) return false
  return value
    .slice(at + 1)
    .split('.')
    .every((label) => LABEL.test(label))
}

export const emailType: FieldType<EmailDeclaration> = {
  column: 'text',
  options: { ...common, ...ofTexts },
  check: () => (value, path, errors) => {
    if (!storable(value, path, errors)) return undefined
    if (!isEmail(value)) addError(errors, path, 'must be an e-mail address')
    return value
  },
  schema: () => ({ type: 'string', format: 'email', maxLength: EMAIL_MAX }),
}

const URL_MAX = 2048

export const urlType: FieldType<UrlDeclaration> = {
  column: 'text',
  options: { ...common, ...ofTexts },
  check: () => (value, path, errors) => {
    if (!storable(value, path, errors)) return undefined
    if (value.length > URL_MAX) addError(errors, path, `must have at most ${URL_MAX} characters`)
    else if (!/^https?:\/\/[^\s]+$/i.test(value) || !URL.canParse(value))
      addError(errors, path, 'must be an address that starts with http:// or https://')
    return value
  },
  schema: () => ({ type: 'string', format: 'uri', maxLength: URL_MAX }),
}

const someTexts: OptionCheck = (value) =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((one) => typeof one === 'string' && storable(one, '', new Map())) &&
  new Set(value).size === value.length
    ? undefined
    : 'must be a list of one or more different texts'

export const choiceType: FieldType<ChoiceDeclaration> = {
  column: 'text',
  options: { ...common, values: someTexts, ...ofTexts },
  check({ values }) {
    const allowed = new Set<unknown>(values)
    const sentence = `must be one of ${values.join(', ')}`
    return (value, path, errors) => {
      if (!allowed.has(value)) addError(errors, path, sentence)
      return value
    }
  },
  schema: ({ values }) => ({ type: 'string', enum: values }),
}
