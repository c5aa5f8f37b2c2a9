import { type Errors, Failure, note } from '../errors.ts'

const ID = /^[1-9]\d{0,15}$/

/** An id in a path; anything else is not found. */
export function parseId(text: string): number {
  if (!ID.test(text) || !Number.isSafeInteger(Number(text))) throw new Failure('not_found')
  return Number(text)
}

/** A cursor of a list by id: the id of the last one that was shown. Notes what is none. */
export function openIdCursor(text: string | undefined, errors: Errors): number | undefined {
  if (text === undefined) return undefined
  return ID.test(text) ? Number(text) : note(errors, 'cursor', 'is not a cursor of this list')
}

/** A page of a list by id, of which one more was read than is shown. */
export function idPage<T extends { readonly id: number }>(
  found: readonly T[],
  limit: number,
): { readonly shown: readonly T[]; readonly next: string | null } {
  const shown = found.slice(0, limit)
  return { shown, next: found.length > limit ? String(shown.at(-1)?.id) : null }
}
