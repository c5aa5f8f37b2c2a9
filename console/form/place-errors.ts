import { type Draft, type DraftObject, isList, isObject, type Kind, type Named } from './draft.ts'

export type Errors = Readonly<Record<string, readonly string[]>>

/** Errors of the API by input. `rest` has those that belong to no input. */
export interface Placed {
  readonly at: Errors
  readonly rest: Errors
}

export function placeErrors(fields: readonly Named[], draft: DraftObject, errors: Errors): Placed {
  const at: Record<string, readonly string[]> = {}
  const rest: Record<string, readonly string[]> = {}
  for (const [path, messages] of Object.entries(errors)) {
    const place = placeOf(fields, draft, path.split('.'))
    const into = place === undefined ? rest : at
    const key = place ?? path
    // The API reports an error of a reference twice, as `room` and as `room.id`.
    into[key] = [...new Set([...(into[key] ?? []), ...messages])]
  }
  return { at, rest }
}

function placeOf(fields: readonly Named[], draft: DraftObject, path: readonly string[]): string | undefined {
  const [name = '', ...below] = path
  const field = fields.find((one) => one.name === name)
  if (field === undefined) return undefined
  return [name, ...inside(field, draft.fields[name] ?? null, below)].join('.')
}

/** Returns the part of a path that leads to an input. */
function inside(kind: Kind, draft: Draft, path: readonly string[]): readonly string[] {
  const [next, ...below] = path
  if (next === undefined) return []
  if (isObject(draft)) {
    const place = placeOf(kind.fields ?? [], draft, path)
    return place === undefined ? [] : [place]
  }
  const item = isList(draft) ? draft.items[Number(next)] : undefined
  if (item === undefined || kind.items === undefined) return []
  return [next, ...inside(kind.items, item.value, below)]
}
