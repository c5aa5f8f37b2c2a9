import { SERVED } from './migration/metadata.ts'
import { compile, param, quoted, sql } from './sql.ts'
import { type Step, step } from './step.ts'
import type { Store } from './store.ts'

const META = sql`"takeback_meta"`
const KEY = quoted(SERVED)
/** Less than this is not worth a write. */
const LITTLE_MS = 60_000

/**
 * A clock that runs while servers do. It started from a wall clock and has only counted since, so no jump of a wall
 * clock moves it. Each process counts for itself and sometimes stores its time; the one furthest ahead is right. A day
 * by this clock takes at least a real day: while no server runs, it stands still.
 */
export class ServiceTime {
  readonly #store: Store
  readonly #keep: readonly Step[]
  /** The time in milliseconds at the last adjustment, and the clock of this process at that moment. */
  #stood: number
  #at = performance.now()
  /** Whether that time is stored. */
  #kept: boolean

  private constructor(store: Store, kept: number | undefined) {
    this.#store = store
    this.#stood = kept ?? Date.now()
    this.#kept = kept !== undefined
    this.#keep = [
      step(
        store.dialect,
        'served',
        'any',
        sql`INSERT INTO ${META} ("key", "value") VALUES (${KEY}, ${param('$value')}) ON CONFLICT ("key") DO UPDATE
          SET "value" = CASE WHEN ${META}."value" > excluded."value" THEN ${META}."value" ELSE excluded."value" END
          RETURNING "value"`,
      ),
    ]
  }

  static async open(store: Store): Promise<ServiceTime> {
    const find = compile(sql`SELECT "value" FROM ${META} WHERE "key" = ${KEY}`, store.dialect.placeholder)
    const [row] = await store.read(find, {})
    return new ServiceTime(store, row === undefined ? undefined : Date.parse(String(row[0])))
  }

  /** Now, or so many milliseconds from now. */
  text(ms = 0): string {
    return new Date(this.#now() + ms).toISOString()
  }

  #now(): number {
    return this.#stood + performance.now() - this.#at
  }

  /** Stores the time for other processes, and takes over theirs if it is ahead. */
  async keep(): Promise<void> {
    if (this.#kept && performance.now() - this.#at < LITTLE_MS) return
    const { rows } = await this.#store.write(this.#keep, { $value: this.text() })
    const told = Date.parse(String(rows[0]?.[0]))
    this.#stood = Math.max(this.#now(), told)
    this.#at = performance.now()
    this.#kept = true
  }
}
