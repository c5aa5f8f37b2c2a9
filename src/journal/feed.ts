import { Failure } from '../errors.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import { endColumns, type FeedPlan, followedColumns, soleColumns, windowColumns } from '../plan/past/feed.ts'
import type { Bound } from '../store/dialect.ts'
import { INCARNATION } from '../store/migration/incarnation.ts'
import { CUT } from '../store/migration/metadata.ts'
import type { Store } from '../store/store.ts'
import { type Position, PositionGone, positionAt, positionParts } from './position.ts'

/** The maximum number of changes in one answer. */
const CHANGES_MAX = 1000
/** How many changes are searched at once. The larger window is for long operations and rare types. */
const FIRST_WINDOW = 200
const WINDOW = 5000
const WINDOWS_MAX = 10
/** How long to wait for running transactions to end; the shorter time is for callers that can do without it. */
const SETTLE_TIMEOUT_MS = 5000
const GLANCE_MS = 500
const PAUSE_MS = 5

export interface FeedOptions {
  /** The maximum number of operations in one answer. */
  readonly limit: number
  /** Only operations with changes of these types, and only these changes. */
  readonly entities?: readonly string[] | undefined
}

/** Operations in the order of commits. */
export interface FeedPage {
  readonly operations: readonly FeedOperation[]
  /** The position to continue from. */
  readonly next: Position
  /** Whether more can be read right now. This can be true even for a page without operations. */
  readonly more: boolean
  /** Whether changes are committed but not readable yet, because others are still writing: ask again in a moment. */
  readonly pending: boolean
}

/** An operation with all of its changes. If it is larger than an answer, with the first of them. */
export interface FeedOperation {
  readonly id: string
  readonly at: string
  readonly actor: string | null
  /** The operation that caused this one. */
  readonly cause: string | null
  /** The position right after it. */
  readonly position: Position
  readonly changes: readonly FeedChange[]
  /** The argument of `changes` for the remaining ones; `null` if these are all. */
  readonly rest: number | null
}

/** An operation found by its id. */
export type ReadOperation = Omit<FeedOperation, 'position'>

/** One change of an operation; they are in the order in which they were made. */
export interface FeedChange {
  readonly entity: string
  /** `null` for a migration, which concerns the whole type. */
  readonly id: number | null
  readonly version: number
  readonly kind: string
  /** The Entity after and before the change, as JSON; `null` if there is none or it was erased since. */
  readonly data: string | null
  readonly before: string | null
}

/**
 * The journal for readers that follow it. A reader that continues from `next` gets each operation once and whole, and
 * the versions of each Entity in order.
 */
export class Feed {
  readonly #store: Store
  readonly #plan: FeedPlan
  /** The incarnation as it was last read. */
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

  /** The current position. All later commits come after it, and at most the last few moments of earlier ones. */
  async now(): Promise<Position> {
    const { incarnation, settled } = await this.#settledEnd(SETTLE_TIMEOUT_MS)
    if (settled === undefined)
      throw new Failure('unavailable', {
        cause: new Error('a transaction that writes to the journal does not end'),
        headers: { 'Retry-After': '1' },
      })
    return positionAt(incarnation, settled)
  }

