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
  if (typeof value === 'string') return fillInText(value, path, filling)
  const at = (key: string | number) => (path === '' ? String(key) : `${path}.${key}`)
  if (Array.isArray(value)) return value.map((one, place) => fillIn(one, at(place), filling))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fillIn(one, at(key), filling)]))
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
