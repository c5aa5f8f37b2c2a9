/** About how much of a table to hold in memory at once. */
const PAGE_BYTES = 4 * 1024 * 1024
const FIRST_ROWS = 100

/** The number of rows to read at once, if rows can be large: few at first, then as many as fit. */
export class PageSize {
  readonly #most: number
  #rows = FIRST_ROWS

  constructor(most = 5000) {
    this.#most = most
  }

  get rows(): number {
    return this.#rows
  }

  /** Adapts the size after a page with so many rows and bytes. */
  adapt(rows: number, bytes: number): void {
    this.#rows = Math.min(this.#most, Math.max(1, Math.floor((PAGE_BYTES * rows) / bytes)))
  }
}
