import { budget } from '../budget.ts'
import type { Feed, FeedOperation } from '../journal/feed.ts'
import { positionParts } from '../journal/position.ts'
import type { Dependency } from '../plan/condition/dependencies.ts'
import { NOW } from '../plan/condition/row-source.ts'
import { PLACE } from '../plan/past/place.ts'
import { visibleColumns } from '../plan/view/follow.ts'
import type { Bound, Params } from '../store/dialect.ts'
import type { Statement } from '../store/sql.ts'
import type { Store } from '../store/store.ts'
import { changedIn, type EntityChange, referredIn, touches } from './changed.ts'
import { EventCollector, type OperationEvents, type VisibleEntity } from './events.ts'
import type { CallerId, FollowedType, Subscription } from './subscription.ts'

/** What callers see, by a number of the row and by the id of the caller. */
type VisibleEntities = ReadonlyMap<number, ReadonlyMap<CallerId, VisibleEntity>>

/** Operations, and who asks for them. */
export interface EventRequest {
  readonly subscription: Subscription
  readonly callerIds: readonly CallerId[]
  readonly operations: readonly FeedOperation[]
}

/** Reads what operations have shown to callers, and what they have hidden from them, as events. */
export class EventReader {
  readonly #store: Store
  readonly #feed: Feed

  constructor(store: Store, feed: Feed) {
    this.#store = store
    this.#feed = feed
  }

  async read(request: EventRequest): Promise<OperationEvents[]> {
    const all: OperationEvents[] = []
    // Whole operations are read together. Each larger one is read alone, in parts.
    const whole = request.operations.filter(({ rest }) => rest === null)
    const collectedAll = whole.map((operation) => collect(operation, request))
    for (const type of request.subscription.types) await this.#readType(type, collectedAll, request)
    for (const operation of request.operations) {
      const collected = collectedAll.find((one) => one.operation === operation)
      all.push(collected?.events.result ?? (await this.#readLarge(operation, request)))
    }
    return all
  }

  /** Reads an operation in parts. */
  async #readLarge(operation: FeedOperation, request: EventRequest): Promise<OperationEvents> {
    const collected = collect(operation, request)
    for (let part: Pick<FeedOperation, 'changes' | 'rest'> = operation; ; ) {
      const changed = changedIn(part.changes)
      for (const type of request.subscription.types)
        await this.#readType(type, [{ ...collected, changed }], request)
      if (part.rest === null) return collected.events.result
      part = await this.#feed.changes(operation.id, part.rest, request.subscription.entities)
    }
  }

  async #readType(
    type: FollowedType,
    collectedAll: readonly CollectedOperation[],
    request: EventRequest,
  ): Promise<void> {
    for (const { changed, events } of collectedAll)
      if (changed.some((one) => one.id === null && isOf(type, one.entity)))
        resetAll(type, { events }, request)
    const { dependencies, mine } = type.plan
    if (dependencies.length === 0 && mine.size === 0) return this.#readPlain(type, collectedAll, request)
    for (const collected of collectedAll) await this.#readAtPlace(type, collected, request)
  }

