/** Caps on cached statements and on the total length of their keys, so that ever-new query shapes cannot exhaust memory. */
const ENTRIES_MAX = 500
const KEYS_LENGTH_MAX = 200_000

/** Caches what depends on the shape of a request alone, such as the text of its statement. Starts over when it is full. */
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
