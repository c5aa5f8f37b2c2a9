import { type EntityData, get, type Page } from '../../api.ts'
import type { SeenChange } from '../../live.ts'
import { valueAt } from '../../model.ts'
import { nameTargets, type Targets } from './targets.ts'

/** What is read: the parameters of a list, without `limit` and `cursor`. */
export interface RowsRequest {
  readonly entity: string
  readonly query: Readonly<Record<string, string | undefined>>
  /** The references among the columns. */
  readonly targets: Targets
}

export interface RowsState {
  readonly rows: readonly EntityData[]
  /** The cursor of what follows; `null` at the end, `undefined` before the first page. */
  readonly next: string | null | undefined
  readonly error?: unknown
  /** Rows that have just changed, for the eye. */
  readonly changed: ReadonlySet<number>
  /** How many rows there are that are not shown, because the list is long and would have to be read again. */
  readonly unseen: number
}

/** The first page comes quickly, others bring more at once. */
const FIRST = 60
const MORE = 200
/** Up to here a list is read again as a whole when something has changed. Longer ones are mended row by row. */
const SHORT = 400
const MOST_MENDED = 200
const MENDED_AT_ONCE = 40
const GLOW_MS = 2500
const EMPTY: ReadonlySet<number> = new Set()

/** The rows of a list as far as somebody has scrolled, kept up to date without moving what is there. */
export class Rows {
  readonly request: RowsRequest
  /** Where somebody was when they left it. */
  scrollTop = 0
  #state: RowsState = { rows: [], next: undefined, changed: EMPTY, unseen: 0 }
  readonly #listeners = new Set<() => void>()
  readonly #pending = new Set<number>()
  #wanted = 0
  #isUnknown = false
  #loading: Promise<void> | undefined
  #glowing: ReturnType<typeof setTimeout> | undefined

  constructor(request: RowsRequest) {
    this.request = request
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly state = (): RowsState => this.#state

  #change(change: Partial<RowsState>): void {
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }

