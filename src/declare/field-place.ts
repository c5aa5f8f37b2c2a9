import type { Errors } from '../errors.ts'
import { didYouMean } from './closest.ts'
import type { Check, OptionCheck } from './fields/field.ts'
import type { Problems } from './problems.ts'

/** The place of a field that is being resolved. */
export interface FieldPlace {
  /** Where in the declaration, for reports. */
  readonly path: string
  /** The dot path of the object that the fields are in; empty at the top. */
  readonly dotPath: string
  /** The declared Entity types, which a reference may name. */
  readonly names: readonly string[]
  readonly taken: readonly string[]
  readonly inList: boolean
  /** The dot path of an object whose fields may include one reference although it is an item of a list. */
  readonly linking?: string
}

export function dotted(prefix: string, name: string): string {
  return prefix === '' ? name : `${prefix}.${name}`
}

/** The default and the example are values, too. */
export function checkGivenValues(
  declaration: { readonly default?: unknown; readonly example?: unknown },
  check: Check,
  path: string,
  problems: Problems,
): void {
  for (const option of ['default', 'example'] as const) {
    const value = declaration[option]
    if (value === undefined) continue
    const errors: Errors = new Map()
    check(value, option, errors)
    for (const [at, sentences] of errors) problems.push([`${path}.${at}`, sentences.join(', ')])
  }
}

/** All options must be known, and each what it must be. */
export function checkOptions(
  declaration: object,
  known: Readonly<Record<string, OptionCheck>>,
  path: string,
  problems: Problems,
): void {
  for (const [option, value] of Object.entries(declaration)) {
    if (option === 'type' || value === undefined) continue
    const check = Object.hasOwn(known, option) ? known[option] : undefined
    const names = Object.keys(known)
    const sentence =
      check === undefined
        ? option === 'search'
          ? 'is only possible for text, email, url and choice'
          : `is not an option here${didYouMean(option, names)}; the options are ${names.join(', ')}`
        : check(value)
    if (sentence !== undefined) problems.push([`${path}.${option}`, sentence])
  }
}
