import { SKEW_MS } from '../../clock.ts'
import type { Observer } from '../../observe/observer.ts'
import { compileAhead } from '../../plan/past/ahead.ts'
import type { Store } from '../../store/store.ts'

const REPORT_MS = 60 * 60_000

/**
 * Looks for times in the journal that lie ahead: then a clock was wrong when they were written, or is wrong now. New
 * changes still get the time of the clock. A note in the database makes sure that reads of the past find them.
 */
export class ClockWatch {
  readonly #store: Store
  readonly #observer: Observer
  readonly #plan: ReturnType<typeof compileAhead>
  /** The time of the last event, by `performance.now()`. */
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(store: Store, observer: Observer) {
    this.#store = store
    this.#observer = observer
    this.#plan = compileAhead(store.dialect)
  }

  async check(): Promise<void> {
    const [row = []] = await this.#store.read(this.#plan.find, {})
    const [newest = null, ahead = 0] = row
    if (newest === null) return
    const [until, ms] = [String(newest), Number(ahead)]
    if (ms <= SKEW_MS) return
    await this.#store.write(this.#plan.note, { $until: until })
    if (performance.now() - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = performance.now()
    this.#observer.emit({ kind: 'journal_ahead', until, ms })
  }
}
