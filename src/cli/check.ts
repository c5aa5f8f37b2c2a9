import { StartError } from '../errors.ts'
import { check as checkDatabase } from '../store/check/check.ts'
import { describeLocation } from '../store/location.ts'
import type { Command } from './arguments.ts'
import { databaseOptions, helpOption, keptConfigOf } from './options.ts'

export const checkCommand: Command = {
  name: 'check',
  usage: 'takeback check [--database URL] [--json]',
  summary: 'Compares all data with the journal, in a live database or a backup, and lists the differences.',
  options: {
    json: { value: undefined, help: 'print the result as JSON, for programs' },
    ...databaseOptions,
    ...helpOption,
  },
  details: 'Changes nothing and needs no declaration. The exit code is 1 if anything differs.',
  async run(given) {
    if (given.words.length > 0)
      throw new StartError(`takeback check does not take "${given.words[0]}": use --database URL.`)
    const { database } = keptConfigOf(given)
    const { types, findings } = await checkDatabase(database)
    if (given.text('json') !== undefined)
      console.log(
        JSON.stringify(
          { database: describeLocation(database), sound: findings.length === 0, types, findings },
          null,
          2,
        ),
      )
    else for (const { where, what } of findings) console.log(`${where} ${what}`)
    if (findings.length > 0)
      throw new StartError(
        `${describeLocation(database)} is not sound: ${findings.length === 1 ? '1 difference' : `${findings.length} differences`}.`,
      )
    if (given.text('json') === undefined)
      console.log(`${describeLocation(database)} is sound: ${types} Entity types, all as in the journal.`)
  },
}
