import { Failure } from '../errors.ts'
import { endColumns, type FeedPlan, followedColumns, soleColumns, windowColumns } from '../plan/past/feed.ts'
import type { Soon } from '../soon.ts'
import type { Bound } from '../store/dialect.ts'
import { INCARNATION } from '../store/migration/incarnation.ts'
import { CUT } from '../store/migration/memory.ts'
import type { Store } from '../store/store.ts'
import { type Position, PositionGone, positionAt, positionParts } from './position.ts'

/** How many changes one answer has at most. */
const CHANGES_MAX = 1000
/** How many changes are looked through at once; the more where operations are long, or few of them are asked for. */
const FIRST_WINDOW = 200
const WINDOW = 5000
const WINDOWS_MAX = 10
/** How long the end of the journal is waited for while others write; and by those who only want to know how far it is. */
const PATIENCE_MS = 5000
const GLANCE_MS = 500
const PAUSE_MS = 5

export interface FeedOptions {
  /** How many operations an answer has at most. */
  readonly limit: number
  /** Only operations with changes of these types, and only these changes. */
  readonly entities?: readonly string[] | undefined
}

/** Operations in the order of commits. */
export interface FeedPage {
  readonly operations: readonly FeedOperation[]
  /** Where to go on. */
  readonly next: Position
  /** Whether there is more to be read right now: an answer without operations does not say that there is not. */
  readonly more: boolean
  /** Whether something is committed that cannot be read yet, since others are still writing: ask again in a moment. */
  readonly pending: boolean
}

/** An operation with all of its changes; but of one that is larger than an answer, with the first of them. */
export interface FeedOperation {
  readonly id: string
  readonly at: string
  readonly actor: string | null
  /** The operation that caused this one. */
  readonly cause: string | null
  /** Right behind it. */
  readonly position: Position
  readonly changes: readonly FeedChange[]
  /** What `changes` goes on with; `null` where these are all. */
  readonly rest: number | null
}

/** An operation that was looked for by its id. */
export type ReadOperation = Omit<FeedOperation, 'position'>

/** A change, in the order in which it was made. */
export interface FeedChange {
  readonly entity: string
  /** `null` for a migration, which is of the whole type. */
  readonly id: number | null
  readonly version: number
  readonly kind: string
  /** The Entity as it then stood, and as it stood before, as JSON: `null` where there is none, or where it was erased since. */
  readonly data: string | null
  readonly before: string | null
}

/**
 * The journal as it is followed: whatever follows writes reads this. Whoever goes on from `next` gets each operation once
 * and whole, and the versions of each Entity in their order.
 */
export class Feed {
  readonly #store: Store
  readonly #plan: FeedPlan
  /** As it was read last. */
  #incarnation: string | undefined
  #looking: Promise<Position | undefined> | undefined

  constructor(store: Store, plan: FeedPlan) {
    this.#store = store
    this.#plan = plan
  }

