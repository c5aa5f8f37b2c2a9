/** How many are kept: a client that sends ever new shapes of requests cannot fill the memory. */
const TEXTS_MAX = 500

/** What depends on the shape of a request is made once for each shape. */
export class Texts<Made> {
  readonly #made = new Map<string, Made>()

  of(shape: string, make: () => Made): Made {
    const known = this.#made.get(shape)
    if (known !== undefined) return known
    if (this.#made.size >= TEXTS_MAX) this.#made.clear()
    const made = make()
    this.#made.set(shape, made)
    return made
  }
}
