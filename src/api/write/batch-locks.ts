import type { Edge, EntityType, Model } from '../../declare/model.ts'
import { type Keys, keyParams, lockGraphs, lockKeys } from '../../plan/tables/locks.ts'
import { EMAIL_KEY, uniquesOf } from '../../plan/tables/schema.ts'
import { type Act, write } from '../../store/act.ts'
import { mutexKey } from '../../store/mutex.ts'
import type { Context } from '../context.ts'
import { valueAt } from './merge.ts'

/** The parts of a batch that decide what it locks. */
interface BatchPart {
  readonly method: string
  readonly plan: { readonly type: EntityType }
  /** A number, or a reference to an earlier part. */
  readonly id: string | undefined
  readonly body: unknown
}

/** Each key is a lock in the memory of the database, which all of its clients share. */
const KEYS_MAX = 32

/**
 * What a batch locks before it changes anything, so that it waits for others only where both change or refer to the
 * same Entities, and never in a circle: two batches that change the same in another order would wait until the database
 * gives one of them up, a second each time.
 *
 * A batch that only creates and updates locks keys: of the Entities that it names, and of the values that must be
 * unique. Where it deletes or restores, or names too many, it has its graph of types for itself, as a cascade has.
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
  /** Whether others may refer to it too. */
  readonly shared: boolean
}

/** Undefined if it is not known beforehand what to lock. */
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

/** Anything that is not a reference is refused later. */
function targetsOf({ path, to }: Edge, body: unknown): Named[] {
  const sent = valueAt(body, path)
  const value = valueAt(sent, '$add') ?? sent
  return (Array.isArray(value) ? value : [value]).flatMap((one) => {
    const id = valueAt(one, 'id')
    const isId = typeof id === 'number' || (typeof id === 'string' && id.startsWith('$'))
    return isId ? [{ type: to, id: String(id), shared: true }] : []
  })
}

/** Whether it is the id of what an earlier part makes, as in `$0.id`: nobody else knows that yet. */
function isMade(id: string, parts: readonly BatchPart[]): boolean {
  const [, at] = /^\$(\d{1,4})\.id$/.exec(id) ?? []
  return at !== undefined && parts[Number(at)]?.method === 'POST'
}

/** Keys of the values that must be unique. Equal ones have the same key, and some that the database tells apart too. */
function valuesOf({ plan: { type }, body }: BatchPart): bigint[] {
  return uniquesOf(type).flatMap((set) => {
    const values = set.map((column) => valueAt(body, column === EMAIL_KEY ? 'email' : column))
    return values.every((value) => value != null)
      ? [mutexKey(`${type.name} ${set} ${JSON.stringify(values).toLowerCase()}`)]
      : []
  })
}
