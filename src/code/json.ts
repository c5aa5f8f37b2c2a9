import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'

/** Converts a value as if it had been sent as JSON: a Date becomes a text, `undefined` is left out. */
export function asSent(value: unknown): unknown {
  const text = JSON.stringify(value)
  if (text === undefined) return undefined
  if (text.length > budget.bodyBytes && Buffer.byteLength(text) > budget.bodyBytes)
    throw new Failure('too_large')
  const sent: unknown = JSON.parse(text)
  refuseDeep(sent, 1)
  return sent
}

function refuseDeep(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > budget.bodyDepth) throw new Failure('too_deep')
  for (const one of Object.values(value)) refuseDeep(one, depth + 1)
}
