import type { Options } from './options.ts'
import { CONFIG, startTakeback } from './processes.ts'
import { makeDatabase } from './setup.ts'
import type { BenchStore, Database } from './store.ts'
import { judge, type Line, median, milliseconds } from './table.ts'

const TIMES = 15
const BAR = { most: 300, unit: ' ms' }

/**
 * Measures how long a process takes until it is ready, on an existing database; in turns with another Takeback, if one
 * is given.
 */
export async function measureStart(store: BenchStore, { against }: Options): Promise<Line[]> {
  const took = new Map<string | undefined, number[]>()
  const databases = new Map<string | undefined, Database>()
  for (const from of against === undefined ? [undefined] : [undefined, against]) {
    databases.set(from, await makeDatabase(store, `start${databases.size}`, { bookings: 10_000 }, { from }))
    took.set(from, [])
  }
  for (let time = 0; time <= TIMES; time++)
    for (const [from, database] of databases) {
      const server = await startTakeback(database, true, CONFIG, from)
      // The first start only brings the files into the system's cache.
      if (time > 0) took.get(from)?.push(server.startedMs)
      await server.stop()
    }
  const [ours = 0, theirs] = [...took.values()].map(median)
  return [
    {
      what: 'start on an existing database',
      takeback: milliseconds(ours),
      ...(theirs !== undefined && {
        against: `${milliseconds(theirs)} other`,
        ratio: (theirs / ours).toFixed(2),
      }),
      ...judge(ours, BAR),
    },
  ]
}
