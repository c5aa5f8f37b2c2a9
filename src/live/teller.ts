import { budget } from '../budget.ts'
import type { Feed, FeedOperation } from '../journal/feed.ts'
import { positionParts } from '../journal/position.ts'
import type { Dependency } from '../plan/condition/dependencies.ts'
import { NOW } from '../plan/condition/row-source.ts'
import { PLACE } from '../plan/past/place.ts'
import { sightColumns } from '../plan/view/follow.ts'
import type { Bound, Params } from '../store/dialect.ts'
import type { Statement } from '../store/sql.ts'
import type { Store } from '../store/store.ts'
import { changedIn, type EntityChange, referredIn, touches } from './changed.ts'
import { OperationEvents, type ToldEntity, type ToldOperation } from './events.ts'
import type { Eyes, FollowedType, Subscription } from './subscription.ts'

/** What eyes see, by a number and by whose eyes they are. */
type ToldEntities = ReadonlyMap<number, ReadonlyMap<Eyes, ToldEntity>>

/** Operations, and who asks for them. */
export interface Telling {
  readonly subscription: Subscription
  readonly eyes: readonly Eyes[]
  readonly operations: readonly FeedOperation[]
}

/** Tells what operations have shown to callers, and what they have hidden from them. */
export class Teller {
  readonly #store: Store
  readonly #feed: Feed

  constructor(store: Store, feed: Feed) {
    this.#store = store
    this.#feed = feed
  }

  async tell(telling: Telling): Promise<ToldOperation[]> {
    const all: ToldOperation[] = []
    // Operations that are in one piece are looked at together; one that is not comes alone.
    const whole = telling.operations.filter(({ rest }) => rest === null)
    const chapters = whole.map((operation) => chapterOf(operation, telling))
    for (const type of telling.subscription.types) await this.#tellType(type, chapters, telling)
    for (const operation of telling.operations) {
      const chapter = chapters.find((one) => one.operation === operation)
      all.push(chapter?.events.told ?? (await this.#tellLarge(operation, telling)))
    }
    return all
  }

  /** One that is read in parts. */
  async #tellLarge(operation: FeedOperation, telling: Telling): Promise<ToldOperation> {
    const chapter = chapterOf(operation, telling)
    for (let part: Pick<FeedOperation, 'changes' | 'rest'> = operation; ; ) {
      const changed = changedIn(part.changes)
      for (const type of telling.subscription.types)
        await this.#tellType(type, [{ ...chapter, changed }], telling)
      if (part.rest === null) return chapter.events.told
      part = await this.#feed.changes(operation.id, part.rest, telling.subscription.entities)
    }
  }

  async #tellType(type: FollowedType, chapters: readonly Chapter[], telling: Telling): Promise<void> {
    for (const { changed, events } of chapters)
      if (changed.some((one) => one.id === null && isOf(type, one.entity)))
        resetAll(type, { events }, telling)
    const { dependencies, mine } = type.plan
    if (dependencies.length === 0 && mine.size === 0) return this.#tellPlain(type, chapters, telling)
    for (const chapter of chapters) await this.#tellPlaced(type, chapter, telling)
  }

