/** RFC 7396: objects are merged key by key, `null` takes a key away, all else takes the place of what was there. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged = new Map<string, unknown>(isObject(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch))
    if (value === null) merged.delete(key)
    else merged.set(key, mergePatch(merged.get(key), value))
  return Object.fromEntries(merged)
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What stands at a dot path, and the same with something else there. */
export function valueAt(values: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce((at: unknown, name) => (isObject(at) ? new Map(Object.entries(at)).get(name) : undefined), values)
}

export function withValueAt(values: unknown, path: string, value: unknown): unknown {
  const [name = '', ...rest] = path.split('.')
  const inner = rest.length === 0 ? value : withValueAt(valueAt(values, name), rest.join('.'), value)
  return { ...(isObject(values) ? values : {}), [name]: inner }
}
