import { type EntityData, get, type Page } from '../../api.ts'
import type { SeenChange } from '../../live.ts'
import { valueAt } from '../../model.ts'
import { findStart, type ListStart, reversed } from './list-start.ts'
import { changedIds, isSamePage, Loaded, mergePage, pageOf, type RowsPage, refreshed } from './loaded.ts'
import { nameTargets, type Targets } from './targets.ts'

/** The parameters of a list, without `limit` and `cursor`. */
export interface RowsRequest {
  readonly entity: string
  readonly query: Readonly<Record<string, string | undefined>>
  /** The references among the columns. */
  readonly targets: Targets
  /** Where the list starts. Undefined means the top. */
  readonly from?: ListStart | undefined
}

export interface RowsState {
  readonly loaded: Loaded
  /** The cursor of the page below; `null` at the end, `undefined` before the first page is read. */
  readonly next: string | null | undefined
  /** The cursor of the page above, read upwards; `null` at the top. */
  readonly previous: string | null
  /** How many rows were loaded by scrolling up. */
  readonly reached: number
  /** The row at which the list starts, a new object for each new start. Undefined means the first row. */
  readonly start: { readonly id: number } | undefined
  /** Why a page near the view could not be read. */
  readonly error?: unknown
  /** Rows that have just changed, to be highlighted. */
  readonly changed: ReadonlySet<number>
  /** How many rows are not shown because they are new in a long list, which would have to be read again. */
  readonly unseen: number
}

/** The parameters of one read. */
interface RowsQuery {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly filter?: string
  readonly isUp?: boolean | undefined
}

interface Beginning extends Pick<RowsState, 'next'>, Partial<Pick<RowsState, 'previous' | 'start'>> {
  readonly pages: readonly RowsPage[]
}

/** The first page is small, to come quickly. Later ones are larger. */
const FIRST = 60
const MORE = 200
/** Up to this length, a list is read again as a whole after a change. Longer lists are updated row by row. */
const SHORT = 400
/** How many rows are read ahead, above and below the view: enough for a moment of quick scrolling. */
const AHEAD = 150
/** How many rows stay in memory, above and below the view. */
const KEPT = 1000
const MOST_REFRESHED = 200
const REFRESHED_AT_ONCE = 40
const GLOW_MS = 2500
const EMPTY: ReadonlySet<number> = new Set()

