/** About how much of a table is held in memory at once. */
const PAGE_BYTES = 4 * 1024 * 1024
const FIRST_ROWS = 100

/** How many rows to read at once where rows can be large: few at first, then as many as fit, by the size of those before. */
export class PageSize {
  readonly #most: number
  #rows = FIRST_ROWS

  constructor(most = 5000) {
    this.#most = most
  }

  get rows(): number {
    return this.#rows
  }

  /** After a page of so many rows that had so many bytes. */
  adapt(rows: number, bytes: number): void {
    this.#rows = Math.min(this.#most, Math.max(1, Math.floor((PAGE_BYTES * rows) / bytes)))
  }
}
