import { type EntityType, type Field, isPointing, providedOf, walk } from '../../declare/model.ts'
import { isRecord } from '../../declare/record.ts'
import { isServerValue } from '../../declare/server-value.ts'
import { type Actor, actorName } from '../../plan/viewer/actor.ts'
import { type Act, read } from '../../store/act.ts'
import type { Bound } from '../../store/dialect.ts'
import type { Context } from '../context.ts'
import { valueAt, withValueAt } from './merge.ts'

/**
 * A digest of everything that would be done: what else the plan covers, and for every Entity its version, the kind of
 * change and all new values, even those hidden from the caller. Values that differ each time are left out: times that
 * the server sets, and the ids of new Entities.
 */
export function* planToken(
  context: Context,
  actor: Actor,
  operation: string | null,
  covers: unknown,
): Act<string> {
  const digest = context.tokens.digest('undo plan')
  digest.update(JSON.stringify([actorName(actor), covers]))
  const rows = operation === null ? [] : yield* read(context.operations.whole, { $operation: operation })
  const made = newIds(rows)
  for (const [entity, id, version, kind, data] of rows) {
    const text = String(data)
    // The values come before the version and the times. No text can contain this, since its quotes are escaped.
    const values = text.slice(0, text.lastIndexOf(',"version":'))
    const type = context.plans.get(String(entity))?.type
    const lasting =
      type === undefined || data === null
        ? values
        : lastingValues(type, `${values}}`, { kind: String(kind), made })
    const which = made.get(`${entity}/${id}`) ?? id
    digest.update(JSON.stringify([entity, which, version, kind, lasting, text.endsWith(':null}')]))
  }
  return digest.digest('base64url')
}

/** Placeholders for the ids of new Entities, numbered in the order in which they were created. */
function newIds(rows: readonly (readonly Bound[])[]): ReadonlyMap<string, string> {
  const made = new Map<string, string>()
  for (const [entity, id, , kind] of rows)
    if (kind === 'create') made.set(`${entity}/${id}`, `new ${made.size}`)
  return made
}

interface Making {
  /** The kind of the change. */
  readonly kind: string
  /** The placeholders for the ids of new Entities. */
  readonly made: ReadonlyMap<string, string>
}

/** Returns the values that are the same each time. */
function lastingValues(type: EntityType, json: string, { kind, made }: Making): string {
  const timed = [...walk(type.fields)].filter((field) => isTimed(field, kind))
  if (timed.length === 0 && made.size === 0) return json
  let values: object = JSON.parse(json)
  for (const { path } of timed) values = withValueAt(values, path, 'now')
  for (const field of made.size === 0 ? [] : walk(type.fields)) {
    if (!isPointing(field)) continue
    const value = valueAt(values, field.path)
    const targetOf = (one: unknown) => withPlace(one, field.target, made)
    if (field.kind === 'reference') values = withValueAt(values, field.path, targetOf(value))
    else if (Array.isArray(value))
      values = withValueAt(
        values,
        field.path,
        value.map((item) =>
          field.member === ''
            ? targetOf(item)
            : withValueAt(item, field.member, targetOf(valueAt(item, field.member))),
        ),
      )
  }
  // The id is one of the values, and is left out too.
  return JSON.stringify({ ...values, id: null })
}

/** Replaces a reference to a new Entity by its placeholder. */
function withPlace(value: unknown, target: string, made: ReadonlyMap<string, string>): unknown {
  return isRecord(value) ? (made.get(`${target}/${value.id}`) ?? value) : value
}

/** Whether the server sets the field to a time with such a change. The plan covers what the caller sends anyway. */
function isTimed(field: Field, kind: string): boolean {
  const { create, update, default: given } = providedOf(field)
  const set = kind === 'create' ? [create, given] : kind === 'update' ? [update] : []
  return set.some(
    (value) =>
      isServerValue(value) &&
      (value.server === 'now' || (value.server === 'cel' && /\bnow\b/.test(value.text))),
  )
}