  /** The beginning of the journal. */
  async start(): Promise<Position> {
    return positionAt((await this.#end()).incarnation, 0)
  }

  /** Whatever is committed from here on comes behind it; of what was committed before, at most the last few moments. */
  async now(): Promise<Position> {
    const { incarnation, settled } = await this.#settledEnd(PATIENCE_MS)
    if (settled === undefined)
      throw new Failure('unavailable', {
        cause: new Error('a transaction that writes to the journal does not end'),
        headers: { 'Retry-After': '1' },
      })
    return positionAt(incarnation, settled)
  }

  /**
   * A position of a moment ago, for whoever is about to read the data and then follows them: what is committed from here
   * on comes behind it. Undefined where it takes too long to know one.
   */
  recent(): Soon<Position | undefined> {
    const { recent } = this.#store
    if (recent !== undefined && this.#incarnation !== undefined) return positionAt(this.#incarnation, recent)
    // One look for all who ask meanwhile: right after a start these can be hundreds.
    this.#looking ??= this.#lookRecent().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #lookRecent(): Promise<Position | undefined> {
    const { incarnation, settled } = await this.#settledEnd(GLANCE_MS)
    return settled === undefined ? undefined : positionAt(incarnation, settled)
  }

  /** Throws `PositionGone` where something behind the position is missing. */
  async after(position: Position, { limit, entities }: FeedOptions): Promise<FeedPage> {
    const end = await this.#end()
    const after = numberIn(position, end, entities)
    const upto = (await this.#store.settled(end.last)) ?? 0
    const pending = upto < end.last
    if (upto <= after) return { operations: [], next: position, more: false, pending }
    const found = await this.#look({ after, upto, limit, entities })
    const { operations, place } = await this.#fill(found, end.incarnation, entities)
    // Retention may have cut meanwhile what was just to be read.
    numberIn(position, await this.#end(), entities)
    return { operations, next: positionAt(end.incarnation, place), more: place < upto, pending }
  }

  /** One operation, by its id, with the first of its changes; undefined where it has none of these types. */
  async operation(id: string, entities?: readonly string[]): Promise<ReadOperation | undefined> {
    const found = await this.#further(id, 0, entities)
    const [first] = found
    if (first === undefined) return undefined
    return {
      id,
      at: String(first.at),
      actor: textOrNull(first.actor),
      cause: textOrNull(first.cause),
      changes: found.map(feedChange),
      rest: isAll(found) ? null : lastNumber(found),
    }
  }

  /** The same, where something behind it may be gone: of these types. */
  async check(position: Position, entities?: readonly string[]): Promise<void> {
    numberIn(position, await this.#end(), entities)
  }

  /** The further changes of an operation that is larger than an answer. */
  async changes(
    operation: string,
    rest: number,
    entities?: readonly string[],
  ): Promise<Pick<FeedOperation, 'changes' | 'rest'>> {
    const found = await this.#further(operation, rest, entities)
    return { changes: found.map(feedChange), rest: isAll(found) ? null : lastNumber(found) }
  }

  async #further(
    operation: string,
    behind: number,
    entities: readonly string[] | undefined,
  ): Promise<FollowedRow[]> {
    const rows = await this.#store.read(this.#plan.further(CHANGES_MAX, entities !== undefined), {
      $operation: operation,
      $behind: behind,
      $entities: JSON.stringify(entities ?? []),
    })
    return rows.map(followedColumns.read)
  }

  /** The first position from which nothing of these types is missing: retention has cut what came before. */
  async oldest(entities: readonly string[]): Promise<Position> {
    const { incarnation, told } = await this.#end()
    const cuts = entities.map((name) => Number(told.get(CUT + name) ?? 0))
    return positionAt(incarnation, Math.max(0, ...cuts))
  }

  /** One change by itself, with what is known of its operation; undefined if it was cut. */
  async change(
    entity: string,
    id: number,
    version: number,
  ): Promise<(FeedChange & Pick<FeedOperation, 'at' | 'actor' | 'cause'>) | undefined> {
    const [row] = await this.#store.read(this.#plan.change, {
      $entity: entity,
      $id: id,
      $version: version,
    })
    if (row === undefined) return undefined
    const found = soleColumns.read(row)
    const { at, actor, cause } = found
    return {
      ...feedChange(found),
      at: String(at),
      actor: textOrNull(actor),
      cause: textOrNull(cause),
    }
  }

  /** How long the oldest change that is committed and cannot be read yet has been there, in milliseconds. */
  async lag(): Promise<number> {
    const { last, settled = 0 } = await this.#settledEnd(GLANCE_MS)
    if (settled >= last) return 0
    const at = new Date().toISOString()
    const [row] = await this.#store.read(this.#plan.next, { $after: settled, $at: at })
    const [now = 0, then = 0] = (row ?? []).map((text) => Date.parse(String(text).replaceAll('"', '')))
    return Math.max(0, now - then)
  }

  /** The number of a position of this incarnation, and the other way round: for what is kept in the database itself. */
  async numberOf(position: Position): Promise<number> {
    return numberIn(position, await this.#end(), [])
  }

  async positionOf(number: number): Promise<Position> {
    return positionAt((await this.#end()).incarnation, number)
  }

  async #end(): Promise<End> {
    const rows = (await this.#store.read(this.#plan.end, {})).map(endColumns.read)
    const told = new Map(rows.map(({ key, value }) => [String(key), String(value)]))
    this.#incarnation = told.get(INCARNATION) ?? ''
    return { last: Number(rows[0]?.last ?? 0), incarnation: this.#incarnation, told }
  }

  /** The end, once all that is in the journal now is settled; or what is known of it when that takes too long. */
  async #settledEnd(patience: number): Promise<End & { readonly settled: number | undefined }> {
    const end = await this.#end()
    for (const until = performance.now() + patience; ; ) {
      const settled = await this.#store.settled(end.last)
      if (settled === end.last || performance.now() > until) return { ...end, settled }
      await Bun.sleep(PAUSE_MS)
    }
  }

  /** The next operations that end behind a number, and the number up to which all of them were looked through. */
  async #look({ after, upto, limit, entities }: Search): Promise<FoundEnds> {
    let place = after
    for (let windows = 0; windows < WINDOWS_MAX && place < upto; windows++) {
      const size = windows === 0 ? FIRST_WINDOW : WINDOW
      const params = { $after: place, $upto: upto, $entities: JSON.stringify(entities ?? []) }
      const rows = (await this.#store.read(this.#plan.window(size, entities !== undefined), params)).map(
        windowColumns.read,
      )
      const seen = rows.reduce((sum, { changes }) => sum + Number(changes), 0)
      place = seen < size ? upto : Number(rows.at(-1)?.place)
      const ended = rows.filter(({ isEnd }) => Number(isEnd) === 1).map(endedOperation)
      const taken = firstOf(ended, limit)
      if (taken.length > 0)
        return { ended: taken, place: taken.length < ended.length ? lastPlace(taken) : place }
    }
    return { ended: [], place }
  }

  /** Operations with their changes: those that an answer has room for. */
  async #fill(
    { ended, place }: FoundEnds,
    incarnation: string,
    entities: readonly string[] | undefined,
  ): Promise<{ operations: FeedOperation[]; place: number }> {
    if (ended.length === 0) return { operations: [], place }
    const rows = await this.#store.read(this.#plan.changes(CHANGES_MAX, entities !== undefined), {
      $operations: JSON.stringify(ended.map((one) => [one.operation, one.place])),
      $entities: JSON.stringify(entities ?? []),
    })
    const changes = rows.map(followedColumns.read)
    const changed = Map.groupBy(changes, ({ operation }) => String(operation))
    const found = ended.filter(({ operation }) => changed.has(operation))
    const isWhole = isAll(changes)
    // The last one that has come may lack some: it is left to the next answer, unless it is too large for any.
    const told = isWhole ? found : found.slice(0, Math.max(1, found.length - 1))
    const isPart = !isWhole && found.length === 1
    const operations = told.map((one): FeedOperation => {
      const own = changed.get(one.operation) ?? []
      return {
        id: one.operation,
        at: String(own[0]?.at),
        actor: textOrNull(own[0]?.actor),
        cause: textOrNull(own[0]?.cause),
        position: positionAt(incarnation, one.place),
        changes: own.map(feedChange),
        rest: isPart ? lastNumber(own) : null,
      }
    })
    return { operations, place: isWhole ? place : lastPlace(told) }
  }
}

