import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import pkg from '../../package.json'
import { BACKUP_FOLDER } from '../config.ts'
import { StartError } from '../errors.ts'
import { type Backup, makeBackup } from '../store/backup/make.ts'
import { describeLocation } from '../store/location.ts'
import type { Command } from './arguments.ts'
import { databaseOptions, helpOption, keptConfigOf, passphraseOf, passphraseOption } from './options.ts'

export const backup: Command = {
  name: 'backup',
  usage: 'takeback backup [--to FILE|FOLDER]',
  summary: 'Writes all data and the secret into one new file and checks it, even while a server runs.',
  options: {
    to: { value: 'FILE|FOLDER', help: `a new file, or a folder (${BACKUP_FOLDER})` },
    ...passphraseOption,
    json: { value: undefined, help: 'print the result as JSON, for programs' },
    ...databaseOptions,
    ...helpOption,
  },
  details:
    'The file has the same format for every kind of database. "takeback restore" creates a database from it.',
  async run(given) {
    if (given.words.length > 0)
      throw new StartError(`takeback backup does not take "${given.words[0]}": use --to FILE.`)
    const { database, secret } = keptConfigOf(given)
    const began = performance.now()
    const made = await makeBackup(database, fileFor(given.text('to') ?? BACKUP_FOLDER), {
      version: pkg.version,
      passphrase: passphraseOf(given),
      secret,
    })
    if (given.text('json') !== undefined) return console.log(JSON.stringify(made))
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    console.log(`Backed up ${describeLocation(database)} in ${seconds} s, and found the file sound.`)
    console.log(reportOf(made))
  },
}

/** Returns the file to write. An existing folder, a name that ends with a slash, and the default are folders. */
function fileFor(to: string): string {
  const path = resolve(to)
  const folder =
    /[\\/]$/.test(to) || to === BACKUP_FOLDER || (existsSync(path) && statSync(path).isDirectory())
  return folder ? join(path, backupName(new Date())) : path
}

/** Names sort by time. */
export function backupName(time: Date): string {
  return `takeback-${time.toISOString().replace(/[:.]/g, '-')}.db`
}

function reportOf({ file, bytes, rows, lastChange, secret }: Backup): string {
  return [
    `  file         ${file}`,
    `  size         ${bytes.toLocaleString('en')} bytes`,
    `  rows         ${rows.toLocaleString('en')}`,
    `  last change  ${lastChange === null ? 'none' : `${lastChange.at}, number ${lastChange.seq}`}`,
    `  secret       ${secrets[secret]}`,
  ].join('\n')
}

const secrets: Record<Backup['secret'], string> = {
  sealed: 'in the file, sealed by the passphrase',
  plain: 'in the file, not sealed: anyone who can read the file can sign tokens',
  none: 'not in the file: keep your TAKEBACK_SECRET yourself',
}