/** The rows of a list as far as the user has scrolled up and down. Updates do not move the rows in sight. */
export class Rows {
  readonly request: RowsRequest
  /** The scroll position when the user left the list. Undefined: where the list starts. */
  scrollTop: number | undefined
  #state: RowsState = {
    loaded: new Loaded(),
    next: undefined,
    previous: null,
    reached: 0,
    start: undefined,
    changed: EMPTY,
    unseen: 0,
  }
  readonly #listeners = new Set<() => void>()
  readonly #pending = new Set<number>()
  /** New rows that are not shown. */
  readonly #added = new Set<number>()
  /** How many more rows are new, without their ids. */
  #missed = 0
  #isUnknown = false
  #view = { first: 0, last: 0 }
  #isFilling = false
  #resumed: Rows | undefined
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
    this.#state = { ...this.#state, ...change, unseen: this.#added.size + this.#missed }
    for (const listener of this.#listeners) listener()
  }

  /** Reads a page. Read upwards, the lowest row comes first. */
  async #read({ isUp, ...query }: RowsQuery, signal?: AbortSignal): Promise<Page<EntityData>> {
    const { entity, targets, query: own } = this.request
    const way = isUp === true && { sort: reversed(own.sort) }
    const page = await get<Page<EntityData>>(`${entity}/`, { ...own, ...way, ...query }, signal)
    // In the past there are no expansions.
    return own.at === undefined ? page : { ...page, data: await nameTargets(page.data, targets, signal) }
  }

  /** Continues from another list: the same rows, with other columns. */
  resume(other: Rows): void {
    this.scrollTop = other.scrollTop
    this.#view = other.#view
    this.#resumed = other
  }

  /** Sets the rows in view. Rows near it are read, and rows far away leave memory. */
  see(first: number, last: number): void {
    this.#view = { first, last }
    void this.fill()
  }

  /** Reads missing pages near the view, one by one: while the user scrolls, others become the nearest. */
  async fill(): Promise<void> {
    if (this.#isFilling || this.#state.next === undefined) return
    this.#isFilling = true
    try {
      for (let read = this.#missing(); read !== undefined; read = this.#missing())
        this.#keepNear(await read())
      if (this.#state.error !== undefined) this.#change({ error: undefined })
    } catch (error) {
      this.#change({ error })
    } finally {
      this.#isFilling = false
    }
  }

  /** Returns a function that reads the most urgent page and returns the new state; undefined if nothing is missing. */
  #missing(): (() => Promise<Partial<RowsState>>) | undefined {
    const { loaded, next, previous } = this.#state
    const page = this.#near(loaded).find(({ rows, isOld }) => rows === undefined || isOld)
    if (page !== undefined) return () => this.#renewPage(page)
    if (typeof next === 'string' && this.#view.last + AHEAD >= loaded.count) return () => this.#append(next)
    if (previous !== null && this.#view.first < AHEAD) return () => this.#prepend(previous)
    return undefined
  }

  /** The pages near the view, nearest first. */
  #near(loaded: Loaded): readonly RowsPage[] {
    const { first, last } = this.#view
    const [from, to, middle] = [first - AHEAD, last + AHEAD, first].map((place) => loaded.pageAt(place))
    return loaded.pages
      .slice(from, (to ?? 0) + 1)
      .map((page, at) => ({ page, distance: Math.abs(at + (from ?? 0) - (middle ?? 0)) }))
      .sort((a, b) => a.distance - b.distance)
      .map(({ page }) => page)
  }

  #keepNear({ loaded = this.#state.loaded, ...change }: Partial<RowsState>): void {
    const { first, last } = this.#view
    const [from = 0, to = 0] = [first - KEPT, last + KEPT].map((place) => loaded.pageAt(place))
    this.#change({ ...change, loaded: loaded.map((page, at) => (at < from || at > to ? left(page) : page)) })
  }

  async #append(cursor: string): Promise<Partial<RowsState>> {
    const page = await this.#read({ limit: MORE, cursor })
    const { loaded, next } = this.#state
    // Meanwhile the whole list was read again.
    if (next !== cursor) return {}
    return { loaded: loaded.with(pageOf(this.#unknown(page.data), { cursor })), next: page.next }
  }

  async #prepend(cursor: string): Promise<Partial<RowsState>> {
    const page = await this.#read({ limit: MORE, cursor, isUp: true })
    const { loaded, previous, reached } = this.#state
    if (previous !== cursor) return {}
    const rows = this.#unknown(page.data).toReversed()
    // The rows in view have moved down by the new ones.
    const { first, last } = this.#view
    this.#view = { first: first + rows.length, last: last + rows.length }
    const above = pageOf(rows, { cursor, isUp: true })
    return { loaded: loaded.below(above), previous: page.next, reached: reached + rows.length }
  }

  /** Drops rows that are loaded already: a change of a sort value can move a row to another page. */
  #unknown(rows: readonly EntityData[]): readonly EntityData[] {
    const added = this.#state.loaded.unknown(rows.map(({ id }) => id))
    for (const id of added) this.#added.delete(id)
    return rows.filter(({ id }) => added.has(id))
  }

  async #renewPage(page: RowsPage): Promise<Partial<RowsState>> {
    const after = await this.#readPage(page, this.#state.loaded)
    const { loaded } = this.#state
    if (page.rows !== undefined) this.#glow(changedIds(page.rows, after.rows ?? []))
    return { loaded: loaded.map((one) => (isSamePage(one, page) ? mergePage(one, page, after) : one)) }
  }

  /** Reads the rows that a page had, and keeps their places. Rows that are new in between are only counted. */
  async #readPage(page: RowsPage, loaded: Loaded, signal?: AbortSignal): Promise<RowsPage> {
    const { cursor, isUp } = page
    const { data } = await this.#read({ limit: page.ids.length, cursor, isUp }, signal)
    const found = new Map(data.map((row) => [row.id, row]))
    const others = page.ids.filter((id) => !found.has(id))
    const end = data.findLastIndex(({ id }) => page.ids.includes(id))
    for (const id of loaded.unknown(data.slice(0, end).map((row) => row.id))) this.#added.add(id)
    for (const [id, row] of await this.#readThese(others, signal)) found.set(id, row)
    const rows = page.ids.flatMap((id) => found.get(id) ?? [])
    return pageOf(rows, page)
  }

  /** Notes the changes of the feed. The next `renew` reads them. */
  note(changes: readonly SeenChange[]): void {
    const { entity, targets } = this.request
    for (const { entity: type, id, type: kind } of changes) {
      if (type !== entity && !Object.values(targets).some(({ to }) => to === type)) continue
      if (kind === 'reset' || id === undefined) this.#isUnknown = true
      else if (type === entity) this.#pending.add(id)
      else this.#addTarget(type, id, targets)
    }
  }

  /** Marks the rows that show the name of a changed Entity. */
  #addTarget(type: string, id: number, targets: Targets): void {
    const paths = Object.keys(targets).filter((path) => targets[path]?.to === type)
    for (const row of this.#state.loaded.rows())
      if (paths.some((path) => valueAt(row, `${path}.id`) === id)) this.#pending.add(row.id)
  }

  /** Reads the first page, or the changes since. */
  async renew(signal?: AbortSignal): Promise<void> {
    const { loaded, next } = this.#state
    const pending = new Set(this.#pending)
    this.#pending.clear()
    try {
      const other = this.#resumed?.state()
      const resumed = other?.next === undefined ? undefined : other
      const isPart = this.request.from !== undefined
      if (next === undefined && resumed !== undefined && (isPart || resumed.loaded.count > SHORT))
        await this.#adopt(resumed, signal)
      else if (next === undefined && isPart) await this.reload(signal)
      else if (next === undefined || (loaded.count <= SHORT && !isPart)) await this.#readAgain(signal)
      else await this.#mend(pending, signal)
    } catch (error) {
      for (const id of pending) this.#pending.add(id)
      throw error
    }
    void this.fill()
  }

  /** Reads the list from its start. */
  async reload(signal?: AbortSignal): Promise<void> {
    const { from, entity, query } = this.request
    this.scrollTop = undefined
    if (from === undefined) {
      const page = await this.#read({ limit: FIRST }, signal)
      return this.#begin({ pages: [pageOf(page.data)], next: page.next })
    }
    const place =
      from === 'end' ? undefined : await findStart({ entity, query, conditions: from.conditions }, signal)
    const [up, down] = await Promise.all([
      this.#read({ limit: FIRST, cursor: place?.up, isUp: true }, signal),
      place && this.#read({ limit: FIRST, cursor: place.down }, signal),
    ])
    this.#begin({
      pages: [
        pageOf(up.data.toReversed(), { cursor: place?.up, isUp: true }),
        pageOf(down?.data ?? [], { cursor: place?.down }),
      ],
      next: down?.next ?? null,
      previous: up.next,
      start: up.data[0] && { id: up.data[0].id },
    })
  }

  #begin({ pages, next, previous = null, start }: Beginning): void {
    this.#isUnknown = false
    this.#added.clear()
    this.#missed = 0
    this.#change({ loaded: new Loaded(pages), next, previous, start, error: undefined })
  }

  /** Takes over a long list with other columns: pages near the view are read now, the others when they come near. */
  async #adopt({ loaded, next, previous, start }: RowsState, signal?: AbortSignal): Promise<void> {
    const near = new Map<RowsPage, RowsPage>()
    for (const page of this.#near(loaded)) near.set(page, await this.#readPage(page, loaded, signal))
    this.#change({ loaded: loaded.map((page) => near.get(page) ?? left(page)), next, previous, start })
    this.#resumed = undefined
  }

  async #readAgain(signal?: AbortSignal): Promise<void> {
    const before = this.#state
    const wanted = Math.max(FIRST, before.loaded.count, this.#resumed?.state().loaded.count ?? 0)
    const pages: RowsPage[] = []
    let count = 0
    let cursor: string | undefined
    let next: string | null
    do {
      const page = await this.#read({ limit: Math.min(MORE, wanted - count), cursor }, signal)
      pages.push(pageOf(page.data, { cursor }))
      count += page.data.length
      next = page.next
      cursor = next ?? undefined
    } while (next !== null && count < wanted)
    this.#resumed = undefined
    this.#begin({ pages, next })
    if (before.next !== undefined) this.#glow(changedIds(before.loaded.rows(), this.#state.loaded.rows()))
  }

  /** Updates a long list: changed rows are replaced, removed ones disappear, new ones are counted. */
  async #mend(pending: ReadonlySet<number>, signal?: AbortSignal): Promise<void> {
    const { loaded: before } = this.#state
    // The user comes back to the list, or too much has changed: each page is read again when it is near.
    if (pending.size === 0 || this.#isUnknown || pending.size > MOST_REFRESHED) {
      this.#missed += before.unknown(pending).size + (this.#isUnknown ? 1 : 0)
      this.#isUnknown = false
      this.#change({ loaded: before.map((page) => ({ ...page, isOld: true })) })
      return
    }
    const found = await this.#readThese([...pending], signal)
    const { loaded } = this.#state
    const unknown = loaded.unknown(pending)
    for (const id of unknown) {
      if (this.#isNew(found.get(id))) this.#added.add(id)
      else this.#added.delete(id)
    }
    const after = loaded.map((page) => refreshed(page, pending, found))
    this.#change({ loaded: after })
    this.#glow(changedIds(loaded.rows(), after.rows()))
  }

  /** Whether a row is new to the list, not just further down. With a filter or search, a change can make it match. */
  #isNew(row: EntityData | undefined): boolean {
    const { filter, search } = this.request.query
    return row !== undefined && (row.version === 1 || filter !== undefined || search !== undefined)
  }

  async #readThese(ids: readonly number[], signal?: AbortSignal): Promise<Map<number, EntityData>> {
    const { filter } = this.request.query
    const found = new Map<number, EntityData>()
    for (let at = 0; at < ids.length; at += REFRESHED_AT_ONCE) {
      const these = `id in [${ids.slice(at, at + REFRESHED_AT_ONCE).join(', ')}]`
      const both = filter === undefined ? these : `(${filter}) && ${these}`
      const page = await this.#read({ limit: REFRESHED_AT_ONCE, filter: both }, signal)
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

/** Drops the rows of a page from memory. */
function left(page: RowsPage): RowsPage {
  const { cursor, isUp, ids } = page
  return page.rows === undefined ? page : { cursor, isUp, ids, rows: undefined }
}

const MOST_KEPT = 6
const kept = new Map<string, Rows>()

/** Returns the rows of a request. The last few lists are kept, so that the user returns to the same place. */
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

/** Forgets the lists of a type, so that going to a place starts afresh. */
export function forgetRows(entity: string): void {
  for (const [key, { request }] of kept) if (request.entity === entity) kept.delete(key)
}
