import { resolve } from 'node:path'
import { readDatabase, readLimits } from '../config.ts'
import { StartError } from '../errors.ts'
import { type Inspected, inspectBackup } from '../store/backup/inspect.ts'
import { rowsIn } from '../store/backup/record.ts'
import { refuseTaken, restoreBackup, secretOf } from '../store/backup/restore.ts'
import { describeLocation } from '../store/location.ts'
import type { Command } from './arguments.ts'
import { AccessEnding, endingOptions } from './ending.ts'
import { helpOption, keptConfigOf, passphraseOf, passphraseOption, refuseMemory } from './options.ts'

export const restore: Command = {
  name: 'restore',
  usage: 'takeback restore FILE [--to URL] [--end-sessions] [--end-keys]',
  summary: 'Checks a backup, describes it, and creates a database from it.',
  options: {
    to: {
      value: 'URL',
      help: 'the new database: sqlite:FILE or postgres://… (TAKEBACK_DATABASE; sqlite:data/takeback.db)',
    },
    ...passphraseOption,
    'without-secret': {
      value: undefined,
      help: 'leave the secret out: everyone must log in again, and old passwords cannot be set back',
    },
    ...endingOptions,
    ...helpOption,
  },
  details:
    'Nothing is ever overwritten: a database that already exists is refused. A backup does not know which sessions, links and keys have ended since it was made: without --end-sessions and --end-keys, they work again.',
  async run(given) {
    const [file, ...more] = given.words
    if (file === undefined || more.length > 0)
      throw new StartError('Name a backup: takeback restore FILE [--to URL].')
    const url = given.text('to')
    const to =
      url === undefined
        ? keptConfigOf(given).database
        : readDatabase(url, readLimits({}, process.env), '--to')
    refuseMemory(to)
    refuseTaken(to)
    const inspected = await inspectBackup(resolve(file))
    console.log(reportOf(file, inspected))
    const secret = secretOf(inspected.record, {
      passphrase: passphraseOf(given),
      leaveOut: given.text('without-secret') !== undefined,
    })
    const ending = AccessEnding.fromOptions(given, 'backup')
    await restoreBackup(resolve(file), to, secret, (database, metadata) => ending.run(database, metadata))
    console.log([`Restored to ${describeLocation(to)}.`, ...ending.messages].join('\n'))
  },
}

function reportOf(file: string, { record, types }: Inspected): string {
  const { madeAt, from, takeback, lastChange, secret } = record
  const width = Math.max(11, ...types.map(({ name }) => name.length))
  const line = (name: string, text: string) => `  ${name.padEnd(width)}  ${text}`
  return [
    `${file} is sound.`,
    line('made', `${madeAt} by Takeback ${takeback}`),
    line('from', from),
    line('last change', lastChange === null ? 'none' : `${lastChange.at}, number ${lastChange.seq}`),
    line('secret', secret === null ? 'none' : typeof secret === 'string' ? 'not sealed' : 'sealed'),
    line('rows', rowsIn(record).toLocaleString('en')),
    ...types.map(({ name, live, trash }) =>
      line(
        name,
        `${live.toLocaleString('en')}${trash > 0 ? `, and ${trash.toLocaleString('en')} in the trash` : ''}`,
      ),
    ),
  ].join('\n')
}