  /**
   * A position of a moment ago, for a caller that reads data now and follows changes afterwards: all later commits come
   * after it. Undefined if it takes too long to find one.
   */
  recent(): MaybePromise<Position | undefined> {
    const { recent } = this.#store
    if (recent !== undefined && this.#incarnation !== undefined) return positionAt(this.#incarnation, recent)
    // All concurrent callers share one query: right after a start there can be hundreds.
    this.#looking ??= this.#lookRecent().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #lookRecent(): Promise<Position | undefined> {
    const { incarnation, settled } = await this.#settledEnd(GLANCE_MS)
    return settled === undefined ? undefined : positionAt(incarnation, settled)
  }

  /** The next page after a position. Throws `PositionGone` if operations after it are missing. */
  async after(position: Position, { limit, entities }: FeedOptions): Promise<FeedPage> {
    const end = await this.#end()
    const after = numberIn(position, end, entities)
    const upto = (await this.#store.settled(end.last)) ?? 0
    const pending = upto < end.last
    if (upto <= after) return { operations: [], next: position, more: false, pending }
    const found = await this.#look({ after, upto, limit, entities })
    const { operations, place } = await this.#fill(found, end.incarnation, entities)
    // Retention may have erased in the meantime what was being read.
    numberIn(position, await this.#end(), entities)
    return { operations, next: positionAt(end.incarnation, place), more: place < upto, pending }
  }

  /** One operation by its id, with the first of its changes; undefined if it has no changes of these types. */
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

  /** Throws `PositionGone` if changes of these types after the position are missing. */
  async check(position: Position, entities?: readonly string[]): Promise<void> {
    numberIn(position, await this.#end(), entities)
  }

  /** The remaining changes of an operation that is larger than an answer. */
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

  /** The first position after which no changes of these types are missing: retention has erased earlier ones. */
  async oldest(entities: readonly string[]): Promise<Position> {
    const { incarnation, metadata } = await this.#end()
    const cuts = entities.map((name) => Number(metadata.get(CUT + name) ?? 0))
    return positionAt(incarnation, Math.max(0, ...cuts))
  }

  /** One change, with the data of its operation; undefined if it was erased. */
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

  /** The age of the oldest committed change that cannot be read yet, in milliseconds. */
  async lag(): Promise<number> {
    const { last, settled = 0 } = await this.#settledEnd(GLANCE_MS)
    if (settled >= last) return 0
    const at = new Date().toISOString()
    const [row] = await this.#store.read(this.#plan.next, { $after: settled, $at: at })
    const [now = 0, then = 0] = (row ?? []).map((text) => Date.parse(String(text).replaceAll('"', '')))
    return Math.max(0, now - then)
  }

  /** The number of a position in this incarnation, for storing in the database itself. `positionOf` is the inverse. */
  async numberOf(position: Position): Promise<number> {
    return numberIn(position, await this.#end(), [])
  }

  async positionOf(number: number): Promise<Position> {
    return positionAt((await this.#end()).incarnation, number)
  }

  async #end(): Promise<End> {
    const rows = (await this.#store.read(this.#plan.end, {})).map(endColumns.read)
    const metadata = new Map(rows.map(({ key, value }) => [String(key), String(value)]))
    this.#incarnation = metadata.get(INCARNATION) ?? ''
    return { last: Number(rows[0]?.last ?? 0), incarnation: this.#incarnation, metadata }
  }

  /** The end of the journal once all current entries are settled, or what is known of it after `timeoutMs`. */
  async #settledEnd(timeoutMs: number): Promise<End & { readonly settled: number | undefined }> {
    const end = await this.#end()
    for (const until = performance.now() + timeoutMs; ; ) {
      const settled = await this.#store.settled(end.last)
      if (settled === end.last || performance.now() > until) return { ...end, settled }
      await Bun.sleep(PAUSE_MS)
    }
  }

  /** The next operations that end after a number, and the number up to which the search is complete. */
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

  /** Reads the changes of operations, as many as an answer has room for. */
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
    // The last operation may be incomplete. The next answer has it, unless it is too large for any answer.
    const returned = isWhole ? found : found.slice(0, Math.max(1, found.length - 1))
    const isPart = !isWhole && found.length === 1
    const operations = returned.map((one): FeedOperation => {
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
    return { operations, place: isWhole ? place : lastPlace(returned) }
  }
}

/** The end of the journal. `metadata`: the incarnation, and how far retention has cut each type, by key. */
interface End {
  readonly last: number
  readonly incarnation: string
  readonly metadata: ReadonlyMap<string, string>
}

interface Search {
  readonly after: number
  readonly upto: number
  readonly limit: number
  readonly entities: readonly string[] | undefined
}

/** An operation, the number of its last change, and the number of its changes in the window. */
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

/** As many operations as an answer may have room for. The last one may not fit. */
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

/** The number of a position. Throws if changes after it are missing: of these types, or of any. */
function numberIn(
  position: Position,
  { incarnation: present, last, metadata }: End,
  entities: readonly string[] | undefined,
): number {
  const { incarnation, seq } = positionParts(position)
  const isCut = ([key, place]: readonly [string, string]) =>
    key.startsWith(CUT) && Number(place) > seq && (entities?.some((name) => key === CUT + name) ?? true)
  if (incarnation !== present || seq > last || [...metadata].some(isCut)) throw new PositionGone()
  return seq
}

type FollowedRow = ReturnType<typeof followedColumns.read>

/** Whether these are all changes, with none left to read. */
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