  /** If only the Entity itself decides who sees it: all changes with one statement. */
  async #readPlain(
    type: FollowedType,
    collectedAll: readonly CollectedOperation[],
    request: EventRequest,
  ): Promise<void> {
    const all = collectedAll.flatMap((collected) =>
      collected.changed
        .filter(({ entity, id }) => entity === type.name && id !== null)
        .map((one) => ({ one, collected })),
    )
    const rows = all.flatMap(({ one: { before, data } }, at) => [
      ...numbered(2 * at, before),
      ...numbered(2 * at + 1, data),
    ])
    const visible = await this.#query(type, type.plan.seen, request, { $rows: JSON.stringify(rows) })
    const old = all.filter(({ collected }) => isOld(collected)).map(({ one }) => one.id)
    const today = await this.#queryCurrent(type, old, request)
    for (const [at, { one, collected }] of all.entries()) {
      const [former, present] = [visible.get(2 * at), visible.get(2 * at + 1)]
      const shown = isOld(collected) ? today.get(Number(one.id)) : present
      addChange(one, { type, events: collected.events, callerIds: request.callerIds, former, present, shown })
    }
  }

  /** If other Entities decide it too: each operation by itself, with all Entities as they were before and after it. */
  async #readAtPlace(
    type: FollowedType,
    collected: CollectedOperation,
    request: EventRequest,
  ): Promise<void> {
    const { login } = request.subscription
    const concerned = collected.changed.filter(({ id, entity }) => id !== null && isOf(type, entity, login))
    if (concerned.length === 0) return
    const place = positionParts(collected.operation.position).seq
    const isFar = (this.#store.recent ?? 0) - place > budget.feedBehind
    // A purge may have come between the read of earlier operations and the check who saw them.
    const isBlind = concerned.some((one) => isPurge(one) || (one.entity !== type.name && isLost(one)))
    if (isFar || isBlind) return resetAll(type, collected, request)
    resetChangedCallers(type, collected, request)
    await this.#readOwn(type, collected, request)
    await this.#readDependents(type, collected, request)
  }

  async #readOwn(type: FollowedType, collected: CollectedOperation, request: EventRequest): Promise<void> {
    const own = collected.changed.filter(({ entity, id }) => entity === type.name && id !== null)
    const rows = (state: 'before' | 'data') => ({
      $rows: JSON.stringify(own.flatMap((one, at) => numbered(at, one[state]))),
    })
    const query = { type, statement: type.plan.seen, former: rows('before'), present: rows('data') }
    const [former, present] = await this.#queryBeforeAndAfter(query, collected, request)
    const old = isOld(collected) ? own.map(({ id }) => id) : []
    const today = await this.#queryCurrent(type, old, request)
    for (const [at, one] of own.entries()) {
      const shown = isOld(collected) ? today.get(Number(one.id)) : present.get(at)
      const visibility = { type, events: collected.events, callerIds: request.callerIds, shown }
      addChange(one, { ...visibility, former: former.get(at), present: present.get(at) })
    }
  }

  /** Entities that were not changed themselves. */
  async #readDependents(
    type: FollowedType,
    collected: CollectedOperation,
    request: EventRequest,
  ): Promise<void> {
    const { changed, events } = collected
    const { callerIds } = request
    const done = new Set(changed.flatMap(({ entity, id }) => (entity === type.name ? (id ?? []) : [])))
    for (const dependency of type.plan.dependencies) {
      const ids = changedIds(dependency, changed)
      if (ids === undefined) continue
      const most = (budget.feedDependents + 1) * callerIds.length
      const params = { $changed: JSON.stringify(ids), $most: most }
      const query = { type, statement: type.plan.dependents(dependency), former: params, present: params }
      const [former, present] = await this.#queryBeforeAndAfter(query, collected, request)
      if (countSeen(former) >= most || countSeen(present) >= most) return resetAll(type, collected, request)
      const fresh = new Set([...former.keys(), ...present.keys()]).difference(done)
      const today = await this.#queryCurrent(type, isOld(collected) ? [...fresh] : [], request)
      for (const id of fresh) {
        done.add(id)
        const shown = isOld(collected) ? today.get(id) : present.get(id)
        addDependent(id, { type, events, callerIds, former: former.get(id), present: present.get(id), shown })
      }
    }
  }

  /** What callers saw before the operation, and what they see after it. */
  #queryBeforeAndAfter(
    { type, statement, former, present }: BeforeAndAfter,
    { operation }: CollectedOperation,
    request: EventRequest,
  ): Promise<[VisibleEntities, VisibleEntities]> {
    const place = positionParts(operation.position).seq
    return Promise.all([
      this.#query(type, statement, request, { ...former, [PLACE]: place - 1 }),
      this.#query(type, statement, request, { ...present, [PLACE]: place }),
    ])
  }

  /** Entities as they are seen today. */
  #queryCurrent(
    type: FollowedType,
    ids: readonly (number | null)[],
    request: EventRequest,
  ): Promise<VisibleEntities> {
    return this.#query(type, type.plan.current, request, { $changed: JSON.stringify([...new Set(ids)]) })
  }

  async #query(
    type: FollowedType,
    statement: Statement,
    { callerIds }: EventRequest,
    params: Params,
  ): Promise<VisibleEntities> {
    if (params.$rows === '[]' || params.$changed === '[]') return new Map()
    const callers = JSON.stringify(callerIds.map((one) => [one]))
    const rows = await this.#store.read(statement, {
      ...type.params,
      ...params,
      $callers: callers,
      [NOW]: new Date().toISOString(),
    })
    const visible = new Map<number, Map<CallerId, VisibleEntity>>()
    for (const { number, caller, version, history, json } of rows.map(visibleColumns.read)) {
      const known = visible.get(Number(number)) ?? new Map<CallerId, VisibleEntity>()
      visible.set(Number(number), known)
      const entity = { version: Number(version), history: Number(history) === 1, json: String(json) }
      // If it does not depend on the caller, all of them see it.
      for (const one of type.plan.usesMe ? [callerIdFrom(caller)] : callerIds) known.set(one, entity)
    }
    return visible
  }
}

/** A statement, and its parameters for the state before an operation and after it. */
interface BeforeAndAfter {
  readonly type: FollowedType
  readonly statement: Statement
  readonly former: Params
  readonly present: Params
}

