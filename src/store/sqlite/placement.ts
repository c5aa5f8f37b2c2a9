import type { Database } from 'bun:sqlite'
import type { Statement } from '../sql.ts'
import { queryPlanOf } from './query-plan.ts'

/** Reads that look at no more rows than these are not worth sending away. */
const FEW_ROWS = 2000
const STATEMENTS_MAX = 1000
const LOOK_MS = 1000

/** Milliseconds. A read that takes longer on average goes to a reader; one that takes less there may come back. */
const SLOW_MS = 4
const QUICK_MS = 1
/** The last run counts as one in so many. */
const WEIGHT = 8
const PROBATION = 8

/** Where one statement is read, and how long that takes. */
export interface ReadPlacement {
  /** Whether a reader has to do it, and not the server's own connection, on which everybody waits. */
  readonly away: boolean
  /** To be told after each run. */
  took(ms: number): void
}

/** What finds single rows by their keys. */
export const HERE: ReadPlacement = Object.freeze({ away: false, took() {} })

/**
 * Decides which reads leave the server's own connection: those whose cost is not bounded. The query plan tells what can
 * be known beforehand, the size of the tables whether it matters, and the time that a statement takes tells the rest.
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
    // A list inside of a row, and a pattern, cost what their texts are long: rows say nothing about that.
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

  /** How many rows the largest of these tables has had. */
  #rowsOf(names: readonly string[]): number {
    const now = performance.now()
    if (now - this.#lookedAt > LOOK_MS) {
      this.#lookedAt = now
      this.#sizes = new Map(this.#database.query(SIZES).values() as [string, number][])
    }
    return Math.max(0, ...names.map((name) => this.#sizes.get(name) ?? 0))
  }
}

/** How long a statement has taken of late, and where it runs because of that. */
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

  /** Each time that it turned out to be slow after all, it has to be quick for longer. */
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

/** Ids are never reused, so the last one that was given is the count, or more. */
const SIZES = 'SELECT "name", "seq" FROM "sqlite_sequence"'