  /** Where nothing but the Entity itself decides who sees it: all changes with one statement. */
  async #tellPlain(type: FollowedType, chapters: readonly Chapter[], telling: Telling): Promise<void> {
    const all = chapters.flatMap((chapter) =>
      chapter.changed
        .filter(({ entity, id }) => entity === type.name && id !== null)
        .map((one) => ({ one, chapter })),
    )
    const rows = all.flatMap(({ one: { before, data } }, at) => [
      ...numbered(2 * at, before),
      ...numbered(2 * at + 1, data),
    ])
    const sights = await this.#look(type, type.plan.seen, telling, { $rows: JSON.stringify(rows) })
    const old = all.filter(({ chapter }) => isOld(chapter)).map(({ one }) => one.id)
    const today = await this.#today(type, old, telling)
    for (const [at, { one, chapter }] of all.entries()) {
      const [former, present] = [sights.get(2 * at), sights.get(2 * at + 1)]
      const shown = isOld(chapter) ? today.get(Number(one.id)) : present
      tellChange(one, { type, events: chapter.events, eyes: telling.eyes, former, present, shown })
    }
  }

  /** Where other Entities decide it too: each operation by itself, with all of them as they stood before and after it. */
  async #tellPlaced(type: FollowedType, chapter: Chapter, telling: Telling): Promise<void> {
    const { login } = telling.subscription
    const concerned = chapter.changed.filter(({ id, entity }) => id !== null && isOf(type, entity, login))
    if (concerned.length === 0) return
    const place = positionParts(chapter.operation.position).seq
    const isFar = (this.#store.recent ?? 0) - place > budget.feedBehind
    // A purge may have come after the operations before it were read, and before it was looked who saw them.
    const isBlind = concerned.some((one) => isPurge(one) || (one.entity !== type.name && isLost(one)))
    if (isFar || isBlind) return resetAll(type, chapter, telling)
    resetChangedCallers(type, chapter, telling)
    await this.#tellOwn(type, chapter, telling)
    await this.#tellDependents(type, chapter, telling)
  }

  async #tellOwn(type: FollowedType, chapter: Chapter, telling: Telling): Promise<void> {
    const own = chapter.changed.filter(({ entity, id }) => entity === type.name && id !== null)
    const rows = (state: 'before' | 'data') => ({
      $rows: JSON.stringify(own.flatMap((one, at) => numbered(at, one[state]))),
    })
    const asked = { type, statement: type.plan.seen, former: rows('before'), present: rows('data') }
    const [former, present] = await this.#lookTwice(asked, chapter, telling)
    const old = isOld(chapter) ? own.map(({ id }) => id) : []
    const today = await this.#today(type, old, telling)
    for (const [at, one] of own.entries()) {
      const shown = isOld(chapter) ? today.get(Number(one.id)) : present.get(at)
      const seeing = { type, events: chapter.events, eyes: telling.eyes, shown }
      tellChange(one, { ...seeing, former: former.get(at), present: present.get(at) })
    }
  }

  /** Entities that were not changed themselves. */
  async #tellDependents(type: FollowedType, chapter: Chapter, telling: Telling): Promise<void> {
    const { changed, events } = chapter
    const { eyes } = telling
    const done = new Set(changed.flatMap(({ entity, id }) => (entity === type.name ? (id ?? []) : [])))
    for (const dependency of type.plan.dependencies) {
      const ids = idsBehind(dependency, changed)
      if (ids === undefined) continue
      const most = (budget.feedDependents + 1) * eyes.length
      const params = { $changed: JSON.stringify(ids), $most: most }
      const asked = { type, statement: type.plan.dependents(dependency), former: params, present: params }
      const [former, present] = await this.#lookTwice(asked, chapter, telling)
      if (countSeen(former) >= most || countSeen(present) >= most) return resetAll(type, chapter, telling)
      const fresh = new Set([...former.keys(), ...present.keys()]).difference(done)
      const today = await this.#today(type, isOld(chapter) ? [...fresh] : [], telling)
      for (const id of fresh) {
        done.add(id)
        const shown = isOld(chapter) ? today.get(id) : present.get(id)
        tellDependent(id, { type, events, eyes, former: former.get(id), present: present.get(id), shown })
      }
    }
  }

  /** Before the operation, and after it. */
  #lookTwice(
    { type, statement, former, present }: LookedTwice,
    { operation }: Chapter,
    telling: Telling,
  ): Promise<[ToldEntities, ToldEntities]> {
    const place = positionParts(operation.position).seq
    return Promise.all([
      this.#look(type, statement, telling, { ...former, [PLACE]: place - 1 }),
      this.#look(type, statement, telling, { ...present, [PLACE]: place }),
    ])
  }

  /** Entities as they are seen today. */
  #today(type: FollowedType, ids: readonly (number | null)[], telling: Telling): Promise<ToldEntities> {
    return this.#look(type, type.plan.current, telling, { $changed: JSON.stringify([...new Set(ids)]) })
  }

  async #look(
    type: FollowedType,
    statement: Statement,
    { eyes }: Telling,
    params: Params,
  ): Promise<ToldEntities> {
    if (params.$rows === '[]' || params.$changed === '[]') return new Map()
    const callers = JSON.stringify(eyes.map((one) => [one]))
    const rows = await this.#store.read(statement, {
      ...type.params,
      ...params,
      $callers: callers,
      [NOW]: new Date().toISOString(),
    })
    const sights = new Map<number, Map<Eyes, ToldEntity>>()
    for (const { number, caller, version, history, json } of rows.map(sightColumns.read)) {
      const known = sights.get(Number(number)) ?? new Map<Eyes, ToldEntity>()
      sights.set(Number(number), known)
      const sight = { version: Number(version), history: Number(history) === 1, json: String(json) }
      // If it does not depend on the caller, all of them see it.
      for (const one of type.plan.usesMe ? [eyesFrom(caller)] : eyes) known.set(one, sight)
    }
    return sights
  }
}

