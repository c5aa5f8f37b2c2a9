import { StartError } from '../errors.ts'
import { describeLocation } from '../store/location.ts'
import { openStore } from '../store/open.ts'
import type { Command } from './arguments.ts'
import { helpOption, keptConfigOf, storeOptions } from './options.ts'

const { database } = storeOptions

export const vacuum: Command = {
  name: 'vacuum',
  usage: 'takeback vacuum [--database URL]',
  summary: 'Rewrites the file of a database, so that no copy of purged data is left in it.',
  options: { database, ...helpOption },
  async run(given) {
    if (given.words.length > 0) throw new StartError(`takeback vacuum does not take "${given.words[0]}".`)
    const { database: location } = keptConfigOf(given)
    const store = await openStore(location, { mustExist: true })
    try {
      await store.vacuum()
      console.log(`Rewrote ${describeLocation(location)}.`)
    } finally {
      await store.close()
    }
  },
}
