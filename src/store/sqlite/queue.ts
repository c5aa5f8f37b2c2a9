import { isBusy } from './errors.ts'
import type { GroupVerdict, Waiting } from './group.ts'
import { PAUSE_MS } from './patience.ts'
import { BUSY_MS } from './pragmas.ts'

interface Queued extends Waiting {
  readonly since: number
}

interface Turn {
  /** What became of each. Throws where nothing came of any. */
  commit(group: readonly Waiting[]): readonly GroupVerdict[]
  /** What to tell them of an error. */
  failed(error: unknown): unknown
  /** All of them have their answer. */
  answered(): void
}

/**
 * Transactions of one turn of the event loop, which share a commit. While another process writes, they wait outside of
 * SQLite, so that reads go on.
 */
export class WriteQueue {
  readonly #turn: Turn
  #waiting: Queued[] = []

  constructor(turn: Turn) {
    this.#turn = turn
  }

  add({ run, reject }: Waiting): void {
    if (this.#waiting.push({ run, reject, since: performance.now() }) === 1) setImmediate(() => this.#flush())
  }

  /** Until nobody waits. */
  async drain(): Promise<void> {
    for (this.#flush(); this.#waiting.length > 0; ) await Bun.sleep(PAUSE_MS)
  }

  #flush(): void {
    const group = this.#waiting
    if (group.length === 0) return
    this.#waiting = []
    let verdicts: readonly GroupVerdict[]
    try {
      verdicts = this.#turn.commit(group)
    } catch (error) {
      this.#putBack(group, error)
      return
    }
    for (const [at, verdict] of verdicts.entries()) {
      if ('error' in verdict) group[at]?.reject(verdict.error)
      else verdict.tell()
    }
    this.#turn.answered()
  }

  /** Whoever has waited for another process for too long is told so, and so is everybody after any other error. */
  #putBack(group: readonly Queued[], error: unknown): void {
    const failed = this.#turn.failed(error)
    const latest = isBusy(error) ? performance.now() - BUSY_MS : Number.POSITIVE_INFINITY
    for (const { since, reject } of group) if (since < latest) reject(failed)
    this.#waiting = [...group.filter(({ since }) => since >= latest), ...this.#waiting]
    if (this.#waiting.length > 0) setTimeout(() => this.#flush(), PAUSE_MS)
  }
}