  async #read(query: object, signal?: AbortSignal): Promise<Page<EntityData>> {
    const { entity, targets, query: own } = this.request
    const page = await get<Page<EntityData>>(`${entity}/`, { ...own, ...query }, signal)
    // The past has no expansions.
    return own.at === undefined ? page : { ...page, data: await nameTargets(page.data, targets, signal) }
  }

  /** Begins where another list is: the same rows, with other columns. */
  resume({ scrollTop, state }: Rows): void {
    this.scrollTop = scrollTop
    this.#wanted = Math.min(SHORT, state().rows.length)
  }

  /** The next page, once: whoever asks while it is on its way waits for the same one. */
  more(): Promise<void> {
    const { next } = this.#state
    if (next === null || next === undefined) return Promise.resolve()
    this.#loading ??= this.#append(next).finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #append(cursor: string): Promise<void> {
    try {
      const page = await this.#read({ limit: MORE, cursor })
      const { rows } = this.#state
      // What was read again meanwhile may have reached further.
      const tail = new Set(rows.slice(-MORE).map(({ id }) => id))
      const added = page.data.filter(({ id }) => !tail.has(id))
      this.#change({ rows: [...rows, ...added], next: page.next, error: undefined })
    } catch (error) {
      this.#change({ error })
    }
  }

  /** What the feed tells. It is read with the next `renew`. */
  note(changes: readonly SeenChange[]): void {
    const { entity, targets } = this.request
    for (const { entity: type, id, type: kind } of changes) {
      if (type !== entity && !Object.values(targets).some(({ to }) => to === type)) continue
      if (kind === 'reset' || id === undefined) this.#isUnknown = true
      else if (type === entity) this.#pending.add(id)
      else this.#noteTarget(type, id, targets)
    }
  }

  /** Whoever shows the name of something shows it anew. */
  #noteTarget(type: string, id: number, targets: Targets): void {
    const paths = Object.keys(targets).filter((path) => targets[path]?.to === type)
    for (const row of this.#state.rows)
      if (paths.some((path) => valueAt(row, `${path}.id`) === id)) this.#pending.add(row.id)
  }

  /** Reads the first page, or what has changed since. */
  async renew(signal?: AbortSignal): Promise<void> {
    const { rows, next } = this.#state
    const pending = new Set(this.#pending)
    this.#pending.clear()
    try {
      if (next === undefined || rows.length <= SHORT) await this.#readAgain(signal)
      else await this.#mend(pending, signal)
    } catch (error) {
      for (const id of pending) this.#pending.add(id)
      throw error
    }
  }

  /** From the top, as for somebody who has just come. */
  async reload(): Promise<void> {
    const page = await this.#read({ limit: FIRST })
    this.#isUnknown = false
    this.#change({ rows: page.data, next: page.next, unseen: 0, error: undefined })
  }

  async #readAgain(signal?: AbortSignal): Promise<void> {
    const before = this.#state
    const wanted = Math.max(FIRST, before.rows.length, this.#wanted)
    let rows: readonly EntityData[] = []
    let cursor: string | null | undefined
    do {
      const limit = Math.min(MORE, wanted - rows.length)
      const page: Page<EntityData> = await this.#read({ limit, cursor }, signal)
      rows = [...rows, ...page.data]
      cursor = page.next
    } while (cursor !== null && rows.length < wanted)
    this.#isUnknown = false
    this.#change({ rows, next: cursor, unseen: 0, error: undefined })
    if (before.next !== undefined) this.#glow(differing(before.rows, rows))
  }

  /** A long list: what has changed is replaced where it stands, what is gone leaves, what is new is counted. */
  async #mend(pending: ReadonlySet<number>, signal?: AbortSignal): Promise<void> {
    if (pending.size === 0 && !this.#isUnknown) return
    if (this.#isUnknown || pending.size > MOST_MENDED) {
      this.#change({ unseen: this.#state.unseen + Math.max(1, pending.size) })
      return
    }
    const found = await this.#readThese([...pending], signal)
    const { rows, unseen } = this.#state
    const known = new Set(rows.map(({ id }) => id))
    const after = rows.flatMap((row) =>
      pending.has(row.id) ? (found.has(row.id) ? [found.get(row.id) ?? row] : []) : [row],
    )
    const added = [...found.keys()].filter((id) => !known.has(id)).length
    this.#change({ rows: after, unseen: unseen + added })
    this.#glow(differing(rows, after))
  }

  async #readThese(ids: readonly number[], signal?: AbortSignal): Promise<Map<number, EntityData>> {
    const { filter } = this.request.query
    const found = new Map<number, EntityData>()
    for (let at = 0; at < ids.length; at += MENDED_AT_ONCE) {
      const these = `id in [${ids.slice(at, at + MENDED_AT_ONCE).join(', ')}]`
      const both = filter === undefined ? these : `(${filter}) && ${these}`
      const page = await this.#read({ limit: MENDED_AT_ONCE, filter: both }, signal)
      for (const row of page.data) found.set(row.id, row)
    }
    return found
  }

  #glow(changed: ReadonlySet<number>): void {
    if (changed.size === 0) return
    this.#change({ changed })
    clearTimeout(this.#glowing)
    this.#glowing = setTimeout(() => this.#change({ changed: EMPTY }), GLOW_MS)
  }
}

function differing(before: readonly EntityData[], after: readonly EntityData[]): ReadonlySet<number> {
  const versions = new Map(before.map(({ id, version }) => [id, version]))
  return new Set(after.filter(({ id, version }) => versions.get(id) !== version).map(({ id }) => id))
}

const MOST_KEPT = 6
const kept = new Map<string, Rows>()

/** The rows of a request. Those of the last few lists are kept, so that one comes back to where one was. */
export function rowsOf(request: RowsRequest, person: string): Rows {
  const key = JSON.stringify([person, request])
  const rows = kept.get(key) ?? new Rows(request)
  kept.delete(key)
  kept.set(key, rows)
  for (const old of kept.keys()) {
    if (kept.size <= MOST_KEPT && old.startsWith(JSON.stringify([person]).slice(0, -1))) break
    kept.delete(old)
  }
  return rows
}
