import { startTakeback } from './processes.ts'
import { makeDatabase } from './setup.ts'
import type { BenchStore } from './store.ts'
import { judge, type Line, median, milliseconds } from './table.ts'

const TIMES = 7
const BAR = { most: 300, unit: ' ms' }

/** From the start of the process to its being ready, on a database that is there already. */
export async function measureStart(store: BenchStore): Promise<Line[]> {
  const database = await makeDatabase(store, 'start', { bookings: 10_000 })
  const took: number[] = []
  for (let time = 0; time <= TIMES; time++) {
    const server = await startTakeback(database, true)
    // The first brings the files into the system's cache.
    if (time > 0) took.push(server.startedMs)
    await server.stop()
  }
  const middle = median(took)
  return [{ what: 'start on an existing database', takeback: milliseconds(middle), ...judge(middle, BAR) }]
}
