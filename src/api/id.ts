import { Failure } from '../errors.ts'

/** An id in a path; what is no id is not there. */
export function parseId(text: string): number {
  if (!/^[1-9]\d{0,15}$/.test(text) || !Number.isSafeInteger(Number(text))) throw new Failure('not_found')
  return Number(text)
}
