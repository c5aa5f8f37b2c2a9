import type { Json } from '../../client/api-request.ts'
import type { ModelField as Field } from '../../client/model.ts'
import {
  changedPaths,
  type Draft,
  type DraftObject,
  draftAt,
  emptyObject,
  enteredObject,
  isObject,
  same,
  withDraft,
} from './draft.ts'
import type { Errors } from './place-errors.ts'
import { rebase } from './rebase.ts'

/** The value that others have saved for a field that is also changed here. */
export interface Theirs {
  readonly theirs: Draft
}

export interface FormState {
  readonly fields: readonly Field[]
  /** The saved Entity, as far as this form knows. */
  readonly base: DraftObject
  readonly version: number | undefined
  readonly draft: DraftObject
  readonly errors: Errors
  /** Fields that have just taken a value that somebody else saved. */
  readonly updated: readonly string[]
  readonly conflicts: Readonly<Record<string, Theirs>>
}

/** A draft that was stored for later. */
export interface Kept {
  readonly base: DraftObject
  readonly draft: DraftObject
  readonly version: number | undefined
  readonly at: string
}

export type FormAction =
  | { readonly act: 'change'; readonly path: string; readonly value: Draft }
  | { readonly act: 'wrong'; readonly errors: Errors }
  | { readonly act: 'arrived'; readonly data: Json }
  | { readonly act: 'saved'; readonly data: Json; readonly sent: DraftObject }
  /** Ends conflicts: those in `theirs` take the value of the others, the rest of `paths` keep what was typed. */
  | { readonly act: 'resolve'; readonly paths: readonly string[]; readonly theirs: readonly string[] }
  | { readonly act: 'restore'; readonly kept: Kept }
  | { readonly act: 'discard' }

export function openForm(fields: readonly Field[], data?: Json): FormState {
  const base = data === undefined ? emptyObject(fields) : enteredObject(fields, data)
  return {
    fields,
    base,
    draft: base,
    version: versionOf(data),
    errors: {},
    updated: [],
    conflicts: {},
  }
}

function versionOf(data: Json | undefined): number | undefined {
  return typeof data?.version === 'number' ? data.version : undefined
}

export function reduceForm(state: FormState, action: FormAction): FormState {
  switch (action.act) {
    case 'change':
      return changed(state, action.path, action.value)
    case 'wrong':
      return { ...state, errors: action.errors }
    case 'arrived':
      // A read that began before a save may arrive after it.
      if ((versionOf(action.data) ?? 0) <= (state.version ?? 0)) return state
      return arrived(state, enteredObject(state.fields, action.data), versionOf(action.data))
    case 'saved':
      return saved(state, action.data, action.sent)
    case 'resolve':
      return resolved(state, action.paths, action.theirs)
    case 'restore':
      return restored(state, action.kept)
    case 'discard':
      return { ...state, draft: state.base, errors: {}, conflicts: {}, updated: [] }
  }
}

function changed(state: FormState, path: string, value: Draft): FormState {
  const draft = withDraft(state.draft, path, value)
  const isBelow = (other: string) => other === path || other.startsWith(`${path}.`)
  // A change inside a list or an object may correct the error of the whole.
  const isAbout = (other: string) => isBelow(other) || path.startsWith(`${other}.`)
  return {
    ...state,
    draft: isObject(draft) ? draft : state.draft,
    errors: Object.fromEntries(Object.entries(state.errors).filter(([one]) => !isAbout(one))),
    updated: state.updated.filter((one) => !isBelow(one)),
  }
}

/** Takes over what others have saved, except for fields that were changed here. */
function arrived(state: FormState, now: DraftObject, version: number | undefined): FormState {
  const after = rebase(state.fields, state.base, state.draft, now)
  const open = [...new Set([...Object.keys(state.conflicts), ...after.conflicts])].filter(
    (path) => !same(draftAt(after.draft, path) ?? null, draftAt(now, path) ?? null),
  )
  return {
    ...state,
    base: now,
    version,
    draft: after.draft,
    updated: [...new Set([...state.updated, ...after.updated])],
    conflicts: Object.fromEntries(open.map((path) => [path, { theirs: draftAt(now, path) ?? null }])),
  }
}

/** Keeps what was typed during the save. */
function saved(state: FormState, data: Json, sent: DraftObject): FormState {
  const now = enteredObject(state.fields, data)
  const own = changedPaths(state.fields, state.base, sent)
  const after = rebase(state.fields, sent, state.draft, now)
  return {
    ...state,
    base: now,
    version: versionOf(data),
    draft: after.draft,
    errors: {},
    conflicts: {},
    updated: after.updated.filter((path) => !own.includes(path)),
  }
}

function resolved(state: FormState, paths: readonly string[], theirs: readonly string[]): FormState {
  const draft = theirs.reduce<Draft>(
    (at, path) => withDraft(at, path, draftAt(state.base, path) ?? null),
    state.draft,
  )
  return {
    ...state,
    draft: isObject(draft) ? draft : state.draft,
    conflicts: Object.fromEntries(Object.entries(state.conflicts).filter(([path]) => !paths.includes(path))),
  }
}

function restored(state: FormState, kept: Kept): FormState {
  const { base, version } = state
  return arrived({ ...state, base: kept.base, draft: kept.draft, errors: {} }, base, version)
}
