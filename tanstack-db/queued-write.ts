import type { Json } from '../client/api-request.ts'

/** One row of a write. */
export interface QueuedPart {
  readonly type: 'insert' | 'update' | 'delete'
  readonly entity: string
  /** Negative if the server has not created the row yet. */
  readonly id: number
  /** The new Entity of an insert, or the changes of an update. */
  readonly body?: Json
  /** The version that an update is based on. */
  readonly base?: number
  /** The values that an update replaces, as its user saw them. It has the shape of `body`. */
  readonly seen?: Json
}

/** A write that waits to be sent, as one operation. */
export interface QueuedWrite {
  /** The id, which is also the `Idempotency-Key`. Ids sort by the time of the write. */
  readonly id: string
  readonly parts: readonly QueuedPart[]
}

/** The answer to a write. */
export interface WriteAnswer {
  /** The id of the operation; `null` if nothing was changed. */
  readonly operation: string | null
  /** The Entity of each part; `null` if the answer has none for it. */
  readonly states: readonly (Json | null)[]
}

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether two values are the same JSON. */
export function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, at) => isSame(one, b[at]))
  if (!isRecord(a) || !isRecord(b)) return (a ?? null) === (b ?? null)
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((name) => isSame(a[name], b[name]))
}

/** Returns the body of a PATCH (RFC 7396), and the values it replaces. Undefined if nothing has changed. */
export function differenceOf(before: Json, after: Json): { body: Json; seen: Json } | undefined {
  const body: Json = {}
  const seen: Json = {}
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[name], after[name]]
    if (isSame(old, now)) continue
    const inner = isRecord(old) && isRecord(now) ? differenceOf(old, now) : undefined
    body[name] = inner?.body ?? now ?? null
    seen[name] = inner?.seen ?? old ?? null
  }
  return Object.keys(body).length === 0 ? undefined : { body, seen }
}

/** Returns a copy with changes merged in (RFC 7396). */
export function merged(before: unknown, changes: Json): Json {
  const after: Json = isRecord(before) ? { ...before } : {}
  for (const [name, value] of Object.entries(changes))
    after[name] = isRecord(value) ? merged(after[name], value) : value
  return after
}

/** Replaces temporary ids: `{ id: -5 }` becomes `{ id: 7 }`. */
export function withIds<T>(value: T, idOf: (id: number) => unknown): T {
  if (Array.isArray(value)) return value.map((one) => withIds(one, idOf)) as T
  if (!isRecord(value)) return value
  const replaced = Object.entries(value).map(([name, one]) => [
    name,
    name === 'id' && typeof one === 'number' && one < 0 ? idOf(one) : withIds(one, idOf),
  ])
  return Object.fromEntries(replaced)
}

/** Whether only this client changed the fields of an update: `own` is its earlier write, `state` the answer to that. */
function isUntouched({ body, seen }: { body: Json; seen: Json }, own: Json, state: Json): boolean {
  return Object.entries(body).every(([name, value]) => {
    const [old, mine, now] = [seen[name], own[name], state[name]]
    if (isRecord(value) && isRecord(old))
      return isUntouched({ body: value, seen: old }, isRecord(mine) ? mine : {}, isRecord(now) ? now : {})
    return Object.hasOwn(own, name) || isSame(now, old)
  })
}

/**
 * Bases a later write on the answer to an earlier one of the same client. The user has seen the earlier write, so the
 * two do not conflict, unless somebody else has changed the same fields.
 */
export function rebased(later: QueuedPart, earlier: QueuedPart, state: Json): QueuedPart {
  const { body, seen, base } = later
  if (later.type !== 'update' || later.entity !== earlier.entity || later.id !== earlier.id) return later
  const version = Number(state.version)
  const isSeen =
    base === undefined || isUntouched({ body: body ?? {}, seen: seen ?? {} }, earlier.body ?? {}, state)
  return isSeen && version > (base ?? 0) ? { ...later, base: version } : later
}
