import { type EntityType, type Field, isPointing, providedOf, walk } from '../../declare/model.ts'
import { isRecord } from '../../declare/record.ts'
import { isServerValue } from '../../declare/server-value.ts'
import { type Actor, actorName } from '../../plan/viewer/actor.ts'
import { type Act, read } from '../../store/act.ts'
import type { Bound } from '../../store/dialect.ts'
import type { Context } from '../context.ts'
import { valueAt, withValueAt } from './merge.ts'

/**
 * A digest of everything that would be done, the same for every caller: what the plan covers besides, and for every
 * Entity its version, the kind of change and all new values. What is different each time is left out: times that the
 * server sets, and the ids of new Entities.
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
    // The values come first, then the version and the times. No text can have this in it: its quotes are escaped.
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

/** What stands for the ids of new Entities: they are numbered in the order in which they were made. */
function newIds(rows: readonly (readonly Bound[])[]): ReadonlyMap<string, string> {
  const made = new Map<string, string>()
  for (const [entity, id, , kind] of rows)
    if (kind === 'create') made.set(`${entity}/${id}`, `new ${made.size}`)
  return made
}

interface Making {
  /** Of the change. */
  readonly kind: string
  /** What stands for the ids of new Entities. */
  readonly made: ReadonlyMap<string, string>
}

/** The values that are the same each time. */
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
  // `id` is a value as well.
  return JSON.stringify({ ...values, id: null })
}

/** A reference, with what stands for the id of a new Entity. */
function withPlace(value: unknown, target: string, made: ReadonlyMap<string, string>): unknown {
  return isRecord(value) ? (made.get(`${target}/${value.id}`) ?? value) : value
}

/** Whether the server sets it to a time when it makes such a change. What the caller sends, the plan covers besides. */
function isTimed(field: Field, kind: string): boolean {
  const { create, update, default: given } = providedOf(field)
  const set = kind === 'create' ? [create, given] : kind === 'update' ? [update] : []
  return set.some(
    (value) =>
      isServerValue(value) &&
      (value.server === 'now' || (value.server === 'cel' && /\bnow\b/.test(value.text))),
  )
}
