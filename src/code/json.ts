import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'

/** Converts a value as if it had been sent as JSON: a Date becomes a text, `undefined` is left out. */
export function asSent(value: unknown): unknown {
  const text = toJson(value)
  if (text === undefined) return undefined
  if (text.length > budget.bodyBytes && Buffer.byteLength(text) > budget.bodyBytes)
    throw new Failure('too_large')
  const sent: unknown = JSON.parse(text)
  refuseDeep(sent, 1)
  return sent
}

/** Throws for an object whose values JSON does not have: a Response or a Map would become `{}`. */
export function toJson(value: unknown): string | undefined {
  const text: string | undefined = JSON.stringify(value)
  if (text === '{}' && isOpaque(value)) throw new TypeError(`there is no JSON of a ${value.constructor.name}`)
  return text
}

function isOpaque(value: unknown): value is object {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype !== null && prototype !== Object.prototype && !('toJSON' in Object(value))
}

function refuseDeep(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > budget.bodyDepth) throw new Failure('too_deep')
  for (const one of Object.values(value)) refuseDeep(one, depth + 1)
}
