import { isRecord } from '../declare/record.ts'

/** RFC 7396: objects are merged key by key, `null` removes a key, anything else replaces the old value. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch
  const merged = new Map(isRecord(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch))
    if (value === null) merged.delete(key)
    else merged.set(key, mergePatch(merged.get(key), value))
  return Object.fromEntries(merged)
}

/** The value at a dot path. */
export function valueAt(values: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), values)
}

/** A copy with another value at a dot path of the Model. */
export function withValueAt(values: object, path: string, value: unknown): object {
  const [name = '', ...rest] = path.split('.')
  const inner = valueAt(values, name)
  return {
    ...values,
    [name]: rest.length === 0 ? value : withValueAt(isRecord(inner) ? inner : {}, rest.join('.'), value),
  }
}
