import { PAUSE_MS } from './busy-retry.ts'
import { isBusy } from './errors.ts'
import type { GroupVerdict, Waiting } from './group.ts'
import { BUSY_MS } from './pragmas.ts'

interface Queued extends Waiting {
  readonly since: number
}

interface Turn {
  /** Commits a group; returns the result of each transaction. Throws if nothing was done. */
  commit(group: readonly Waiting[]): readonly GroupVerdict[]
  /** The error to answer with. */
  failed(error: unknown): unknown
  /** Called when all of a group have their answers. */
  answered(): void
}

/**
 * The transactions of one turn of the event loop, which share a commit. While another process writes, they wait outside
 * of SQLite, so that reads go on.
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

  /** Waits until the queue is empty. */
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

  /** Fails those that have waited too long for another process; after any other error, fails all. */
  #putBack(group: readonly Queued[], error: unknown): void {
    const failed = this.#turn.failed(error)
    const latest = isBusy(error) ? performance.now() - BUSY_MS : Number.POSITIVE_INFINITY
    for (const { since, reject } of group) if (since < latest) reject(failed)
    this.#waiting = [...group.filter(({ since }) => since >= latest), ...this.#waiting]
    if (this.#waiting.length > 0) setTimeout(() => this.#flush(), PAUSE_MS)
  }
}
