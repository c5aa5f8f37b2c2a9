import { budget, type Rates } from '../../budget.ts'
import { invalidAt } from '../../errors.ts'
import type { Outcome } from '../../store/step.ts'
import type { Store } from '../../store/store.ts'
import type { Recurring } from '../../work/recurring.ts'
import { OpenStreams } from './open-streams.ts'
import { RateCounter } from './rate-counter.ts'
import { compileRates, type RatesPlan } from './rate-statements.ts'
import { type RateLimitStatus, TokenBucket } from './token-bucket.ts'

const EXCHANGE_MS = 1000
const CLEAR_MS = 10 * 60_000
/** How far a bucket can be overdrawn, in whole buckets. */
const DEBT = 2
/** How many rows are written at each exchange. The largest counts come first. */
const EXCHANGED_MAX = 100

/** How many bytes of answers are kept for one caller: a burst, and as many more each day. */
const KEPT = new TokenBucket('kept', {
  burst: budget.keptDayBytes,
  perSecond: budget.keptDayBytes / (24 * 60 * 60),
})

/** The counters for addresses and for users. */
interface Counters {
  readonly address: RateCounter
  readonly user: RateCounter
}

/**
 * The rate limits. Reads and writes are counted in memory. Once a second the instances share large counts through the
 * database, and the sum counts. Sign-ups, and the bytes kept for a caller, are counted in the database, one by one.
 */
export class RateLimits {
  readonly #store: Store
  readonly #plan: RatesPlan
  readonly #signUps: TokenBucket | undefined
  readonly #counters: Readonly<Record<'reads' | 'writes', Counters | undefined>>
  readonly #streams: OpenStreams | undefined
  #timer: Timer | undefined
  #exchangedAt = performance.now()

  constructor(store: Store, { signUps, writes, reads, streams }: Rates) {
    this.#store = store
    this.#plan = compileRates(store.dialect)
    this.#signUps = signUps === undefined ? undefined : new TokenBucket('signups', signUps)
    const counters = (name: string, rate: Rates['reads']) =>
      rate === undefined
        ? undefined
        : {
            address: new RateCounter(new TokenBucket(name, rate)),
            user: new RateCounter(new TokenBucket(`${name}-user`, rate)),
          }
    this.#counters = { reads: counters('reads', reads), writes: counters('writes', writes) }
    this.#streams = streams === undefined ? undefined : new OpenStreams(streams)
  }

  /** Counts a stream on this instance. Throws if there are too many. Returns what to call at its end. */
  open(whose: string): () => void {
    return this.#streams?.open(whose) ?? (() => {})
  }

  /** Counts a request. Throws if nothing is left. Returns undefined if there is no such limit. */
  count(kind: 'reads' | 'writes', whose: 'address' | 'user', key: string): RateLimitStatus | undefined {
    return this.#counters[kind]?.[whose].take(key, performance.now())
  }

  /** Counts sign-ups from an address, all of them or none, without the `counted` ones. */
  async signUp(
    address: string,
    { count: all, counted }: { count: number; counted: number },
  ): Promise<RateLimitStatus | undefined> {
    const bucket = this.#signUps
    if (bucket === undefined) return undefined
    if (all > bucket.burst)
      throw invalidAt('', `has ${all} sign-ups: at most ${bucket.burst} are allowed at once`)
    const count = all - counted
    const outcome = await this.#take(bucket, address, count)
    if (outcome.done) return bucket.status(Number(outcome.rows[0]?.[0]), 0)
    const [row] = await this.#store.read(this.#plan.find, { $key: keyIn(bucket, address) })
    throw bucket.refusal(Number(row?.[0] ?? 0), 0, count)
  }

  /** Counts bytes to be kept for a caller; false if there would be too many. */
  async keep(whose: string, bytes: number): Promise<boolean> {
    return (await this.#take(KEPT, whose, bytes)).done
  }

  /** Takes tokens from a bucket in the database, all of them or none. */
  #take(bucket: TokenBucket, whose: string, count: number): Promise<Outcome> {
    return this.#store.write(this.#plan.take, {
      $key: keyIn(bucket, whose),
      $cost: Math.round(count * bucket.cost),
      $most: Math.round(bucket.window),
    })
  }

  /** Deletes the rows of full buckets. */
  get sweep(): Recurring {
    return {
      name: 'rates',
      every: CLEAR_MS,
      run: async ({ store }) => {
        await store.write(this.#plan.clear, {})
      },
    }
  }

  /** Starts the exchange. Each instance runs its own, since the counts are in its memory. */
  start(failed: (error: unknown) => void): void {
    this.#timer = setInterval(() => this.#tick().catch(failed), EXCHANGE_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #tick(): Promise<void> {
    const now = performance.now()
    const ms = now - this.#exchangedAt
    this.#exchangedAt = now
    const counters = Object.values(this.#counters).flatMap((one) =>
      one === undefined ? [] : [one.address, one.user],
    )
    await Promise.all(counters.map((counter) => this.#exchange(counter, ms)))
  }

  /** Shares what was taken on this instance, and reads what was taken on all. */
  async #exchange(counter: RateCounter, ms: number): Promise<void> {
    const { cost, window } = counter.bucket
    // Instances may have given out too much before they shared their counts. That debt is limited.
    const most = Math.round(DEBT * window)
    const counts = counter.exchange(ms).slice(0, EXCHANGED_MAX)
    await Promise.all(
      counts.map(async ({ key, count }) => {
        const params = { $key: keyIn(counter.bucket, key), $cost: Math.round(count * cost), $most: most }
        const { rows } = await this.#store.write(this.#plan.add, params)
        counter.learn(key, performance.now() + Number(rows[0]?.[0]))
      }),
    )
  }
}

function keyIn({ name }: TokenBucket, whose: string): string {
  return `${name} ${whose}`
}