/** A statement, and what it is asked with about the state before an operation and after it. */
interface LookedTwice {
  readonly type: FollowedType
  readonly statement: Statement
  readonly former: Params
  readonly present: Params
}

/** An operation, and what is collected about it. */
interface Chapter {
  readonly operation: FeedOperation
  readonly changed: readonly EntityChange[]
  readonly events: OperationEvents
}

function chapterOf(operation: FeedOperation, { subscription }: Telling): Chapter {
  return {
    operation,
    changed: changedIn(operation.changes),
    events: new OperationEvents(operation, subscription.login),
  }
}

/**
 * Whether it is so old that nobody waits for it. Then nothing of the past is told, which only those may read who see the
 * history: only what is still seen, as it is seen today.
 */
function isOld({ operation }: Chapter): boolean {
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

/** Whether it is not known any more who saw it before. What was purged since is told of once: when it was deleted. */
function isLost({ lost, data, kind }: EntityChange): boolean {
  return lost && (data !== null || kind === 'delete')
}

function isPurge({ kind }: EntityChange): boolean {
  return kind === 'purge'
}

function numbered(number: number, state: string | null): [number, string][] {
  return state === null ? [] : [[number, state]]
}

function eyesFrom(caller: Bound): Eyes {
  return caller === null ? null : Number(caller)
}

function countSeen(sights: ToldEntities): number {
  let rows = 0
  for (const seen of sights.values()) rows += seen.size
  return rows
}

function resetAll({ name }: FollowedType, { events }: Pick<Chapter, 'events'>, { eyes }: Telling): void {
  for (const one of eyes) events.reset(one, name)
}

/** Callers whose own fields decide what they see read it anew when these change. */
function resetChangedCallers(
  { name, plan: { mine } }: FollowedType,
  { changed, events }: Chapter,
  { eyes, subscription: { login } }: Telling,
): void {
  const callers = changed.filter((one) => mine.size > 0 && one.entity === login && touches(one, mine))
  for (const { id } of callers) if (eyes.includes(id)) events.reset(id, name)
}

/** The ids to look for dependents by; undefined if nothing has changed that matters. */
function idsBehind(
  { type, way, columns }: Dependency,
  changed: readonly EntityChange[],
): number[] | undefined {
  const touched = changed.filter((one) => one.entity === type && touches(one, columns))
  if (touched.length === 0) return undefined
  if (way.kind === 'referrers') return touched.flatMap((one) => referredIn(one, way))
  return touched.flatMap(({ id }) => id ?? [])
}

/** How eyes saw an Entity before an operation, and how they see it after. */
interface Seeing {
  readonly type: FollowedType
  readonly events: OperationEvents
  readonly eyes: readonly Eyes[]
  readonly former: ReadonlyMap<Eyes, ToldEntity> | undefined
  readonly present: ReadonlyMap<Eyes, ToldEntity> | undefined
  /** What is told of those that they see after it, unless there is a later version. */
  readonly shown: ReadonlyMap<Eyes, ToldEntity> | undefined
}

/** What was hidden or changed again since is told when that comes. */
function upsertShown(id: number, eyes: Eyes, { type, events, present, shown }: Seeing): void {
  const sight = shown?.get(eyes)
  if (sight !== undefined && sight.version === present?.get(eyes)?.version)
    events.upsert(eyes, type.name, id, sight)
}

function tellChange(change: EntityChange, seeing: Seeing): void {
  const { type, events, eyes, former, present } = seeing
  const { id } = change
  if (id === null) return
  const isUnknown = isLost(change)
  for (const one of eyes) {
    if (present?.has(one)) upsertShown(id, one, seeing)
    else if (former?.has(one) || (isUnknown && type.plan.seesAll)) events.remove(one, type.name, id)
    // Who saw it is not known any more: its id must not be told to those who did not.
    else if (isUnknown) events.reset(one, type.name)
  }
}

/** Of one that was not changed itself. */
function tellDependent(id: number, seeing: Seeing): void {
  const { type, events, eyes, former, present } = seeing
  for (const one of eyes) {
    const [before, after] = [former?.get(one), present?.get(one)]
    if (after === undefined && before !== undefined) events.remove(one, type.name, id)
    if (after !== undefined && after.json !== before?.json) upsertShown(id, one, seeing)
  }
}
