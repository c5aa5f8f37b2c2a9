import type { ModelItem as Item } from '../../client/model.ts'

/**
 * The content of a form's inputs: texts as they were typed, so that nothing is lost or rounded. It is converted to
 * values of the API only when it is sent.
 */
export type Draft = string | boolean | null | DraftRef | DraftList | DraftObject

export interface DraftRef {
  readonly ref: number
}
export interface DraftList {
  readonly items: readonly DraftItem[]
}
export interface DraftItem {
  /** Identifies an item while it is moved. */
  readonly key: number
  readonly value: Draft
}
export interface DraftObject {
  readonly fields: Readonly<Record<string, Draft>>
}

export function isRef(draft: Draft | undefined): draft is DraftRef {
  return typeof draft === 'object' && draft !== null && 'ref' in draft
}
export function isList(draft: Draft | undefined): draft is DraftList {
  return typeof draft === 'object' && draft !== null && 'items' in draft
}
export function isObject(draft: Draft | undefined): draft is DraftObject {
  return typeof draft === 'object' && draft !== null && 'fields' in draft
}

let keys = 0
export function itemOf(value: Draft): DraftItem {
  return { key: ++keys, value }
}

/** The type of a field, or of the items of a list. */
export type Kind = Pick<Item, 'type' | 'nullable' | 'fields' | 'items'>
export type Named = Kind & { readonly name: string }

/** Returns an empty input of this kind. */
export function emptyOf(kind: Kind): Draft {
  if (kind.type === 'object') return kind.nullable ? null : emptyObject(kind.fields ?? [])
  return ['list', 'ref', 'boolean'].includes(kind.type) ? null : ''
}

export function emptyObject(fields: readonly Named[]): DraftObject {
  return { fields: Object.fromEntries(fields.map((field) => [field.name, emptyOf(field)])) }
}

/** Converts a value of the API to the content of its input. */
export function entered(kind: Kind, value: unknown): Draft {
  if (kind.type === 'secret' || kind.type === 'password') return ''
  if (value === null || value === undefined) return emptyOf(kind)
  switch (kind.type) {
    case 'object':
      return enteredObject(kind.fields ?? [], value)
    case 'list':
      return { items: (Array.isArray(value) ? value : []).map((one) => itemOf(enteredItem(kind, one))) }
    case 'ref':
      return { ref: Number(partOf(value, 'id')) }
    case 'boolean':
      return value === true
    case 'json':
      return JSON.stringify(value, null, 2)
    case 'datetime':
      return localTime(String(value))
    default:
      return String(value)
  }
}

function enteredItem(list: Kind, value: unknown): Draft {
  return list.items === undefined ? null : entered(list.items, value)
}

export function enteredObject(fields: readonly Named[], data: unknown): DraftObject {
  return { fields: Object.fromEntries(fields.map((one) => [one.name, entered(one, partOf(data, one.name))])) }
}

function partOf(data: unknown, name: string): unknown {
  return typeof data === 'object' && data !== null ? Reflect.get(data, name) : undefined
}

/** Formats a time in the time zone of the browser: `2026-05-01T12:30:00.000Z` as `2026-05-01T14:30`. */
export function localTime(iso: string): string {
  const time = new Date(iso)
  if (Number.isNaN(time.getTime())) return iso
  const two = (part: number) => String(part).padStart(2, '0')
  const day = `${String(time.getFullYear()).padStart(4, '0')}-${two(time.getMonth() + 1)}-${two(time.getDate())}`
  const ms = time.getMilliseconds()
  const seconds = time.getSeconds() === 0 && ms === 0 ? '' : `:${two(time.getSeconds())}`
  return `${day}T${two(time.getHours())}:${two(time.getMinutes())}${seconds}${ms === 0 ? '' : `.${String(ms).padStart(3, '0')}`}`
}

/** Whether two inputs have the same content. */
export function same(a: Draft, b: Draft): boolean {
  if (isRef(a) && isRef(b)) return a.ref === b.ref
  if (isList(a) && isList(b))
    return (
      a.items.length === b.items.length &&
      a.items.every(({ value }, at) => same(value, b.items[at]?.value ?? null))
    )
  if (isObject(a) && isObject(b))
    return Object.entries(a.fields).every(([name, value]) => same(value, b.fields[name] ?? null))
  return a === b
}

/** Returns the input at a dot path. Items of lists are numbers in it. */
export function draftAt(draft: Draft | undefined, path: string): Draft | undefined {
  return path
    .split('.')
    .reduce<Draft | undefined>(
      (at, name) => (isObject(at) ? at.fields[name] : isList(at) ? at.items[Number(name)]?.value : undefined),
      draft,
    )
}

/** Returns the draft with another input at a dot path. */
export function withDraft(draft: Draft, path: string, value: Draft): Draft {
  const [name = '', ...rest] = path.split('.')
  const below = (was: Draft) => (rest.length === 0 ? value : withDraft(was, rest.join('.'), value))
  if (isObject(draft))
    return { fields: { ...draft.fields, [name]: below(draft.fields[name] ?? { fields: {} }) } }
  if (isList(draft))
    return {
      items: draft.items.map((item, at) =>
        at === Number(name) ? { ...item, value: below(item.value) } : item,
      ),
    }
  return draft
}

/** Returns the dot paths of fields that differ. For an object that both have, these are the paths of its fields. */
export function changedPaths(fields: readonly Named[], a: DraftObject, b: DraftObject): string[] {
  return fields.flatMap((field) => {
    const [left = null, right = null] = [a.fields[field.name], b.fields[field.name]]
    if (isObject(left) && isObject(right))
      return changedPaths(field.fields ?? [], left, right).map((path) => `${field.name}.${path}`)
    return same(left, right) ? [] : [field.name]
  })
}
