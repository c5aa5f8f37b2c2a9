import type { Collection, SyncConfig } from '@tanstack/db'
import type { Change } from '../client/answers.ts'
import type { EntityCalls } from '../client/entities.ts'
import type { Row } from '../client/live.ts'
import { growing, pause } from '../client/transport.ts'
import type { AnyApi, Entry, WriteQueue } from './queue.ts'
import { merged, type QueuedPart } from './queued-write.ts'

/** The metadata key of a mutation that shows a write of the queue: it has the id of that write. */
export const QUEUED = 'takeback_write'
/** How many operations are remembered, because the feed may show a write before its answer arrives. */
const OPERATIONS_KEPT = 500
/** Makes the first pause one to two seconds long. */
const FIRST_PAUSE = 3

export type AnyCollection = Collection<Row, number>
type Sync = Parameters<SyncConfig<Row, number>['sync']>[0]

/** The rows that a collection follows. */
export interface Followed {
  readonly entity: string
  readonly filter?: string
  onError(error: unknown): void
}

/** Keeps one collection in step with the server. */
export class Follower {
  readonly queue: WriteQueue
  readonly followed: Followed
  readonly #api: AnyApi
  /** The latest operations that the feed has shown. */
  readonly #operations = new Set<string>()
  readonly #waiting = new Set<() => void>()
  /** The writes that the collection shows. */
  #writes = new Set<string>()
  /** How many writes the feed has not shown yet. */
  #underWay = 0
  #position: string | null = null
  #isFollowing = false

  constructor(api: object, queue: WriteQueue, followed: Followed) {
    this.#api = api as AnyApi
    this.queue = queue
    this.followed = followed
  }

  /** Reads the list, then follows its changes. */
  follow(sync: Sync): () => void {
    const { entity, onError } = this.followed
    const known = new Set<number>()
    this.#isFollowing = true
    this.#writes = new Set()
    const stop = (this.#api.entities[entity] as EntityCalls).follow(this.#filter, {
      told: (rows, position, isNew, changes) => {
        this.#position = position
        if (changes === undefined) fill(sync, rows, known)
        else if (isNew) apply(sync, rows, known, changes)
        this.#notify(changes)
        this.#restore(sync.collection)
      },
      onError(error) {
        if (sync.collection.status === 'loading') sync.markError(error)
        onError(error)
      },
    })
    void this.queue.ready.then(() => this.#restore(sync.collection))
    return () => {
      stop()
      this.#isFollowing = false
      this.#notify()
    }
  }

  get #filter(): { readonly filter?: string } {
    const { filter } = this.followed
    return filter === undefined ? {} : { filter }
  }

  /** Waits until the feed has shown a write. */
  async settle({ write, answered }: Pick<Entry, 'write' | 'answered'>, isInsert: boolean): Promise<void> {
    this.#writes.add(write.id)
    this.#underWay++
    try {
      const { operation } = await answered
      if (operation !== null) await this.#shown(operation)
    } finally {
      this.#underWay--
      this.#notify()
    }
    // While other writes are under way, TanStack DB holds back the changes of the feed. An inserted row, which gets its
    // real key from the feed, would be missing until then.
    if (isInsert) await this.#until(() => this.#underWay === 0)
  }

  async #shown(operation: string): Promise<void> {
    let isEnded = false
    const isShown = () => isEnded || !this.#isFollowing || this.#operations.has(operation)
    for (let tries = FIRST_PAUSE; !isShown(); tries++) {
      const woken = new AbortController()
      const shown = this.#until(isShown).then(() => woken.abort())
      await Promise.race([shown, pause(growing(tries), woken.signal).catch(() => {})])
      if (!isShown()) isEnded = await this.#isHidden(operation)
    }
    this.#notify()
  }

  /** Whether the feed will never show an operation: its rows are outside of the filter, or the list had them already. */
  async #isHidden(operation: string): Promise<boolean> {
    try {
      for (let since = this.#position; since !== null; ) {
        const asked = { since, entity: this.followed.entity, ...this.#filter }
        const { data, next, more } = await this.#api.changes(asked)
        if (data.some((change) => change.type === 'reset' || change.operation === operation)) return false
        if (!more) return true
        since = next
      }
    } catch {
      // The network is down, or the list is about to be read again.
    }
    return false
  }

  #until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!holds()) return
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
    })
  }

  #notify(changes: readonly Change[] = []): void {
    for (const change of changes) if ('operation' in change) this.#operations.add(change.operation)
    for (const operation of this.#operations) {
      if (this.#operations.size <= OPERATIONS_KEPT) break
      this.#operations.delete(operation)
    }
    for (const look of this.#waiting) look()
  }

  /** Shows pending writes of an earlier page load, or from before the collection was cleaned up. */
  #restore(collection: AnyCollection): void {
    if (!this.#isFollowing || collection.status === 'error') return
    for (const { id, parts } of this.queue.pending) {
      const own = parts.filter(({ entity }) => entity === this.followed.entity)
      if (this.#writes.has(id) || own.length === 0 || !canShow(collection, own)) continue
      for (const part of own) show(collection, part, id)
    }
  }
}

/** Replaces all rows by the list. TanStack DB shows them at once, even while writes are under way. */
function fill(sync: Sync, rows: ReadonlyMap<number, Row>, known: Set<number>): void {
  known.clear()
  sync.begin()
  sync.truncate()
  for (const [id, value] of rows) {
    known.add(id)
    sync.write({ type: 'insert', value })
  }
  sync.commit()
  sync.markReady()
}

function apply(
  sync: Sync,
  rows: ReadonlyMap<number, Row>,
  known: Set<number>,
  changes: readonly Change[],
): void {
  sync.begin()
  for (const id of new Set(changes.flatMap((change) => ('id' in change ? [change.id] : [])))) {
    const value = rows.get(id)
    if (value !== undefined) sync.write({ type: known.has(id) ? 'update' : 'insert', value })
    else if (known.has(id)) sync.write({ type: 'delete', key: id })
    if (value === undefined) known.delete(id)
    else known.add(id)
  }
  sync.commit()
}

/** Whether the collection has the rows that the parts change, and none that they insert. If not, they wait. */
function canShow(collection: AnyCollection, parts: readonly QueuedPart[]): boolean {
  return parts.every(({ type, id }) => collection.has(id) !== (type === 'insert'))
}

function show(collection: AnyCollection, { type, id, body = {} }: QueuedPart, write: string): void {
  const config = { metadata: { [QUEUED]: write } }
  if (type === 'insert') collection.insert({ ...body, id } as Row, config)
  else if (type === 'delete') collection.delete(id, config)
  else
    collection.update(id, config, (draft) => {
      Object.assign(draft, merged(draft, body))
    })
}
