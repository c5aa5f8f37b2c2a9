import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { budget } from '../../budget.ts'
import { Failure } from '../../errors.ts'
import { RateCounter } from './rate-counter.ts'
import { TokenBucket } from './token-bucket.ts'

const rate = fc.record({
  burst: fc.integer({ min: 1, max: 50 }),
  perSecond: fc.constantFrom(1 / 3600, 0.01, 1 / 3, 1, 7, 100),
})
const asks = fc.array(fc.record({ after: fc.nat(5000), count: fc.integer({ min: 1, max: 5 }) }), {
  maxLength: 60,
})

const failureOf = (run: () => unknown): Failure | undefined => {
  try {
    run()
    return undefined
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

describe('a token bucket', () => {
  test('gives as many as a bucket of tokens would', () => {
    fc.assert(
      fc.property(rate, asks, ({ burst, perSecond }, all) => {
        const bucket = new TokenBucket('x', { burst, perSecond })
        let now = 1_000_000
        let fullAt = 0
        let tokens = burst
        for (const { after, count } of all) {
          now += after
          tokens = Math.min(burst, tokens + (after / 1000) * perSecond)
          const next = bucket.taken(fullAt, now, count)
          // At the very edge, rounding may make the two differ.
          if (Math.abs(tokens - count) > 0.01) expect(next !== undefined).toBe(tokens > count)
          if (next === undefined) continue
          fullAt = next
          tokens = Math.max(0, tokens - count)
        }
      }),
    )
  })

  test('says how long to wait, and keeps its word', () => {
    fc.assert(
      // The clock has fractions of a millisecond.
      fc.property(rate, fc.double({ min: 1e6, max: 1e9, noNaN: true }), ({ burst, perSecond }, now) => {
        const bucket = new TokenBucket('x', { burst, perSecond })
        const fullAt = now + bucket.window
        expect(bucket.taken(fullAt, now)).toBeUndefined()
        const { headers } = bucket.refusal(fullAt, now)
        const seconds = Number(headers['Retry-After'])
        expect(bucket.taken(fullAt, now + seconds * 1000)).toBeDefined()
        const before = (seconds - 1) * 1000 - bucket.cost / 1000
        if (before > 0) expect(bucket.taken(fullAt, now + before)).toBeUndefined()
        expect(headers.RateLimit).toBe(`"x";r=0;t=${Math.ceil(burst / perSecond - 1e-6)}`)
      }),
    )
  })
})

describe('a counter', () => {
  const counter = (burst: number, perSecond: number) =>
    new RateCounter(new TokenBucket('x', { burst, perSecond }))

  test('keeps everybody apart', () => {
    const all = counter(2, 1)
    for (const key of ['a', 'b', 'a', 'b']) all.take(key, 0)
    for (const key of ['a', 'b']) expect(failureOf(() => all.take(key, 0))?.code).toBe('rate_limited')
    all.take('c', 0)
  })

  test('of several instances that tell each other, together give no more than one, but for what is on its way', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 4 }),
        fc.array(fc.tuple(fc.nat(3), fc.nat(80)), { minLength: 200, maxLength: 800 }),
        (instances, calls) => {
          const [burst, perSecond] = [20, 5]
          const counters = Array.from({ length: instances }, () => counter(burst, perSecond))
          const bucket = new TokenBucket('x', { burst, perSecond })
          let shared = 0
          let [now, last, given] = [0, 0, 0]
          for (const [which, after] of calls) {
            now += after
            if (now - last >= 1000) {
              for (const one of counters)
                for (const { key, count } of one.exchange(now - last)) {
                  shared = Math.min(Math.max(shared, now) + count * bucket.cost, now + 2 * bucket.window)
                  one.learn(key, shared)
                }
              last = now
            }
            if (failureOf(() => counters[which % instances]?.take('a', now)) === undefined) given++
          }
          // Until they hear of each other, each instance has its own bucket, and then one second's refill.
          const most = instances * (burst + perSecond + 1) + (now / 1000) * perSecond
          expect(given).toBeLessThanOrEqual(most)
        },
      ),
    )
  })

  test('learns what others have taken', () => {
    const [one, other] = [counter(10, 1), counter(10, 1)]
    for (let at = 0; at < 10; at++) one.take('a', 0)
    expect(other.exchange(1000)).toEqual([])
    const [taken] = one.exchange(1000)
    expect(taken).toEqual({ key: 'a', count: 10 })
    other.take('a', 0)
    other.learn('a', 10_000)
    expect(failureOf(() => other.take('a', 0))?.headers['Retry-After']).toBe('2')
  })

  test('does not tell of whoever takes little', () => {
    const all = counter(1000, 100)
    for (let at = 0; at < 9; at++) all.take('a', 0)
    expect(all.exchange(1000)).toEqual([])
    for (let at = 0; at < 10; at++) all.take('a', 0)
    expect(all.exchange(1000)).toEqual([{ key: 'a', count: 10 }])
    expect(all.exchange(1000)).toEqual([])
  })

  test('does not grow without end, and forgets first whoever has taken nothing', () => {
    const all = counter(1, 1)
    for (let at = 1; at < budget.rateKeys; at++) all.take(`a${at}`, 0)
    all.take('heavy', 10_000)
    for (let at = 1; at < budget.rateKeys; at++) all.take(`b${at}`, 10_500)
    expect(failureOf(() => all.take('heavy', 10_500))?.code).toBe('rate_limited')
  })

  test('takes next to no time', () => {
    const all = counter(1e9, 1e6)
    const best = Math.min(
      ...Array.from({ length: 10 }, () => {
        const started = performance.now()
        for (let at = 0; at < 10_000; at++) all.take('a', 0)
        return (performance.now() - started) / 10_000
      }),
    )
    // In milliseconds: a twentieth of the time of the smallest request.
    expect(best).toBeLessThan(0.001)
  })
})
