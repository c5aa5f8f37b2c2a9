import { addError, type Errors, Failure } from '../errors.ts'

const ID = /^[1-9]\d{0,15}$/

/** Reads an id in a path. Anything else is not found. */
export function parseId(text: string): number {
  if (!ID.test(text) || !Number.isSafeInteger(Number(text))) throw new Failure('not_found')
  return Number(text)
}

/** Reads the cursor of a list by id: the id of the last Entity that was shown. Adds an error if it is invalid. */
export function openIdCursor(text: string | undefined, errors: Errors): number | undefined {
  if (text === undefined) return undefined
  return ID.test(text) ? Number(text) : addError(errors, 'cursor', 'is not a cursor of this list')
}

/** Makes a page of a list by id. One item more than is shown was read. */
export function idPage<T extends { readonly id: number }>(
  found: readonly T[],
  limit: number,
): { readonly shown: readonly T[]; readonly next: string | null } {
  const shown = found.slice(0, limit)
  return { shown, next: found.length > limit ? String(shown.at(-1)?.id) : null }
}
