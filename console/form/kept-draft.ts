import { useEffect, useState } from 'react'
import { DRAFT } from '../drafts.ts'
import type { Field } from '../model.ts'
import { useSignedIn } from '../session.ts'
import { type Draft, type DraftObject, isList, isObject, type Kind, type Named, same } from './draft.ts'
import type { FormState, Kept } from './state.ts'

function read(name: string, fields: readonly Field[]): Kept | undefined {
  try {
    const text = sessionStorage.getItem(name)
    const kept = text === null ? undefined : (JSON.parse(text) as Kept)
    // A draft for an older declaration may not fit.
    const fits = fields.every((field) => kept !== undefined && field.name in kept.draft.fields)
    return fits ? kept : undefined
  } catch {
    return undefined
  }
}

/** Stores the draft until it is saved or the tab is closed. Returns the draft stored before, and a way to remove it. */
export function useKeptDraft(
  form: string,
  { base, draft, version, fields }: FormState,
): [kept: Kept | undefined, forget: () => void] {
  const { user_type, id } = useSignedIn()
  const name = `${DRAFT}${user_type}/${id} ${form}`
  const [kept, setKept] = useState(() => read(name, fields))
  useEffect(() => {
    const isDirty = !same(base, draft)
    // While the old draft is offered, an empty one must not overwrite it.
    if (!isDirty && kept !== undefined) return
    if (!isDirty) return sessionStorage.removeItem(name)
    const now: Kept = { base, draft: withoutSecrets(fields, draft), version, at: new Date().toISOString() }
    try {
      sessionStorage.setItem(name, JSON.stringify(now))
    } catch {
      // The browser's storage is full: the draft is only on the page.
    }
  }, [name, base, draft, version, fields, kept])
  return [
    kept,
    () => {
      sessionStorage.removeItem(name)
      setKept(undefined)
    },
  ]
}

/** Whether some of these fields are secrets, which are not stored. */
export function haveSecrets(fields: readonly Named[]): boolean {
  return fields.some(isSecret)
}

function isSecret(kind: Kind): boolean {
  if (kind.type === 'secret' || kind.type === 'password') return true
  return haveSecrets(kind.fields ?? []) || (kind.items !== undefined && isSecret(kind.items))
}

/** Returns the draft without its secrets, which are never stored or shown. */
export function withoutSecrets(fields: readonly Named[], draft: DraftObject): DraftObject {
  return {
    fields: Object.fromEntries(
      fields.map((field) => [field.name, withoutSecret(field, draft.fields[field.name] ?? null)]),
    ),
  }
}

function withoutSecret(kind: Kind, draft: Draft): Draft {
  if (kind.type === 'secret' || kind.type === 'password') return ''
  if (isObject(draft)) return withoutSecrets(kind.fields ?? [], draft)
  const { items } = kind
  if (!isList(draft) || items === undefined) return draft
  return { items: draft.items.map((item) => ({ ...item, value: withoutSecret(items, item.value) })) }
}
