import { Failure } from '../errors.ts'

/** An id in a path; anything else is not found. */
export function parseId(text: string): number {
  if (!/^[1-9]\d{0,15}$/.test(text) || !Number.isSafeInteger(Number(text))) throw new Failure('not_found')
  return Number(text)
}
