import { type Draft, type DraftObject, isObject, type Named, same } from './draft.ts'

/** A form after others have changed its Entity. */
export interface Rebased {
  readonly draft: DraftObject
  /** Fields that were not touched here, and took the new value. */
  readonly updated: readonly string[]
  /** Fields that were changed both here and by others. They keep what was typed. */
  readonly conflicts: readonly string[]
}

/** Applies the changes made here on top of those that others have saved. */
export function rebase(
  fields: readonly Named[],
  was: DraftObject,
  draft: DraftObject,
  now: DraftObject,
): Rebased {
  const parts = fields.map((field) =>
    rebaseField(field, was.fields[field.name] ?? null, {
      typed: draft.fields[field.name] ?? null,
      now: now.fields[field.name] ?? null,
    }),
  )
  return {
    draft: { fields: Object.fromEntries(fields.map((field, at) => [field.name, parts[at]?.draft ?? null])) },
    updated: parts.flatMap((part) => part.updated),
    conflicts: parts.flatMap((part) => part.conflicts),
  }
}

interface Part {
  readonly draft: Draft
  readonly updated: readonly string[]
  readonly conflicts: readonly string[]
}

function rebaseField(field: Named, was: Draft, { typed, now }: { typed: Draft; now: Draft }): Part {
  if (isObject(was) && isObject(typed) && isObject(now)) {
    const inner = rebase(field.fields ?? [], was, typed, now)
    const below = (path: string) => `${field.name}.${path}`
    return {
      draft: inner.draft,
      updated: inner.updated.map(below),
      conflicts: inner.conflicts.map(below),
    }
  }
  const isChangedThere = !same(was, now)
  if (same(was, typed))
    return { draft: isChangedThere ? now : typed, updated: isChangedThere ? [field.name] : [], conflicts: [] }
  const isConflict = isChangedThere && !same(typed, now)
  return { draft: typed, updated: [], conflicts: isConflict ? [field.name] : [] }
}
