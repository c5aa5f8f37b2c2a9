import type { Rate } from '../../budget.ts'
import { Failure } from '../../errors.ts'

/** What is left of a rate limit, for the headers of an answer. */
export interface RateLimitStatus {
  /** The header `RateLimit-Policy`. */
  readonly policy: string
  /** The header `RateLimit`. */
  readonly state: string
}

/**
 * A token bucket with a burst and a refill rate. Its level is stored as one number, the time at which it is full again;
 * taking a token postpones that time.
 */
export class TokenBucket {
  readonly name: string
  readonly burst: number
  /** Milliseconds for one token. */
  readonly cost: number
  /** Milliseconds from empty to full. */
  readonly window: number
  readonly policy: string

  constructor(name: string, { burst, perSecond }: Rate) {
    this.name = name
    this.burst = burst
    this.cost = 1000 / perSecond
    this.window = burst * this.cost
    this.policy = `"${name}";q=${burst};w=${Math.ceil(this.window / 1000)}`
  }

  /** Returns when the bucket is full again after taking this many tokens; undefined if there are not enough. */
  taken(fullAt: number, now: number, count = 1): number | undefined {
    const next = Math.max(fullAt, now) + count * this.cost
    // Tolerates rounding errors of less than a thousandth of a token.
    return next > now + this.window + this.cost / 1000 ? undefined : next
  }

  status(fullAt: number, now: number): RateLimitStatus {
    const owed = Math.max(0, fullAt - now)
    const left = Math.max(0, Math.floor((this.window - owed) / this.cost + 0.001))
    return { policy: this.policy, state: `"${this.name}";r=${left};t=${secondsOf(owed)}` }
  }

  refusal(fullAt: number, now: number, count = 1): Failure {
    const wait = fullAt + count * this.cost - this.window - now
    const { policy, state } = this.status(fullAt, now)
    return new Failure('rate_limited', {
      headers: {
        'Retry-After': String(Math.max(1, secondsOf(wait))),
        'RateLimit-Policy': policy,
        RateLimit: state,
      },
    })
  }
}

/** Rounds up, but ignores less than a millisecond: times that were added and subtracted are not exact. */
function secondsOf(ms: number): number {
  return Math.ceil(Math.round(ms) / 1000)
}
