import { type Draft, type DraftObject, isList, isObject, type Kind, type Named } from './draft.ts'

export type Errors = Readonly<Record<string, readonly string[]>>

/** Errors of the API at the inputs that they are about; `rest` has those without an input. */
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
    // A reference is told twice, as `room` and `room.id`.
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

/** How much further down there is an input. */
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
