import type { JsonSchema } from '../../declare/fields/field.ts'
import type { Column } from '../tables.ts'

/** Whether every value that met the old limits also meets the new ones. If that is unknown, the rows are checked. */
export function isWider(before: JsonSchema | undefined, after: JsonSchema): boolean {
  if (before === undefined) return false
  return Object.entries(after).every(([key, limit]) => {
    const old = before[key]
    if (Bun.deepEquals(old, limit)) return true
    if (key === 'enum') return isSubset(old, limit)
    if (typeof old !== 'number' || typeof limit !== 'number') return false
    return key.startsWith('min') ? old >= limit : key.startsWith('max') && old <= limit
  })
}

function isSubset(old: unknown, limit: unknown): boolean {
  return Array.isArray(old) && Array.isArray(limit) && old.every((one) => limit.includes(one))
}

/** The conversions between kinds of values, as JSON. All others would be guesses. */
const conversions: Readonly<Record<string, (value: unknown) => unknown>> = {
  'integer number': (value) => value,
  'integer decimal': String,
  'integer text': String,
  'decimal decimal': (value) => value,
  'decimal text': (value) => value,
  'date text': (value) => value,
  'datetime text': (value) => value,
}

export function conversion(from: Column, to: Column): ((value: unknown) => unknown) | undefined {
  const plain = !from.secret && !to.secret
  const narrower = from.kind === 'decimal' && to.kind === 'decimal' && (from.scale ?? 0) > (to.scale ?? 0)
  return plain && !narrower ? conversions[`${from.kind} ${to.kind}`] : undefined
}

/** The content of a column in words. It differs if values could not be read as before. */
export function contentOf({ kind, references, links, member, scale, secret }: Column): string {
  if (links !== undefined && member !== undefined)
    return `lists of objects that refer to ${links} by ${member}`
  if (links !== undefined) return `lists of references to ${links}`
  if (references !== undefined) return `references to ${references}`
  if (secret) return 'secrets'
  return kind === 'decimal' ? `decimals with ${scale} decimal places` : `values of the type ${kind}`
}
