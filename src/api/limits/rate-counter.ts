import { budget } from '../../budget.ts'
import type { RateLimitStatus, TokenBucket } from './token-bucket.ts'

interface Entry {
  fullAt: number
  /** The tokens taken on this instance since the last exchange. */
  count: number
}

/** The tokens that one address or user has taken on this instance. */
export interface TakenTokens {
  readonly key: string
  readonly count: number
}

/** Counts below this part of the refill rate are not shared with other instances: they do not matter. */
const NOTABLE = 0.1

/** One bucket for each address or user, in memory, so that a request costs next to nothing. */
export class RateCounter {
  readonly bucket: TokenBucket
  readonly #entries = new Map<string, Entry>()
  #touched: string[] = []

  constructor(bucket: TokenBucket) {
    this.bucket = bucket
  }

  /** Takes a token. Throws if none is left. */
  take(key: string, now: number): RateLimitStatus {
    const entry = this.#entries.get(key) ?? this.#add(key, now)
    const next = this.bucket.taken(entry.fullAt, now)
    if (next === undefined) throw this.bucket.refusal(entry.fullAt, now)
    entry.fullAt = next
    if (entry.count++ === 0) this.#touched.push(key)
    return this.bucket.status(next, now)
  }

  #add(key: string, now: number): Entry {
    if (this.#entries.size >= budget.rateKeys) this.#forget(now)
    const entry = { fullAt: now, count: 0 }
    this.#entries.set(key, entry)
    return entry
  }

  /** Forgets full buckets, then the oldest half. */
  #forget(now: number): void {
    for (const [key, { fullAt }] of this.#entries) if (fullAt <= now) this.#entries.delete(key)
    const most = budget.rateKeys / 2
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= most) break
      this.#entries.delete(key)
    }
  }

  /** Returns the counts to share since the last exchange, `ms` ago, largest first. */
  exchange(ms: number): TakenTokens[] {
    const touched = this.#touched
    this.#touched = []
    return touched
      .flatMap((key) => {
        const entry = this.#entries.get(key)
        if (entry === undefined) return []
        const { count } = entry
        entry.count = 0
        return count * this.bucket.cost >= NOTABLE * ms ? [{ key, count }] : []
      })
      .sort((a, b) => b.count - a.count)
  }

  /** Sets the total of all instances, and adds what was taken here in the meantime. */
  learn(key: string, fullAt: number): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) entry.fullAt = Math.max(entry.fullAt, fullAt + entry.count * this.bucket.cost)
  }
}
