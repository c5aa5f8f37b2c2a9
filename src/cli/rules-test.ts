import { resolve } from 'node:path'
import { loadDefault, openApp, resolveFile } from '../app.ts'
import { IN_MEMORY, readConfig } from '../config.ts'
import { isRecord } from '../declare/record.ts'
import { StartError } from '../errors.ts'
import type { Location } from '../store/location.ts'
import { openStore } from '../store/open.ts'
import type { Command } from './arguments.ts'
import { helpOption } from './options.ts'
import { tryCases } from './rule-cases.ts'

const FILE = 'takeback.rules.ts'

export const rulesTest: Command = {
  name: 'rules test',
  usage: 'takeback rules test [FILE] [--database URL]',
  summary: 'Tries the rules of a declaration: who may do what, and who may not.',
  options: {
    database: {
      value: 'URL',
      help: 'an empty database to try them on, such as postgres://…; test data stays in it (default: one in memory)',
    },
    ...helpOption,
  },
  details: `FILE exports the cases (default: ${FILE}); docs/rules.md has an example. The exit code is 1 if a case fails.`,
  async run(given) {
    const [name = FILE, ...more] = given.words
    if (more.length > 0) throw new StartError('Name one file: takeback rules test takeback.rules.ts.')
    const file = resolve(name)
    const sent = await loadDefault(file, 'name the file with the cases: takeback rules test FILE')
    if (!isRecord(sent) || !('app' in sent))
      throw new StartError(`${file} must export cases as its default: export default cases(config, { … }).`)
    const url = given.text('database')
    // Never the database of the environment: it could be the one in use.
    const config = readConfig({ database: url ?? IN_MEMORY }, {})
    const model = resolveFile(file, sent.app)
    if (url !== undefined) await refuseFilled(config.database)
    const app = await openApp(config, model)
    try {
      const { given: there, deleted, cases } = sent
      const { count, failed } = await tryCases(app.context, { given: there, deleted, cases })
      for (const one of failed) console.log(one)
      if (failed.length > 0) throw new StartError(`${failed.length} of ${count} cases failed.`)
      console.log(count === 1 ? '1 case holds.' : `All ${count} cases hold.`)
    } finally {
      await app.close()
    }
  },
}

/** Throws if the database has data: the given Entities must not be mixed with data that somebody needs. */
async function refuseFilled(location: Location): Promise<void> {
  const store = await openStore(location)
  try {
    const { structure } = store
    const tables = await structure.transact('read', (session) => session.all(structure.ddl.tables))
    if (tables.length > 0)
      throw new StartError(`${structure.place} is not empty: rules are tried on an empty database.`)
  } finally {
    await store.close()
  }
}
