import type { Field } from '../../declare/model.ts'
import { isRecord } from '../../declare/record.ts'
import { defaultOf, isRequired, type Values } from '../../declare/values.ts'
import { addError, type Errors } from '../../errors.ts'

/** RFC 7396: objects are merged key by key, `null` removes a key, anything else replaces the old value. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch
  const merged = new Map(isRecord(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch))
    if (value === null) merged.delete(key)
    else merged.set(key, mergePatch(merged.get(key), value))
  return Object.fromEntries(merged)
}

/** Returns the value at a dot path. */
export function valueAt(values: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), values)
}

/** Returns a copy with another value at a dot path of the Model. */
export function withValueAt(values: object, path: string, value: unknown): object {
  const [name = '', ...rest] = path.split('.')
  const inner = valueAt(values, name)
  return {
    ...values,
    [name]: rest.length === 0 ? value : withValueAt(isRecord(inner) ? inner : {}, rest.join('.'), value),
  }
}

/**
 * Merges the checked values of a PATCH into an Entity, or an object in it, as the statement of a single PATCH does. An
 * object that was `null` is created: absent keys get their default or `null`.
 */
export function mergeValues(
  fields: readonly Field[],
  state: unknown,
  values: Values,
  errors: Errors,
): Record<string, unknown> {
  const now = isRecord(state) ? state : undefined
  const next: Record<string, unknown> = { ...now }
  for (const field of fields) {
    const { name } = field
    const sent = Object.hasOwn(values, name) ? values[name] : undefined
    if (sent === undefined) {
      if (now === undefined) next[name] = firstValue(field, errors)
    } else if (field.kind === 'object' && isRecord(sent))
      next[name] = mergeValues(field.fields, now?.[name], sent, errors)
    else if (field.kind === 'value' && field.type === 'json') next[name] = mergePatch(now?.[name], sent)
    else next[name] = sent
  }
  return next
}

function firstValue(field: Field, errors: Errors): unknown {
  if (field.kind === 'object') return field.optional ? null : mergeValues(field.fields, undefined, {}, errors)
  return isRequired(field) ? addError(errors, field.path, 'is required') : (defaultOf(field) ?? null)
}
