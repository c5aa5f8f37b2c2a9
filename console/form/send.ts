import {
  type Draft,
  type DraftObject,
  isList,
  isObject,
  isRef,
  type Kind,
  type Named,
  same,
} from './draft.ts'
import { canMerge, mergePatch, parseJson } from './json-text.ts'

/** Returns the value of an input; undefined if it is empty. An invalid value is sent as typed: the API says why. */
export function sentValue(kind: Kind, draft: Draft): unknown {
  if (isRef(draft)) return { id: draft.ref }
  if (isList(draft)) return draft.items.map(({ value }) => itemValue(kind.items, value))
  if (isObject(draft)) return bodyOf(kind.fields ?? [], draft)
  if (draft === null || draft === '') return undefined
  if (typeof draft === 'boolean') return draft
  return typedValue(kind.type, draft)
}

function itemValue(kind: Kind | undefined, draft: Draft): unknown {
  const value = kind === undefined ? undefined : sentValue(kind, draft)
  return value ?? (draft === '' ? '' : null)
}

function typedValue(type: string, text: string): unknown {
  switch (type) {
    case 'integer':
    case 'number': {
      const number = Number(pointed(text))
      return Number.isFinite(number) && text.trim() !== '' ? number : text
    }
    case 'decimal':
      return pointed(text)
    case 'datetime': {
      const time = new Date(text)
      return Number.isNaN(time.getTime()) ? text : time.toISOString()
    }
    case 'json': {
      const parsed = parseJson(text)
      return 'value' in parsed ? parsed.value : text
    }
    default:
      return text
  }
}

/** Accepts a decimal comma: `1,5`. */
function pointed(text: string): string {
  const trimmed = text.trim()
  return /^[+-]?\d+,\d+$/.test(trimmed) ? trimmed.replace(',', '.') : trimmed
}

/** Returns the body of a create: every field that is filled in. */
export function bodyOf(fields: readonly Named[], draft: DraftObject): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = sentValue(field, draft.fields[field.name] ?? null)
      return value === undefined ? [] : [[field.name, value]]
    }),
  )
}

/** Returns the body of a PATCH: every field that was changed. */
export function patchOf(
  fields: readonly Named[],
  base: DraftObject,
  draft: DraftObject,
): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const [was = null, is = null] = [base.fields[field.name], draft.fields[field.name]]
      return same(was, is) ? [] : [[field.name, changeOf(field, was, is)]]
    }),
  )
}

function changeOf(field: Named, was: Draft, is: Draft): unknown {
  if (isObject(was) && isObject(is)) return patchOf(field.fields ?? [], was, is)
  const value = sentValue(field, is)
  if (field.type === 'json') return mergePatch(sentValue(field, was), value ?? null)
  // A required text that is empty is sent as an empty text.
  return value ?? (field.type === 'text' && !field.nullable ? '' : null)
}

/** A value that cannot be sent as typed. */
export type Unsendable =
  | { readonly problem: 'syntax'; readonly line?: number; readonly column?: number; readonly says: string }
  | { readonly problem: 'null' }

export function unsendable(
  fields: readonly Named[],
  base: DraftObject | undefined,
  draft: DraftObject,
): Record<string, Unsendable> {
  const found: Record<string, Unsendable> = {}
  for (const field of fields) {
    const is = draft.fields[field.name] ?? null
    const was = base?.fields[field.name] ?? null
    if (base === undefined || !same(was, is)) collect(found, field, { path: field.name, was, is, base })
  }
  return found
}

interface Place {
  readonly path: string
  readonly was: Draft
  readonly is: Draft
  readonly base: DraftObject | undefined
}

function collect(found: Record<string, Unsendable>, kind: Kind, place: Place): void {
  const { path, was, is, base } = place
  if (isObject(is))
    for (const field of kind.fields ?? []) {
      const inner = isObject(was) ? (was.fields[field.name] ?? null) : null
      collect(found, field, {
        path: `${path}.${field.name}`,
        was: inner,
        is: is.fields[field.name] ?? null,
        base,
      })
    }
  if (isList(is) && kind.items !== undefined)
    // Lists are replaced as a whole: nothing inside them is merged.
    for (const [at, { value }] of is.items.entries())
      collect(found, kind.items, { path: `${path}.${at}`, was: null, is: value, base: undefined })
  if (kind.type !== 'json' || typeof is !== 'string' || is === '') return
  const parsed = parseJson(is)
  if (!('value' in parsed)) {
    const { wrong, ...at } = parsed
    found[path] = { problem: 'syntax', says: wrong, ...at }
  } else if (base !== undefined && !canMerge(sentValue(kind, was), parsed.value))
    found[path] = { problem: 'null' }
}
