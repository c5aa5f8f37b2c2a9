import type { Errors } from '../errors.ts'
import { didYouMean } from './closest.ts'
import type { Check, OptionCheck } from './fields/field.ts'
import type { Problems } from './problems.ts'

/** The place of a field that is being resolved. */
export interface FieldPlace {
  /** The place in the declaration, for messages. */
  readonly path: string
  /** The dot path of the object that the fields are in; empty at the top. */
  readonly dotPath: string
  /** The declared Entity types, which a reference may name. */
  readonly names: readonly string[]
  readonly taken: readonly string[]
  readonly inList: boolean
  /** The dot path of the list item that may have a reference. Elsewhere in a list, references are refused. */
  readonly linking?: string
}

export function dotted(prefix: string, name: string): string {
  return prefix === '' ? name : `${prefix}.${name}`
}

/** Checks the default and the example like any value. */
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

/** Refuses unknown options and wrong values of options. */
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
