import type { ModelItem as Item } from '../../client/model.ts'

/**
 * What stands in the inputs of a form: texts as they were typed, so that nothing typed is ever lost or rounded. It
 * becomes values of the API only when it is sent.
 */
export type Draft = string | boolean | null | DraftRef | DraftList | DraftObject

export interface DraftRef {
  readonly ref: number
}
export interface DraftList {
  readonly items: readonly DraftItem[]
}
export interface DraftItem {
  /** Stays with an item while it is moved. */
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

/** Of fields, or of the items of a list. */
export type Kind = Pick<Item, 'type' | 'nullable' | 'fields' | 'items'>
export type Named = Kind & { readonly name: string }

/** An empty input of this kind. */
export function emptyOf(kind: Kind): Draft {
  if (kind.type === 'object') return kind.nullable ? null : emptyObject(kind.fields ?? [])
  return ['list', 'ref', 'boolean'].includes(kind.type) ? null : ''
}

export function emptyObject(fields: readonly Named[]): DraftObject {
  return { fields: Object.fromEntries(fields.map((field) => [field.name, emptyOf(field)])) }
}

/** A value of the API as it stands in its input. */
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

/** `2026-05-01T12:30:00.000Z` as `2026-05-01T14:30`, in the time zone of the browser. */
export function localTime(iso: string): string {
  const time = new Date(iso)
  if (Number.isNaN(time.getTime())) return iso
  const two = (part: number) => String(part).padStart(2, '0')
  const day = `${String(time.getFullYear()).padStart(4, '0')}-${two(time.getMonth() + 1)}-${two(time.getDate())}`
  const ms = time.getMilliseconds()
  const seconds = time.getSeconds() === 0 && ms === 0 ? '' : `:${two(time.getSeconds())}`
  return `${day}T${two(time.getHours())}:${two(time.getMinutes())}${seconds}${ms === 0 ? '' : `.${String(ms).padStart(3, '0')}`}`
}

/** Whether two inputs hold the same. */
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

/** The input at a dot path, in which items of lists are numbers. */
export function draftAt(draft: Draft | undefined, path: string): Draft | undefined {
  return path
    .split('.')
    .reduce<Draft | undefined>(
      (at, name) => (isObject(at) ? at.fields[name] : isList(at) ? at.items[Number(name)]?.value : undefined),
      draft,
    )
}

/** The same draft with another input at a dot path. */
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

/** Dot paths of the fields that differ; of an object that both have, those of its parts. */
export function changedPaths(fields: readonly Named[], a: DraftObject, b: DraftObject): string[] {
  return fields.flatMap((field) => {
    const [left = null, right = null] = [a.fields[field.name], b.fields[field.name]]
    if (isObject(left) && isObject(right))
      return changedPaths(field.fields ?? [], left, right).map((path) => `${field.name}.${path}`)
    return same(left, right) ? [] : [field.name]
  })
}
