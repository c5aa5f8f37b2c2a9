import { columnOf, type Field } from '../declare/model.ts'
import { isRecord } from '../declare/record.ts'
import type { Bound } from '../store/dialect.ts'
import type { State } from './leaves.ts'
import type { Upcaster } from './upcast.ts'

/** The changed values by dot path, before and after. */
export type Changed = Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>

type Entity = Readonly<Record<string, unknown>>

/** The differences between two states of an Entity, either of which may be missing: declared values and deletion. */
export function differenceOf(
  fields: readonly Field[],
  before: Entity | undefined,
  after: Entity | undefined,
): Changed {
  const changed: Record<string, { from: unknown; to: unknown }> = {}
  compareFields(fields, before ?? {}, after ?? {}, changed)
  compareValue('deleted_at', before?.deleted_at, after?.deleted_at, changed)
  return changed
}

/** The same for two versions in the journal, as JSON in the form of their time. `null` before: it was created. */
export function journalledDifference(
  fields: readonly Field[],
  upcaster: Upcaster,
  before: Bound,
  after: Bound,
): Changed {
  const [from, to] = [before, after].map((data) => data && JSON.parse(String(data)))
  // Whoever made the change neither set nor replaced the values that a later migration filled in.
  const read = (state: State) => upcaster.upcastAsOf(String(to.updated_at), state)
  return differenceOf(fields, from === null ? undefined : read(from), read(to))
}

type Changes = Record<string, { from: unknown; to: unknown }>

function compareFields(fields: readonly Field[], before: Entity, after: Entity, changed: Changes): void {
  for (const field of fields) {
    if (field.kind === 'value' && field.secret) continue
    const [from, to] = [before[field.name], after[field.name]]
    if (field.kind === 'object') compareObjects(field, from, to, changed)
    else if (field.kind === 'reference') compareValue(columnOf(field), idOf(from), idOf(to), changed)
    else compareValue(field.path, from, to, changed)
  }
}

function compareObjects(
  { path, fields }: Extract<Field, { kind: 'object' }>,
  from: unknown,
  to: unknown,
  changed: Changes,
): void {
  const count = Object.keys(changed).length
  compareFields(fields, isRecord(from) ? from : {}, isRecord(to) ? to : {}, changed)
  // An empty object is not the same as null.
  if (isRecord(from) !== isRecord(to) && Object.keys(changed).length === count)
    compareValue(path, pick(fields, from), pick(fields, to), changed)
}

/** Only these fields of an object: the others may be hidden from the viewer. */
function pick(fields: readonly Field[], value: unknown): unknown {
  if (!isRecord(value)) return value
  return Object.fromEntries(
    fields
      .filter(({ name }) => Object.hasOwn(value, name))
      .map((field) => [
        field.name,
        field.kind === 'object' ? pick(field.fields, value[field.name]) : value[field.name],
      ]),
  )
}

function compareValue(path: string, from: unknown = null, to: unknown = null, changed: Changes): void {
  if (!Bun.deepEquals(from, to)) changed[path] = { from, to }
}

function idOf(reference: unknown): unknown {
  return isRecord(reference) ? reference.id : undefined
}
