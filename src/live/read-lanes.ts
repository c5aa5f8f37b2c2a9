import { budget } from '../budget.ts'
import { isInTime } from '../in-time.ts'
import { Semaphore } from './semaphore.ts'

/**
 * Limits how many groups of listeners read at once, so that requests do not wait behind them in the database. Each group
 * waits only behind groups that took about as long the last time, so slow ones never delay quick ones.
 */
export class ReadLanes {
  readonly #quick = new Semaphore(budget.feedReads)
  readonly #usual = new Semaphore(budget.feedReads)
  readonly #slow = new Semaphore(budget.feedSlowReads)

  /** `lastMs` is how long the last read of the group took. */
  run<T>(lastMs: number, read: () => Promise<T>): Promise<T> {
    if (lastMs > budget.feedDeliveryMs) return this.#slow.run(read)
    const { promise, resolve } = Promise.withResolvers<T>()
    const inTime = () => {
      const reading = read()
      resolve(reading)
      // A read that takes long gives up its place in the lane.
      return isInTime(budget.feedDeliveryMs, reading)
    }
    const lane = lastMs > budget.feedQuickMs ? this.#usual : this.#quick
    lane.run(inTime).catch(() => {}) // The caller gets the error.
    return promise
  }
}
