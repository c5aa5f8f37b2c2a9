import { compile, sql } from '../sql.ts'
import { dialect } from './dialect.ts'
import type { Pool } from './pool.ts'

/**
 * Open transactions that have written to the journal. Each holds this lock until it ends; from then on everybody sees
 * its commit. Long transactions on other tables are not among them.
 */
const WRITERS = compile(
  sql`SELECT DISTINCT virtualtransaction::text FROM pg_locks WHERE locktype = 'relation' AND relation = '"takeback_journal"'::regclass
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND mode = 'RowExclusiveLock' AND granted`,
  dialect.placeholder,
)

/** The maximum number of samples. The horizon moves only from sample to sample. */
const SAMPLES_MAX = 16

interface Sample {
  readonly last: number
  readonly writers: ReadonlySet<string>
}

/**
 * How far the journal is settled. The database numbers changes before they are committed, so a missing number may still
 * come. A sample looks up the writers after `last` was seen: a transaction with a number up to `last` is among them, or
 * has ended by then. Once all writers of the sample have ended, nothing more will be added up to `last`.
 */
export class Horizon {
  readonly #pool: Pool
  #samples: Sample[] = []
  #settled: number | undefined
  #looking: Promise<void> = Promise.resolve()
  /** The next sample, which has not begun, and the greatest `last` of those who wait for it. */
  #next: { last: number; readonly done: Promise<void> } | undefined

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async settled(last: number): Promise<number | undefined> {
    await this.#look(last)
    return this.#settled === undefined ? undefined : Math.min(this.#settled, last)
  }

  /** Takes one sample at a time, since each is compared with those before. Callers meanwhile share the next one. */
  #look(last: number): Promise<void> {
    if (this.#next === undefined) {
      const done = this.#looking.catch(() => {}).then(() => this.#sample())
      this.#looking = done
      this.#next = { last, done }
    }
    this.#next.last = Math.max(this.#next.last, last)
    return this.#next.done
  }

  async #sample(): Promise<void> {
    const last = this.#next?.last ?? 0
    this.#next = undefined
    const writers = new Set((await this.#pool.query(WRITERS, {})).map(([writer]) => String(writer)))
    this.#samples.push({ last, writers })
    const over = this.#samples.filter((one) => one.writers.isDisjointFrom(writers))
    for (const one of over) this.#settled = Math.max(this.#settled ?? 0, one.last)
    this.#samples = this.#samples.filter((one) => !over.includes(one) && one.last > (this.#settled ?? 0))
    if (this.#samples.length > SAMPLES_MAX) this.#samples.splice(1, 1)
  }
}
