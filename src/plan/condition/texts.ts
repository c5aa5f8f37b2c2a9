/**
 * How many are kept, and how long the shapes of all of them together may be, which is how large what is made from them
 * is: a client that sends ever new shapes of requests cannot fill the memory.
 */
const TEXTS_MAX = 500
const LENGTH_MAX = 200_000

/** What depends on the shape of a request is made once for each shape. */
export class Texts<Made> {
  readonly #made = new Map<string, Made>()
  #length = 0

  of(shape: string, make: () => Made): Made {
    const known = this.#made.get(shape)
    if (known !== undefined) return known
    const made = make()
    if (this.#made.size >= TEXTS_MAX || this.#length + shape.length > LENGTH_MAX) {
      this.#made.clear()
      this.#length = 0
    }
    this.#made.set(shape, made)
    this.#length += shape.length
    return made
  }
}