/** Where the journal ends, and what is told of it. */
interface End {
  readonly last: number
  readonly incarnation: string
  readonly told: ReadonlyMap<string, string>
}

interface Search {
  readonly after: number
  readonly upto: number
  readonly limit: number
  readonly entities: readonly string[] | undefined
}

/** An operation, the number of its last change, and how many there were in the window. */
interface Ended {
  readonly operation: string
  readonly place: number
  readonly changes: number
}

interface FoundEnds {
  readonly ended: readonly Ended[]
  readonly place: number
}

function endedOperation({ operation, place, changes }: ReturnType<typeof windowColumns.read>): Ended {
  return { operation: String(operation), place: Number(place), changes: Number(changes) }
}

/** As many as an answer may have room for. */
function firstOf(ended: readonly Ended[], limit: number): readonly Ended[] {
  const taken: Ended[] = []
  for (let changes = 0; taken.length < limit && changes < CHANGES_MAX; ) {
    const one = ended[taken.length]
    if (one === undefined) break
    taken.push(one)
    changes += one.changes
  }
  return taken
}

function lastPlace(ended: readonly Ended[]): number {
  return ended.at(-1)?.place ?? 0
}

/** Throws where not all that comes behind the position is there: in general, or of these types. */
function numberIn(
  position: Position,
  { incarnation: present, last, told }: End,
  entities: readonly string[] | undefined,
): number {
  const { incarnation, seq } = positionParts(position)
  const isCut = ([key, place]: readonly [string, string]) =>
    key.startsWith(CUT) && Number(place) > seq && (entities?.some((name) => key === CUT + name) ?? true)
  if (incarnation !== present || seq > last || [...told].some(isCut)) throw new PositionGone()
  return seq
}

type FollowedRow = ReturnType<typeof followedColumns.read>

/** Whether no further ones are left. */
function isAll(changes: readonly FollowedRow[]): boolean {
  const picked = Number(changes[0]?.picked ?? 0)
  return picked === changes.length && picked < CHANGES_MAX
}

function lastNumber(changes: readonly FollowedRow[]): number {
  return Number(changes.at(-1)?.seq)
}

function feedChange({
  entity,
  id,
  version,
  kind,
  data,
  before,
}: ReturnType<typeof soleColumns.read>): FeedChange {
  return {
    entity: String(entity),
    id: kind === 'migrate' ? null : Number(id),
    version: Number(version),
    kind: String(kind),
    data: textOrNull(data),
    before: textOrNull(before),
  }
}

function textOrNull(value: Bound | undefined): string | null {
  return value == null ? null : String(value)
}
