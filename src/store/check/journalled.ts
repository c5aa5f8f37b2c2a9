import type { Column } from '../tables.ts'

/** The value at a dot path in an Entity's JSON. `undefined` where it has no such key: the field came later. */
export function journalledValue(data: unknown, path: string): unknown {
  let value = data
  for (const name of path.split('.')) {
    // An object or a reference that is not there: nothing in it is.
    if (value === null) return null
    if (typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

/**
 * Whether a value is the one in the journal. Migrations change rows without a change in the journal, so some differences
 * are none: a field that came later, a default for what was empty, the same value in another type.
 */
export function isAsJournalled({ kind, fill }: Column, journalled: unknown, held: unknown): boolean {
  if (journalled === undefined) return true
  if (kind === 'presence') return (journalled !== null) === (held !== null)
  if (Bun.deepEquals(journalled, held)) return true
  if (journalled === null) return fill !== undefined
  if (kind === 'json' || held === null || typeof journalled === 'object') return false
  return (
    String(journalled) === String(held) ||
    (kind === 'decimal' && isSameNumber(String(journalled), String(held)))
  )
}

/** The same number, with more or fewer zeros at its end. */
function isSameNumber(a: string, b: string): boolean {
  const plain = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text)
  return plain(a) === plain(b)
}
