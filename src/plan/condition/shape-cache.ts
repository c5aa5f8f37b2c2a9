/** Limits of entries and total key length, so that new query shapes cannot exhaust memory. */
const ENTRIES_MAX = 500
const KEYS_LENGTH_MAX = 200_000

/** A cache by the shape of a request, such as for its SQL. It is emptied when it is full. */
export class ShapeCache<Made> {
  readonly #made = new Map<string, Made>()
  #keysLength = 0

  of(shape: string, make: () => Made): Made {
    const known = this.#made.get(shape)
    if (known !== undefined) return known
    const made = make()
    if (this.#made.size >= ENTRIES_MAX || this.#keysLength + shape.length > KEYS_LENGTH_MAX) {
      this.#made.clear()
      this.#keysLength = 0
    }
    this.#made.set(shape, made)
    this.#keysLength += shape.length
    return made
  }
}
