import { Failure } from '../../errors.ts'

/** When to try again. This is a guess: nobody knows how long streams last. */
const RETRY_SECONDS = 30

/** Counts the open streams of each caller on this instance. Each takes a connection, and work for every change. */
export class OpenStreams {
  readonly #most: number
  readonly #open = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** Counts a stream. Throws if there are too many. Returns what to call at its end, once or more often. */
  open(whose: string): () => void {
    const count = this.#open.get(whose) ?? 0
    if (count >= this.#most) throw this.#refusal()
    this.#open.set(whose, count + 1)
    let isOpen = true
    return () => {
      if (isOpen) this.#close(whose)
      isOpen = false
    }
  }

  #close(whose: string): void {
    const left = (this.#open.get(whose) ?? 0) - 1
    if (left > 0) this.#open.set(whose, left)
    else this.#open.delete(whose)
  }

  #refusal(): Failure {
    return new Failure('rate_limited', {
      message: 'Too many open streams. Close some, or try again later.',
      headers: {
        'Retry-After': String(RETRY_SECONDS),
        'RateLimit-Policy': `"streams";q=${this.#most}`,
        RateLimit: '"streams";r=0',
      },
    })
  }
}
