import { isRecord } from '../declare/record.ts'
import { type Errors, note } from '../errors.ts'

/** A name first: `$5.00` is a price. */
const REFERENCE = /^\$(0|[1-9]\d{0,3})\.([A-Za-z_]\w*(?:\.\w+)*)$/
const ESCAPED = /^\$\$+(?:0|[1-9]\d{0,3})\.[A-Za-z_]\w*(?:\.\w+)*$/

/** What earlier parts have answered, as JSON has it; undefined where one has no body. */
export type Answered = readonly { readonly value: unknown }[]

/**
 * A value in which texts such as `$0.id` stand for what an earlier part has answered, with these in their place.
 * `$$0.id` is the text `$0.id`; any other text is just that.
 */
export function fillIn(value: unknown, answered: Answered, path: string, errors: Errors): unknown {
  if (typeof value === 'string') return fillInText(value, answered, path, errors)
  const at = (key: string | number) => (path === '' ? String(key) : `${path}.${key}`)
  if (Array.isArray(value)) return value.map((one, place) => fillIn(one, answered, at(place), errors))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, fillIn(one, answered, at(key), errors)]),
  )
}

export function fillInText(text: string, answered: Answered, path: string, errors: Errors): unknown {
  if (!text.startsWith('$')) return text
  const [, part, names = ''] = REFERENCE.exec(text) ?? []
  if (part === undefined) return ESCAPED.test(text) ? text.slice(1) : text
  const answer = answered[Number(part)]
  if (answer === undefined) return note(errors, path, `refers to part ${part}, which is not an earlier one`)
  const found = names.split('.').reduce(step, answer.value)
  return found === undefined ? note(errors, path, `refers to what part ${part} has not answered`) : found
}

/** Only what JSON has: a list's `length` is its own too, but does not stand in the answer. */
function step(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const isThere = Object.prototype.propertyIsEnumerable.call(value, name)
  return isThere ? (value as Record<string, unknown>)[name] : undefined
}
