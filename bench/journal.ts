import { createRates } from './create-rates.ts'
import type { Options } from './options.ts'
import { startTakeback, startWithoutJournal } from './processes.ts'
import { makeDatabase } from './setup.ts'
import type { BenchStore } from './store.ts'
import { judge, type Line, whole } from './table.ts'

const BAR = { least: 0.7 }

/** Measures the cost of the journal: creates, compared with a Takeback that does not write it. */
export async function measureJournal(store: BenchStore, options: Options): Promise<Line[]> {
  const database = await makeDatabase(store, 'journal', { bookings: 1000 })
  const copy = await database.copy('without-journal')
  const servers = [await startTakeback(database), await startWithoutJournal(copy)]
  const [ours = 0, theirs = 0] = await createRates(servers, options)
  await Promise.all(servers.map((server) => server.stop()))
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
