import type { Column } from '../tables.ts'

/** The value at a dot path in an Entity's JSON. `undefined` if the key is missing: the field came later. */
export function journalledValue(data: unknown, path: string): unknown {
  let value = data
  for (const name of path.split('.')) {
    // If an object or a reference is null, so is everything in it.
    if (value === null) return null
    if (typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

/**
 * Whether a value matches the one in the journal. Migrations change rows without a change in the journal, so some
 * differences are accepted: a field that came later, a default for an empty value, the same value in another type.
 */
export function isAsJournalled({ kind, fill }: Column, journalled: unknown, held: unknown): boolean {
  if (journalled === undefined) return true
  if (kind === 'presence') return (journalled !== null) === (held !== null)
  if (Bun.deepEquals(journalled, held)) return true
  if (journalled === null) return fill !== undefined
  if (kind === 'json' || held === null || typeof journalled === 'object') return false
  if (String(journalled) === String(held)) return true
  // A text may have been a decimal.
  return (kind === 'decimal' || kind === 'text') && isSameNumber(String(journalled), String(held))
}

/** Whether two texts are numbers that differ only by zeros at the end. */
function isSameNumber(a: string, b: string): boolean {
  if (![a, b].every((text) => /^-?\d+(\.\d+)?$/.test(text))) return false
  const plain = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text)
  return plain(a) === plain(b)
}
