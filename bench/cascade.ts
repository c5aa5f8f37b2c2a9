import { time } from './generator.ts'
import type { Options } from './options.ts'
import { startLimit, startTakeback } from './processes.ts'
import { logIn, makeDatabase } from './setup.ts'
import type { BenchStore } from './store.ts'
import { judge, type Line, median, milliseconds, whole } from './table.ts'

const CHILDREN = 100_000
const ROUNDS_MAX = 3
const BAR = { most: 2 }

/** The latencies of all rounds, in milliseconds. */
interface Found {
  readonly ours: number[]
  readonly theirs: number[]
}

/** Measures one request that deletes a customer with all its orders, and one that restores them all. */
export async function measureCascade(store: BenchStore, { rounds }: Options): Promise<Line[]> {
  const database = await makeDatabase(store, 'cascade', { orders: CHILDREN })
  const copy = await database.copy('cascade-limit')
  const [takeback, limit] = [await startTakeback(database), await startLimit(copy)]
  const token = await logIn(takeback)
  const acts = ['delete', 'restore'] as const
  const { journal: before } = await database.count()
  const found = acts.map((): Found => ({ ours: [], theirs: [] }))
  for (let round = 0; round < Math.min(rounds, ROUNDS_MAX); round++)
    for (const [at, act] of acts.entries()) {
      const call = { method: 'DELETE', path: `/api/customers/1/${act === 'restore' ? '?restore=1' : ''}` }
      found[at]?.ours.push(...(await time(takeback, token, [call])))
      found[at]?.theirs.push(...(await time(limit, token, [call])))
    }
  await Promise.all([takeback.stop(), limit.stop()])
  const written = found.reduce((sum, { ours }) => sum + ours.length, 0) * (CHILDREN + 1)
  for (const { count } of [database, copy])
    if ((await count()).journal - before !== written)
      throw new Error(`${written} changes were acknowledged, and a journal has others.`)
  return acts.map((act, at) => {
    const [ours, theirs] = [median(found[at]?.ours ?? []), median(found[at]?.theirs ?? [])]
    return {
      what: `${act} with ${whole(CHILDREN)} children`,
      takeback: milliseconds(ours),
      against: `${milliseconds(theirs)} limit`,
      ratio: (ours / theirs).toFixed(2),
      ...judge(ours / theirs, BAR),
    }
  })
}
