import { budget } from '../../budget.ts'
import { isRecord } from '../../declare/record.ts'
import { addError, type Errors, Failure } from '../../errors.ts'

/** A name must follow the number: `$5.00` is a price. */
const REFERENCE = /^\$(0|[1-9]\d{0,3})\.([A-Za-z_]\w*(?:\.\w+)*)$/
const ESCAPED = /^\$\$+(?:0|[1-9]\d{0,3})\.[A-Za-z_]\w*(?:\.\w+)*$/

/** Whether a text refers to a value in the answer of an earlier part. */
export function isPartReference(text: string): boolean {
  return REFERENCE.test(text)
}

/** The answers of earlier parts, parsed; undefined if one has no body. */
export type Answered = readonly { readonly value: unknown }[]

/** How many more bytes a batch may grow by filling in references. */
export class Allowance {
  #left: number | undefined
  readonly #sent: unknown

  constructor(sent: unknown) {
    this.#sent = sent
  }

  /** Most references are to an id, which is about as long. The batch is measured only for others. */
  take(value: unknown): void {
    if (typeof value === 'number') return
    this.#left ??= budget.bodyBytes - jsonBytes(this.#sent)
    this.#left -= jsonBytes(value)
    if (this.#left < 0) throw new Failure('too_large')
  }
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** The answers that references are filled in from, and the errors. */
export interface Filling {
  readonly answered: Answered
  readonly errors: Errors
  readonly allowance: Allowance
}

/**
 * Replaces texts such as `$0.id` by that value in the answer of an earlier part. `$$0.id` is the text `$0.id`. Other
 * texts stay as they are.
 */
export function fillIn(value: unknown, path: string, filling: Filling): unknown {
  return withTexts(value, path, (text, at) => fillInText(text, at, filling))
}

/** The same after a hook, which has seen all other texts as they are to be written. */
export function fillInIds(value: unknown, filling: Filling): unknown {
  return withTexts(value, '', (text, at) => (isIdPath(at) ? fillInText(text, at, filling) : text))
}

/**
 * Converts a body for a hook. A hook must see the values that it allows, so that only the id of an Entity that an
 * earlier part creates can be a reference. `creates`: which earlier parts do.
 */
export function bodyForHook(body: unknown, creates: readonly boolean[], errors: Errors): unknown {
  return withTexts(body, '', (text, at) => {
    const [, part, names] = REFERENCE.exec(text) ?? []
    if (isIdPath(at) && (part === undefined || (names === 'id' && creates[Number(part)]))) return text
    if (part === undefined) return ESCAPED.test(text) ? text.slice(1) : text
    return addError(errors, at, 'must be a value: code runs before this part, and must see it')
  })
}

/** Replaces references by ids that no Entity has, so that a body can be checked before they are known. */
export function withStandIns(body: unknown): unknown {
  return withTexts(body, '', (text, at) => {
    const [, part] = (isIdPath(at) && REFERENCE.exec(text)) || []
    return part === undefined ? text : Number.MAX_SAFE_INTEGER - Number(part)
  })
}

function isIdPath(path: string): boolean {
  return path.endsWith('.id')
}

/** Returns a copy of a JSON value with other values in place of its texts. */
function withTexts(value: unknown, path: string, change: (text: string, path: string) => unknown): unknown {
  if (typeof value === 'string') return change(value, path)
  const at = (key: string | number) => (path === '' ? String(key) : `${path}.${key}`)
  if (Array.isArray(value)) return value.map((one, place) => withTexts(one, at(place), change))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withTexts(one, at(key), change)]))
}

export function fillInText(text: string, path: string, { answered, errors, allowance }: Filling): unknown {
  if (!text.startsWith('$')) return text
  const [, part, names = ''] = REFERENCE.exec(text) ?? []
  if (part === undefined) return ESCAPED.test(text) ? text.slice(1) : text
  const answer = answered[Number(part)]
  if (answer === undefined)
    return addError(errors, path, `refers to part ${part}, which is not an earlier part`)
  const found = names.split('.').reduce(memberAt, answer.value)
  if (found === undefined)
    return addError(errors, path, `refers to a value that is not in the answer of part ${part}`)
  allowance.take(found)
  return found
}

/** Reads only members of the JSON: a list also has its own `length`. */
function memberAt(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const isThere = Object.prototype.propertyIsEnumerable.call(value, name)
  return isThere ? (value as Record<string, unknown>)[name] : undefined
}
