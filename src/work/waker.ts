import { budget } from '../budget.ts'
import type { Store } from '../store/store.ts'

/** How often to check for commits of other processes, if the database has no notifications. */
const GLANCE_MS = 50

/** How many times longer than they work the followers rest. */
const RESTS = 9

/**
 * Wakes the followers of the journal: soon after a commit of any process, at most once in `wakeGatherMs`, and once a
 * second in any case. A call only says that there may be something new; followers read the journal themselves. Slow
 * followers are woken less often, so that following takes a tenth of the time at most. Free while nobody follows.
 */
export class Waker {
  readonly #store: Store
  readonly #followers = new Set<() => void | Promise<void>>()
  #stopHearing: (() => void) | undefined
  #timer: Timer | undefined
  #glance: Timer | undefined
  #others = 0
  #wokenAt = Number.NEGATIVE_INFINITY
  #restMs: number = budget.wakeGatherMs
  #isWaking = false
  #isHeard = false

  constructor(store: Store) {
    this.#store = store
  }

  /** Calls `wake` whenever the journal may have something new, until the returned function is called. */
  follow(wake: () => void | Promise<void>): () => void {
    this.#followers.add(wake)
    if (this.#stopHearing === undefined) this.#start()
    return () => {
      this.#followers.delete(wake)
      if (this.#followers.size === 0) this.stop()
    }
  }

  /** A follower could not read everything yet: wakes all followers again in a moment. */
  again(): void {
    if (this.#stopHearing !== undefined) this.#heard()
  }

  #start(): void {
    this.#stopHearing = this.#store.onCommit(() => this.#heard())
    this.#others = this.#othersNow()
    this.#glance = setInterval(() => this.#look(), GLANCE_MS)
    this.#glance.unref()
  }

  #look(): void {
    const others = this.#othersNow()
    const isDue = performance.now() - this.#wokenAt >= budget.feedLookMs
    if (others === this.#others && !isDue) return
    this.#others = others
    this.#heard()
  }

  /** `others` of the Store, or its last value if the database cannot be read: whoever reads it gets the error. */
  #othersNow(): number {
    try {
      return this.#store.others
    } catch {
      return this.#others
    }
  }

  #heard(): void {
    if (this.#isWaking) this.#isHeard = true
    if (this.#isWaking || this.#timer !== undefined) return
    const since = performance.now() - this.#wokenAt
    this.#timer = setTimeout(() => this.#wake(), Math.max(0, this.#restMs - since))
    this.#timer.unref()
  }

  async #wake(): Promise<void> {
    this.#timer = undefined
    this.#isWaking = true
    this.#isHeard = false
    const began = performance.now()
    await Promise.allSettled([...this.#followers].map((wake) => wake()))
    this.#wokenAt = performance.now()
    const rest = (this.#wokenAt - began) * RESTS
    this.#restMs = Math.min(budget.wakeRestMs, Math.max(budget.wakeGatherMs, rest))
    this.#isWaking = false
    if (this.#isHeard && this.#stopHearing !== undefined) this.#heard()
  }

  /** Stops waking the followers. */
  stop(): void {
    this.#followers.clear()
    this.#stopHearing?.()
    this.#stopHearing = undefined
    clearTimeout(this.#timer)
    clearInterval(this.#glance)
    this.#timer = undefined
  }
}
