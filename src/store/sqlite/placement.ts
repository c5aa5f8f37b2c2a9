import type { Database } from 'bun:sqlite'
import type { Statement } from '../sql.ts'
import { queryPlanOf } from './query-plan.ts'

/** Reads of at most this many rows are not worth sending to a reader. */
const FEW_ROWS = 2000
const STATEMENTS_MAX = 1000
const LOOK_MS = 1000

/** Milliseconds. A read with a longer average goes to a reader; one that is faster than QUICK_MS may come back. */
const SLOW_MS = 4
const QUICK_MS = 1
/** The last run counts as one in this many. */
const WEIGHT = 8
const PROBATION = 8

/** Where a statement is read, and how long that takes. */
export interface ReadPlacement {
  /** Whether a reader runs it instead of the server's own connection, which would block everybody. */
  readonly away: boolean
  /** Records the time of a run. */
  took(ms: number): void
}

/** For statements that find single rows by their keys. */
export const HERE: ReadPlacement = Object.freeze({ away: false, took() {} })

/**
 * Decides which reads leave the server's own connection: those without a bounded cost. The query plan shows what can be
 * known in advance, the size of the tables shows whether it matters, and measured times show the rest.
 */
export class Placement {
  readonly #database: Database
  readonly #places = new Map<string, ReadPlacement>()
  readonly #paces = new Map<string, Pace>()
  #sizes: ReadonlyMap<string, number> = new Map()
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(database: Database) {
    this.#database = database
  }

  of(statement: Statement): ReadPlacement {
    const known = this.#places.get(statement.text)
    if (known !== undefined) return known
    if (this.#places.size >= STATEMENTS_MAX) {
      this.#places.clear()
      this.#paces.clear()
    }
    const made = this.#decide(statement)
    this.#places.set(statement.text, made)
    return made
  }

  #decide({ text, bounded = false }: Statement): ReadPlacement {
    const plan = queryPlanOf(this.#database, text)
    if (plan.depth === 0) return HERE
    const page = bounded && plan.depth === 1
    const names = namesIn(text)
    const few = () => this.#rowsOf(names) ** plan.depth <= FEW_ROWS
    // The cost of a list in a row, or of a pattern, depends on the length of the text, not on the number of rows.
    const open = /json_each|takeback_matches/.test(text)
    const pace = this.#paceOf(page ? text : `${names.join(' ')}\n${plan.text}`, !(page || (few() && !open)))
    const paced = () => page || (!open && (plan.served || few()))
    return {
      get away() {
        return pace.away || !paced()
      },
      took: (ms) => pace.took(ms),
    }
  }

  #paceOf(key: string, away: boolean): Pace {
    const pace = this.#paces.get(key) ?? new Pace(away)
    this.#paces.set(key, pace)
    return pace
  }

  /** The most rows that one of these tables has ever had. */
  #rowsOf(names: readonly string[]): number {
    const now = performance.now()
    if (now - this.#lookedAt > LOOK_MS) {
      this.#lookedAt = now
      this.#sizes = new Map(this.#database.query(SIZES).values() as [string, number][])
    }
    return Math.max(0, ...names.map((name) => this.#sizes.get(name) ?? 0))
  }
}

/** How long a statement has taken recently, and where it therefore runs. */
class Pace {
  away: boolean
  #mean = 0
  #runs = 0
  #needed = PROBATION

  constructor(away: boolean) {
    this.away = away
  }

  took(ms: number): void {
    this.#runs++
    this.#mean += (ms - this.#mean) / WEIGHT
    if (this.away ? this.#runs >= this.#needed && this.#mean < QUICK_MS : this.#mean > SLOW_MS) this.#move()
  }

  /** Changes the place. Each time that it turns out to be slow again, it must be fast for longer. */
  #move(): void {
    this.away = !this.away
    if (this.away) this.#needed *= 2
    this.#mean = 0
    this.#runs = 0
  }
}

function namesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/(?:FROM|JOIN) "([^"]+)"/g)].map(([, name = '']) => name))]
}

/** Ids are never reused, so the last id is the number of rows, or more. */
const SIZES = 'SELECT "name", "seq" FROM "sqlite_sequence"'
