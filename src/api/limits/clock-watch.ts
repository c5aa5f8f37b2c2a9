import { SKEW_MS } from '../../clock.ts'
import type { Observer } from '../../observe/observer.ts'
import { compileAhead } from '../../plan/past/ahead.ts'
import type { Store } from '../../store/store.ts'

const TOLD_MS = 60 * 60_000

/**
 * Looks whether the journal has times that lie ahead: then a clock was wrong when they were written, or is wrong now. What
 * is written from now on carries the time of the clock as it is; that reads of the past find it, is noted in the database.
 */
export class ClockWatch {
  readonly #store: Store
  readonly #observer: Observer
  readonly #plan: ReturnType<typeof compileAhead>
  /** By `performance.now()`. */
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(store: Store, observer: Observer) {
    this.#store = store
    this.#observer = observer
    this.#plan = compileAhead(store.dialect)
  }

  async look(): Promise<void> {
    const [row = []] = await this.#store.read(this.#plan.find, {})
    const [newest = null, ahead = 0] = row
    if (newest === null) return
    const [until, ms] = [String(newest), Number(ahead)]
    if (ms <= SKEW_MS) return
    await this.#store.write(this.#plan.note, { $until: until })
    if (performance.now() - this.#toldAt < TOLD_MS) return
    this.#toldAt = performance.now()
    this.#observer.emit({ kind: 'journal_ahead', until, ms })
  }
}
