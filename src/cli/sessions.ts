import { StartError } from '../errors.ts'
import type { Command } from './arguments.ts'
import { endAll } from './ending.ts'
import { databaseOptions, helpOption, keptConfigOf } from './options.ts'

export const sessionsEnd: Command = {
  name: 'sessions end',
  usage: 'takeback sessions end --all',
  summary: 'Ends all sessions, tokens and mailed links, on running servers too: everyone must log in again.',
  options: {
    all: { value: undefined, help: 'those of all users; the API ends those of one user' },
    ...databaseOptions,
    ...helpOption,
  },
  details: 'Needs no declaration. Keys of programs stay: "takeback keys end --all" ends them.',
  async run(given) {
    if (given.words.length > 0 || given.text('all') === undefined)
      throw new StartError('Everyone would have to log in again. Say so: takeback sessions end --all.')
    console.log(await endAll(keptConfigOf(given).database, 'sessions'))
  },
}
