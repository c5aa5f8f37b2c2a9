import { expect } from 'bun:test'
import { runs, type TestServer } from './harness.ts'

/*
 * Checks that answers of several kinds take the same time, so that the time does not reveal the kind. By default this
 * only finds a large missing step, such as a hash. `TAKEBACK_TEST_RUNS=2000` finds differences of one percent; that
 * needs a quiet machine.
 */

const ROUNDS = runs(6)
/** From SOME rounds on, t is printed; from ENOUGH on, it decides. */
const SOME = 100
const ENOUGH = 1000
/** A busy machine needs more rounds until one answer of each kind was not disturbed. */
const MOST = 200
/** The usual bound in tests of side channels. */
const MOST_T = 4.5

export interface TimedRequest<Kind extends string> {
  readonly path: string
  readonly status: number
  readonly kinds: readonly [Kind, Kind, ...Kind[]]
  /** Prepares a round. */
  prepare(round: number): Promise<void>
  bodyOf(kind: Kind, round: number): object
}

/** Sends one request of each kind per round, in random order, each from its own address. */
export async function expectSameTime<Kind extends string>(
  server: TestServer,
  asked: TimedRequest<Kind>,
): Promise<void> {
  const times: Times = new Map(asked.kinds.map((kind) => [kind, []]))
  for (let round = 0; round < ROUNDS || (round < MOST && !areAlike(times)); round++) {
    await asked.prepare(round)
    for (const kind of shuffled(asked.kinds))
      times.get(kind)?.push(await timeOf(server, asked, asked.bodyOf(kind, round)))
  }
  if (ROUNDS >= SOME) console.log(`${asked.path}: ${described(times)}`)
  expect(areAlike(times)).toBe(true)
  if (ROUNDS >= ENOUGH) expect(differences(times).filter(({ t }) => t >= MOST_T)).toEqual([])
}

let addresses = 0

async function timeOf(
  server: TestServer,
  { path, status }: Pick<TimedRequest<string>, 'path' | 'status'>,
  body: object,
): Promise<number> {
  const at = addresses++
  const headers = { 'X-Forwarded-For': `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}` }
  const began = performance.now()
  const received = await server.call('POST', path, { body, token: null, headers })
  const time = performance.now() - began
  expect(received.status).toBe(status)
  return time
}

type Times = Map<string, number[]>

/** Without a hash, an answer takes a fiftieth of the time. Only the fastest count: nothing else slowed them down. */
function areAlike(times: Times): boolean {
  const fastest = [...times.values()].map((all) => Math.min(...all))
  return Math.min(...fastest) / Math.max(...fastest) > 0.3
}

/** Compares each kind with the first. */
function differences(times: Times): { kind: string; ms: number; t: number }[] {
  const [first = []] = [...times.values()].map(usual)
  return [...times].map(([kind, all]) => ({ kind, ms: mean(usual(all)), t: welch(usual(all), first) }))
}

function described(times: Times): string {
  return differences(times)
    .map(({ kind, ms, t }) => `${kind} ${ms.toFixed(3)} ms (t ${t.toFixed(2)})`)
    .join(', ')
}

/** Returns Welch's t: by how many standard errors two means differ. */
function welch(some: readonly number[], others: readonly number[]): number {
  const error = Math.sqrt(variance(some) / some.length + variance(others) / others.length)
  return Math.abs(mean(some) - mean(others)) / error
}

function mean(times: readonly number[]): number {
  return times.reduce((sum, one) => sum + one, 0) / times.length
}

function variance(times: readonly number[]): number {
  const middle = mean(times)
  return times.reduce((sum, one) => sum + (one - middle) ** 2, 0) / (times.length - 1)
}

/** Drops the slowest twentieth, when the machine was doing something else. */
function usual(times: readonly number[]): number[] {
  return times.toSorted((a, b) => a - b).slice(0, Math.ceil(times.length * 0.95))
}

function shuffled<T>(all: readonly T[]): T[] {
  return all
    .map((one) => ({ one, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one)
}
