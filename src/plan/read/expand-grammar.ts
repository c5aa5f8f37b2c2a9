import { didYouMean } from '../../declare/closest.ts'
import { addError, type Errors } from '../../errors.ts'
import { imbalanceIn, lengthUntilClosed, splitOutside } from './brackets.ts'

/** The options in the parentheses of an expansion. */
export const EXPAND_OPTIONS = ['filter', 'sort', 'limit', 'fields', 'expand'] as const

export type ExpandOptionName = (typeof EXPAND_OPTIONS)[number]

/** One item of `expand`: a path, and the texts of its options. */
export interface ExpandItem {
  readonly path: string
  readonly options: ReadonlyMap<ExpandOptionName, string> | undefined
}

/** Parses `tasks(filter=status == "open";limit=5),project`. Wrong items are reported at `expand` and left out. */
export function parseItems(text: string, errors: Errors): ExpandItem[] {
  const problem = imbalanceIn(text)
  if (problem !== undefined) {
    addError(errors, 'expand', problem)
    return []
  }
  return splitOutside(text, ',').flatMap((item) => parseItem(item, errors) ?? [])
}

function parseItem(item: string, errors: Errors): ExpandItem | undefined {
  const opened = item.indexOf('(')
  if (opened < 0) return { path: item, options: undefined }
  const path = item.slice(0, opened)
  const closed = opened + lengthUntilClosed(item.slice(opened))
  const rest = item.slice(closed)
  if (rest !== '') {
    const inner = rest.startsWith('.') ? `: write "${path}(…;expand=${rest.slice(1)})"` : ''
    return addError(errors, 'expand', `"${rest}" cannot follow the options of "${path}"${inner}`)
  }
  const options = parseOptions(path, item.slice(opened + 1, closed - 1), errors)
  return options === undefined ? undefined : { path, options }
}

function parseOptions(path: string, text: string, errors: Errors): ExpandItem['options'] {
  const options = new Map<ExpandOptionName, string>()
  const all = EXPAND_OPTIONS.join(', ')
  for (const option of splitOutside(text, ';')) {
    const at = option.indexOf('=')
    const name = (at < 0 ? option : option.slice(0, at)).trim()
    const known = EXPAND_OPTIONS.find((one) => one === name)
    if (known === undefined)
      return addError(
        errors,
        'expand',
        () => `"${name}" is not an option of "${path}": ${all}${didYouMean(name, EXPAND_OPTIONS)}`,
      )
    if (at < 0) return addError(errors, 'expand', `${name} of "${path}" needs a value: write ${name}=…`)
    if (options.has(known)) return addError(errors, 'expand', `"${path}" has ${name} more than once`)
    options.set(known, option.slice(at + 1).trim())
  }
  return options
}
