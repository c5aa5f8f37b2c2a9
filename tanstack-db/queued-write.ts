import type { Json } from '../client/asked.ts'

/** One row of a write. */
export interface QueuedPart {
  readonly type: 'insert' | 'update' | 'delete'
  readonly entity: string
  /** Negative: a row that the server has not created yet. */
  readonly id: number
  /** A new Entity, or the changes of an update. */
  readonly body?: Json
  /** Of an update: the version that was changed. */
  readonly base?: number
  /** Of an update: what its user saw in place of the changes. It has the shape of `body`. */
  readonly seen?: Json
}

/** A write that waits to be sent: one operation. */
export interface QueuedWrite {
  /** Also its `Idempotency-Key`. Ids sort in the order in which the writes were made. */
  readonly id: string
  readonly parts: readonly QueuedPart[]
}

/** The answer to a write. */
export interface WriteAnswer {
  /** `null` if nothing was changed. */
  readonly operation: string | null
  /** The Entity of each part; `null` if the answer has none. */
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

/** What a PATCH must send (RFC 7396), and what was there before. Undefined if nothing has changed. */
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

/** A copy with changes merged in (RFC 7396). */
export function merged(before: unknown, changes: Json): Json {
  const after: Json = isRecord(before) ? { ...before } : {}
  for (const [name, value] of Object.entries(changes))
    after[name] = isRecord(value) ? merged(after[name], value) : value
  return after
}

/** Replaces ids that the server has not given by those that it has: `{ id: -5 }` becomes `{ id: 7 }`. */
export function withIds<T>(value: T, idOf: (id: number) => unknown): T {
  if (Array.isArray(value)) return value.map((one) => withIds(one, idOf)) as T
  if (!isRecord(value)) return value
  const replaced = Object.entries(value).map(([name, one]) => [
    name,
    name === 'id' && typeof one === 'number' && one < 0 ? idOf(one) : withIds(one, idOf),
  ])
  return Object.fromEntries(replaced)
}

/** Whether nobody else has changed the fields of an update: `own` is an earlier write of this client, `state` its answer. */
function isUntouched({ body, seen }: { body: Json; seen: Json }, own: Json, state: Json): boolean {
  return Object.entries(body).every(([name, value]) => {
    const [old, mine, now] = [seen[name], own[name], state[name]]
    if (isRecord(value) && isRecord(old))
      return isUntouched({ body: value, seen: old }, isRecord(mine) ? mine : {}, isRecord(now) ? now : {})
    return Object.hasOwn(own, name) || isSame(now, old)
  })
}

/**
 * A later write after an earlier one of the same client was answered. Its user has seen that earlier write, so it is no
 * conflict: the later one is then based on the version of the answer.
 */
export function rebased(later: QueuedPart, earlier: QueuedPart, state: Json): QueuedPart {
  const { body, seen, base } = later
  if (later.type !== 'update' || later.entity !== earlier.entity || later.id !== earlier.id) return later
  const version = Number(state.version)
  const isSeen =
    base === undefined || isUntouched({ body: body ?? {}, seen: seen ?? {} }, earlier.body ?? {}, state)
  return isSeen && version > (base ?? 0) ? { ...later, base: version } : later
}