/** An operation, and what is collected about it. */
interface CollectedOperation {
  readonly operation: FeedOperation
  readonly changed: readonly EntityChange[]
  readonly events: EventCollector
}

function collect(operation: FeedOperation, { subscription }: EventRequest): CollectedOperation {
  return {
    operation,
    changed: changedIn(operation.changes),
    events: new EventCollector(operation, subscription.login),
  }
}

/**
 * Whether it is so old that nobody waits for it. Then Entities are sent as they are today, if they can still be seen:
 * only callers who see the history may read former versions.
 */
function isOld({ operation }: CollectedOperation): boolean {
  return Date.parse(operation.at) < Date.now() - budget.feedPastMs
}

/** Whether changes of a type matter to whoever follows another. */
function isOf({ name, plan }: FollowedType, entity: string, login?: string): boolean {
  return (
    entity === name ||
    plan.dependencies.some(({ type }) => type === entity) ||
    (plan.mine.size > 0 && entity === login)
  )
}

/** Whether it is no longer known who saw it before. If it was purged since, only its deletion causes an event. */
function isLost({ lost, data, kind }: EntityChange): boolean {
  return lost && (data !== null || kind === 'delete')
}

function isPurge({ kind }: EntityChange): boolean {
  return kind === 'purge'
}

function numbered(number: number, state: string | null): [number, string][] {
  return state === null ? [] : [[number, state]]
}

function callerIdFrom(caller: Bound): CallerId {
  return caller === null ? null : Number(caller)
}

function countSeen(visible: VisibleEntities): number {
  let rows = 0
  for (const seen of visible.values()) rows += seen.size
  return rows
}

function resetAll(
  { name }: FollowedType,
  { events }: Pick<CollectedOperation, 'events'>,
  { callerIds }: EventRequest,
): void {
  for (const one of callerIds) events.reset(one, name)
}

/** Resets callers whose own fields have changed, if these decide what they see. */
function resetChangedCallers(
  { name, plan: { mine } }: FollowedType,
  { changed, events }: CollectedOperation,
  { callerIds, subscription: { login } }: EventRequest,
): void {
  const callers = changed.filter((one) => mine.size > 0 && one.entity === login && touches(one, mine))
  for (const { id } of callers) if (callerIds.includes(id)) events.reset(id, name)
}

/** The ids to look for dependents by; undefined if nothing has changed that matters. */
function changedIds(
  { type, path, columns }: Dependency,
  changed: readonly EntityChange[],
): number[] | undefined {
  const touched = changed.filter((one) => one.entity === type && touches(one, columns))
  if (touched.length === 0) return undefined
  if (path.kind === 'referrers') return touched.flatMap((one) => referredIn(one, path))
  return touched.flatMap(({ id }) => id ?? [])
}

/** How callers saw an Entity before an operation, and how they see it after. */
interface EntityVisibility {
  readonly type: FollowedType
  readonly events: EventCollector
  readonly callerIds: readonly CallerId[]
  readonly former: ReadonlyMap<CallerId, VisibleEntity> | undefined
  readonly present: ReadonlyMap<CallerId, VisibleEntity> | undefined
  /** What is sent of the Entity, unless there is a later version. */
  readonly shown: ReadonlyMap<CallerId, VisibleEntity> | undefined
}

/** Adds nothing if the Entity was hidden or changed again since: a later operation has the event. */
function addUpsert(id: number, callerId: CallerId, { type, events, present, shown }: EntityVisibility): void {
  const entity = shown?.get(callerId)
  if (entity !== undefined && entity.version === present?.get(callerId)?.version)
    events.upsert(callerId, type.name, id, entity)
}

function addChange(change: EntityChange, visibility: EntityVisibility): void {
  const { type, events, callerIds, former, present } = visibility
  const { id } = change
  if (id === null) return
  const isUnknown = isLost(change)
  for (const one of callerIds) {
    if (present?.has(one)) addUpsert(id, one, visibility)
    else if (former?.has(one) || (isUnknown && type.plan.seesAll)) events.remove(one, type.name, id)
    // It is no longer known who saw it, and those who did not must not learn its id.
    else if (isUnknown) events.reset(one, type.name)
  }
}

/** Adds the events of an Entity that was not changed itself. */
function addDependent(id: number, visibility: EntityVisibility): void {
  const { type, events, callerIds, former, present } = visibility
  for (const one of callerIds) {
    const [before, after] = [former?.get(one), present?.get(one)]
    if (after === undefined && before !== undefined) events.remove(one, type.name, id)
    if (after !== undefined && after.json !== before?.json) addUpsert(id, one, visibility)
  }
}
