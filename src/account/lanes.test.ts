import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Lane, Lanes, NotStarted } from './lanes.ts'

const limits = { hashesAtOnce: 2, hashesWaiting: 5, hashWaitMs: 60_000 }

/** Runs work that ends when `end` is called. */
class Bench {
  readonly started: string[] = []
  readonly #ends = new Map<string, () => void>()
  readonly lanes: Lanes

  constructor(lanes = new Lanes(limits)) {
    this.lanes = lanes
  }

  run(lane: Lane, name: string, signal?: AbortSignal): Promise<void> {
    return this.lanes.run(lane, signal, () => {
      this.started.push(name)
      return new Promise((end) => this.#ends.set(name, end))
    })
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.()
    await Bun.sleep(0)
  }
}

test('a login that comes while the other lane is full is the next or the one after it', async () => {
  const bench = new Bench()
  const others = Array.from({ length: 7 }, (_, at) => bench.run('other', `other ${at}`))
  expect(bench.lanes.waiting('other')).toBe(5)
  const login = bench.run('login', 'login')
  await bench.end('other 0')
  expect(bench.started).toEqual(['other 0', 'other 1', 'login'])
  for (const name of ['login', 'other 1', 'other 2', 'other 3', 'other 4', 'other 5', 'other 6'])
    await bench.end(name)
  await Promise.all([...others, login])
})

test('neither lane starves: whatever waits, of four that start one is of each lane', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom<Lane>('login', 'other'), { maxLength: 60 }),
      async (arrivals) => {
        const bench = new Bench(new Lanes({ ...limits, hashesAtOnce: 1, hashesWaiting: 100 }))
        const all = arrivals.map((lane, at) => bench.run(lane, `${lane} ${at}`))
        const waiting = { login: 0, other: 0 }
        for (const lane of arrivals) waiting[lane]++
        for (let at = 0; at < arrivals.length; at++) {
          const name = bench.started[at] ?? ''
          const four = bench.started.slice(Math.max(0, at - 3), at + 1).map((one) => one.split(' ')[0])
          if (waiting.login > 0 && at > 0) expect(four.slice(-2)).toContain('login')
          if (waiting.other > 0 && four.length === 4) expect(four).toContain('other')
          waiting[name.split(' ')[0] as Lane]--
          await bench.end(name)
        }
        await Promise.all(all)
        expect(bench.started).toHaveLength(arrivals.length)
      },
    ),
  )
})

test('a lane that is full refuses at once, and the other lane does not mind', async () => {
  const bench = new Bench()
  const all = Array.from({ length: 7 }, (_, at) => bench.run('other', `${at}`))
  await expect(bench.run('other', 'one too many')).rejects.toBeInstanceOf(NotStarted)
  const login = bench.run('login', 'login')
  expect(bench.lanes.waiting('login')).toBe(1)
  for (const name of ['0', '1', 'login', '2', '3', '4', '5', '6']) await bench.end(name)
  await Promise.all([...all, login])
})

test('who waits too long, or has gone, is dropped and never started', async () => {
  const bench = new Bench(new Lanes({ ...limits, hashWaitMs: 50 }))
  const [a, b] = [bench.run('other', 'a'), bench.run('other', 'b')]
  await expect(bench.run('login', 'too long')).rejects.toBeInstanceOf(NotStarted)
  const gone = new AbortController()
  const leaves = bench.run('other', 'gone', gone.signal)
  gone.abort()
  await expect(leaves).rejects.toBeInstanceOf(NotStarted)
  await expect(bench.run('other', 'gone before', gone.signal)).rejects.toBeInstanceOf(NotStarted)
  expect([bench.lanes.waiting('login'), bench.lanes.waiting('other')]).toEqual([0, 0])
  await bench.end('a')
  await bench.end('b')
  await Promise.all([a, b])
  expect(bench.started).toEqual(['a', 'b'])
})

test('work that throws gives its turn on', async () => {
  const lanes = new Lanes({ ...limits, hashesAtOnce: 1 })
  const fails = lanes.run('login', undefined, () => Promise.reject(new Error('no')))
  const next = lanes.run('other', undefined, async () => 'done')
  await expect(fails).rejects.toThrow('no')
  expect(await next).toBe('done')
})
