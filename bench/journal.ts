import { drive } from './generator.ts'
import type { Options } from './options.ts'
import { startTakeback, startWithoutJournal } from './processes.ts'
import { bookingOf } from './rates.ts'
import { logIn, makeDatabase } from './setup.ts'
import type { BenchStore } from './store.ts'
import { judge, type Line, median, whole } from './table.ts'

const CONNECTIONS = 64
const BAR = { least: 0.7 }

/** What the journal costs: creates beside those of a Takeback that leaves it out. */
export async function measureJournal(store: BenchStore, { rounds, seconds }: Options): Promise<Line[]> {
  const database = await makeDatabase(store, 'journal', { bookings: 1000 })
  const copy = await database.copy('without-journal')
  const servers = [await startTakeback(database), await startWithoutJournal(copy)]
  const calls = Array.from({ length: 200 }, (_, at) => ({
    method: 'POST',
    path: '/api/bookings/',
    body: bookingOf(at),
  }))
  const subjects = await Promise.all(
    servers.map(async (server) => ({ server, token: await logIn(server), rates: [] as number[] })),
  )
  for (let round = 0; round <= rounds; round++)
    for (const { server, token, rates } of subjects) {
      const done = await drive(server, token, { calls, connections: CONNECTIONS }, seconds)
      server.cutLog()
      // The first is to get warm.
      if (round > 0) rates.push(done.requests / done.seconds)
    }
  await Promise.all(servers.map((server) => server.stop()))
  const [ours = 0, theirs = 0] = subjects.map(({ rates }) => median(rates))
  const written = await copy.count()
  if (written.bookings <= written.journal) throw new Error('The one without a journal has written one.')
  return [
    {
      what: 'creates with the journal',
      takeback: `${whole(ours)} /s`,
      against: `${whole(theirs)} /s without`,
      ratio: (ours / theirs).toFixed(2),
      ...judge(ours / theirs, BAR),
    },
  ]
}
