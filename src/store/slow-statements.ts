import { budget } from '../budget.ts'

/** A slow statement. Its text has no values: these are always bound. */
export interface SlowStatement {
  /** When it was slowest. */
  readonly at: string
  readonly ms: number
  readonly statement: string
  /** How often it was slow. */
  readonly count: number
}

interface Known extends SlowStatement {
  /** When it was last slow, by the clock of this process. */
  readonly last: number
}

/** The statements that were slow recently, in a fixed amount of memory. */
export class SlowStatements {
  /** Faster statements are not recorded. */
  atLeastMs: number = budget.slowMs
  readonly #known = new Map<string, Known>()

  took(text: string, ms: number): void {
    if (ms >= this.atLeastMs) this.#keep(text.slice(0, budget.slowCharacters), ms)
  }

  #keep(statement: string, ms: number): void {
    const known = this.#known.get(statement)
    const worst = known !== undefined && known.ms > ms ? known : { ms, at: new Date().toISOString() }
    // Moves it to the end: the first entry was slow longest ago.
    this.#known.delete(statement)
    const [oldest] = this.#known.keys()
    if (this.#known.size >= budget.slowStatements && oldest !== undefined) this.#known.delete(oldest)
    this.#known.set(statement, {
      at: worst.at,
      ms: worst.ms,
      statement,
      count: (known?.count ?? 0) + 1,
      last: performance.now(),
    })
  }

  /** The statements, the slowest first. */
  list(): SlowStatement[] {
    const since = performance.now() - budget.slowKeptMs
    return [...this.#known.values()]
      .filter(({ last }) => last >= since)
      .sort((one, other) => other.ms - one.ms)
      .map(({ last: _, ...shown }) => shown)
  }
}
