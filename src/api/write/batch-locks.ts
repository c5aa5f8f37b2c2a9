import type { Edge, EntityType, Model } from '../../declare/model.ts'
import { type Keys, keyParams, lockGraphs, lockKeys } from '../../plan/tables/locks.ts'
import { EMAIL_KEY, uniquesOf } from '../../plan/tables/schema.ts'
import { type Act, write } from '../../store/act.ts'
import { mutexKey } from '../../store/mutex.ts'
import type { Context } from '../context.ts'
import { valueAt } from './merge.ts'

/** A part of a batch, as far as it decides what to lock. */
interface BatchPart {
  readonly method: string
  readonly plan: { readonly type: EntityType }
  /** A number, or a reference to an earlier part. */
  readonly id: string | undefined
  readonly body: unknown
}

/** How many keys a batch may lock. Each takes memory of the database, which all of its clients share. */
const KEYS_MAX = 32

/**
 * Locks what a batch needs before it changes anything. So it waits for others only if both change or refer to the same
 * Entities, and there are no deadlocks. Without it, two batches that change the same Entities in another order would
 * wait until the database gives up one of them, a second each time.
 *
 * A batch that only creates and updates locks keys: of the Entities that it names, and of values that must be unique. A
 * batch that deletes or restores, or names too many Entities, locks its whole graph of types, as a cascade does.
 */
export function* lockAhead({ model, store }: Context, parts: readonly BatchPart[]): Act<void> {
  const { dialect } = store
  if (dialect.lock === undefined || parts.length === 1) return
  const keys = keysOf(parts, model)
  if (keys?.size === 0) return
  const types = [...new Set(parts.map(({ plan }) => plan.type))]
  if (keys === undefined || keys.size > KEYS_MAX) yield* write(lockGraphs(types, model, dialect), {})
  else yield* write([...lockGraphs(types, model, dialect, true), ...lockKeys(dialect)], keyParams(keys))
}

/** An Entity that a part changes or refers to, as far as it is known beforehand. */
interface Named {
  readonly type: string
  /** A number, or a reference to an earlier part. */
  readonly id: string
  /** Whether others may refer to the Entity at the same time. */
  readonly shared: boolean
}

/** Undefined if the keys are not known beforehand. */
function keysOf(parts: readonly BatchPart[], model: Model): Keys | undefined {
  const keys = new Map<bigint, boolean>()
  for (const part of parts) {
    if (part.method === 'DELETE') return undefined
    for (const { type, id, shared } of namedBy(part, model)) {
      if (isMade(id, parts)) continue
      if (!/^\d+$/.test(id)) return undefined
      const key = mutexKey(`${type}/${Number(id)}`)
      keys.set(key, shared && (keys.get(key) ?? true))
    }
    for (const key of valuesOf(part)) keys.set(key, false)
  }
  return keys
}

function namedBy({ plan, id, body }: BatchPart, model: Model): Named[] {
  const self = id === undefined ? [] : [{ type: plan.type.name, id, shared: false }]
  const edges = model.edges.filter(({ from }) => from === plan.type.name)
  return [...self, ...edges.flatMap((edge) => targetsOf(edge, body))]
}

/** Finds referenced Entities. Anything else is refused later. */
function targetsOf({ path, to }: Edge, body: unknown): Named[] {
  const sent = valueAt(body, path)
  const value = valueAt(sent, '$add') ?? sent
  return (Array.isArray(value) ? value : [value]).flatMap((one) => {
    const id = valueAt(one, 'id')
    const isId = typeof id === 'number' || (typeof id === 'string' && id.startsWith('$'))
    return isId ? [{ type: to, id: String(id), shared: true }] : []
  })
}

/** Whether it is the id of an Entity that an earlier part creates, as in `$0.id`: nobody else knows it yet. */
function isMade(id: string, parts: readonly BatchPart[]): boolean {
  const [, at] = /^\$(\d{1,4})\.id$/.exec(id) ?? []
  return at !== undefined && parts[Number(at)]?.method === 'POST'
}

/** Keys of values that must be unique. Equal values have equal keys, and so do some that the database tells apart. */
function valuesOf({ plan: { type }, body }: BatchPart): bigint[] {
  return uniquesOf(type).flatMap((set) => {
    const values = set.map((column) => valueAt(body, column === EMAIL_KEY ? 'email' : column))
    return values.every((value) => value != null)
      ? [mutexKey(`${type.name} ${set} ${JSON.stringify(values).toLowerCase()}`)]
      : []
  })
}
