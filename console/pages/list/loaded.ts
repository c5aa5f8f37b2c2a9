import type { EntityData } from '../../api.ts'

/** The position at which a page is read again. */
interface PageStart {
  /** The cursor before the page; undefined for the first page. */
  readonly cursor?: string | undefined
  /** Whether the page is read upwards, from the end of the list or from a place in it. */
  readonly isUp?: boolean | undefined
}

/** A page of a list, as it was read. */
export interface RowsPage extends PageStart {
  /** Kept even while the rows are not in memory, so that all rows keep their places. */
  readonly ids: readonly number[]
  /** Undefined while the page is far from the view. */
  readonly rows: readonly EntityData[] | undefined
  /** Whether the page may have changed since. It is shown, and read again once it is near the view. */
  readonly isOld?: boolean
}

/** The rows of a list that were read so far. Only those near the view are in memory. */
export class Loaded {
  readonly pages: readonly RowsPage[]
  readonly count: number
  /** The place of the first row of each page. */
  readonly #starts: readonly number[]

  constructor(pages: readonly RowsPage[] = []) {
    this.pages = pages.filter(({ ids }) => ids.length > 0)
    let count = 0
    this.#starts = this.pages.map(({ ids }) => {
      const start = count
      count += ids.length
      return start
    })
    this.count = count
  }

  /** Returns the page with the row at a place, or the page nearest to it. */
  pageAt(place: number): number {
    let [low, high] = [0, this.pages.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#starts[middle] ?? 0) <= place) low = middle
      else high = middle - 1
    }
    return low
  }

  idAt(place: number): number | undefined {
    const page = this.pageAt(place)
    return this.pages[page]?.ids[place - (this.#starts[page] ?? 0)]
  }

  /** Returns the row at a place; undefined if it is not in memory. */
  rowAt(place: number): EntityData | undefined {
    const page = this.pageAt(place)
    return this.pages[page]?.rows?.[place - (this.#starts[page] ?? 0)]
  }

  /** Returns the place of an Entity; -1 if it is not loaded. */
  placeOf(id: number): number {
    for (const [at, { ids }] of this.pages.entries()) {
      const place = ids.indexOf(id)
      if (place >= 0) return place + (this.#starts[at] ?? 0)
    }
    return -1
  }

  ids(): readonly number[] {
    return this.pages.flatMap(({ ids }) => ids)
  }

  rows(): readonly EntityData[] {
    return this.pages.flatMap(({ rows }) => rows ?? [])
  }

  /** Returns those of the ids that are not loaded. */
  unknown(ids: Iterable<number>): ReadonlySet<number> {
    const left = new Set(ids)
    for (const page of this.pages) for (const id of page.ids) if (left.size > 0) left.delete(id)
    return left
  }

  /** Replaces each page. */
  map(change: (page: RowsPage, at: number) => RowsPage): Loaded {
    return new Loaded(this.pages.map(change))
  }

  with(...pages: readonly RowsPage[]): Loaded {
    return new Loaded([...this.pages, ...pages])
  }

  /** Adds a page above all others. */
  below(page: RowsPage): Loaded {
    return new Loaded([page, ...this.pages])
  }
}

export function pageOf(rows: readonly EntityData[], { cursor, isUp }: PageStart = {}): RowsPage {
  return { cursor, isUp, ids: rows.map(({ id }) => id), rows }
}

/** Whether a page is a later state of another one, and not a new page that starts at the same place. */
export function isSamePage(page: RowsPage, before: RowsPage): boolean {
  if (page === before) return true
  const ids = new Set(before.ids)
  return page.cursor === before.cursor && page.isUp === before.isUp && page.ids.every((id) => ids.has(id))
}

/** Merges a page just read into its current state. `before` is its state when the read began: later changes win. */
export function mergePage(page: RowsPage, before: RowsPage, read: RowsPage): RowsPage {
  const shown = new Set(page.ids)
  const later = new Map(page.rows?.map((row) => [row.id, row]))
  const rows = (read.rows ?? [])
    .filter(({ id }) => shown.has(id))
    .map((row) => {
      const other = later.get(row.id)
      return other !== undefined && other.version > row.version ? other : row
    })
  return { ...pageOf(rows, page), isOld: page !== before && page.isOld === true }
}

/** Replaces the rows that were read again, and drops those that are gone. */
export function refreshed(
  page: RowsPage,
  read: ReadonlySet<number>,
  found: ReadonlyMap<number, EntityData>,
): RowsPage {
  if (!page.ids.some((id) => read.has(id))) return page
  const stays = (id: number) => !read.has(id) || found.has(id)
  return {
    ...page,
    ids: page.ids.filter(stays),
    rows: page.rows?.filter(({ id }) => stays(id)).map((row) => found.get(row.id) ?? row),
  }
}

/** Returns the ids of rows that are new or have changed. */
export function changedIds(before: readonly EntityData[], after: readonly EntityData[]): ReadonlySet<number> {
  const versions = new Map(before.map(({ id, version }) => [id, version]))
  return new Set(after.filter(({ id, version }) => versions.get(id) !== version).map(({ id }) => id))
}
