import { readDatabase, readLimits } from '../config.ts'
import { StartError } from '../errors.ts'
import { type Copied, copy as carryOver, type Progress } from '../store/copy/copy.ts'
import type { EndedMeanwhile } from '../store/copy/ended.ts'
import { describeLocation } from '../store/location.ts'
import { openStore } from '../store/open.ts'
import type { Command } from './arguments.ts'
import { AccessEnding, endingOptions } from './ending.ts'
import { helpOption, refuseMemory } from './options.ts'

export const copyCommand: Command = {
  name: 'copy',
  usage: 'takeback copy --from URL --to URL [--end-sessions] [--end-keys]',
  summary: 'Copies all data into an empty database, of the same kind or another.',
  options: {
    from: { value: 'URL', help: 'the database to copy, such as sqlite:data/takeback.db' },
    to: { value: 'URL', help: 'the empty database to copy to, such as postgres://user:password@host/name' },
    ...endingOptions,
    ...helpOption,
  },
  details:
    'A server may run at the same time: the copy is the state of the database when it began. To move, stop the servers first, so that no write and no logout is missed. If it is interrupted, run it again.',
  async run(given) {
    const [fromUrl, toUrl] = [given.text('from'), given.text('to')]
    if (fromUrl === undefined || toUrl === undefined || given.words.length > 0)
      throw new StartError('Usage: takeback copy --from URL --to URL.')
    const limits = readLimits({}, process.env)
    const from = readDatabase(fromUrl, limits, '--from')
    const to = readDatabase(toUrl, limits, '--to')
    for (const location of [from, to]) refuseMemory(location)
    const source = await openStore(from, { mustExist: true })
    try {
      const target = await openStore(to)
      try {
        const bar = new Bar()
        const began = performance.now()
        const ending = AccessEnding.fromOptions(given, 'source')
        const copied = await carryOver(
          source,
          target,
          (progress) => bar.show(progress),
          (database, metadata) => ending.run(database, metadata),
        )
        bar.end()
        const seconds = (performance.now() - began) / 1000
        console.log(
          `Copied ${number(copied.rows)} rows of ${copied.tables} Entity types and their journal from ${describeLocation(from)} to ${describeLocation(to)} in ${seconds.toFixed(1)} s, and verified the copy.`,
        )
        for (const line of [...ending.messages, ...missedIn(copied, describeLocation(from), ending)])
          console.log(line)
      } finally {
        await target.close()
      }
    } finally {
      await source.close()
    }
  },
}

const number = (value: number) => value.toLocaleString('en')

/** What was done in the source after the copy began, in sentences. */
export function missedIn(
  { missed, ended }: Pick<Copied, 'missed'> & { readonly ended: EndedMeanwhile },
  from: string,
  ending: Pick<AccessEnding, 'sessions' | 'keys'>,
): string[] {
  const sessions = ending.sessions ? 0 : ended.sessions
  const keys = ending.keys ? 0 : ended.keys
  const said: string[] = []
  if (missed > 0)
    said.push(
      `${number(missed)} changes were made to ${from} after the copy began. They are not in the copy. To include them, stop the servers and copy again into an empty database.`,
    )
  if (sessions > 0 || keys > 0)
    said.push(
      `Tokens (${number(sessions)}) and keys (${number(keys)}) ended in ${from} after the copy began. They still work in the copy. Stop the servers and copy again, or end all of them in the copy with --end-sessions and --end-keys.`,
    )
  return said
}

const WIDTH = 30
const REDRAW_MS = 100

/** A progress bar on a terminal, and a line for each table elsewhere. */
class Bar {
  readonly #began = performance.now()
  #drawn = 0
  #table = ''

  show({ doing, table, rows, of }: Progress): void {
    if (!process.stderr.isTTY) {
      if (table !== this.#table) process.stderr.write(`${doing} ${table}\n`)
      this.#table = table
      return
    }
    const now = performance.now()
    if (now - this.#drawn < REDRAW_MS && rows < of) return
    this.#drawn = now
    const done = of === 0 ? 1 : rows / of
    const filled = Math.round(done * WIDTH)
    const rate = Math.round((rows / (now - this.#began)) * 1000)
    process.stderr.write(
      `\r\x1b[K${doing}  ${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}  ${Math.floor(done * 100)} %  ${number(rows)} rows, ${number(rate)}/s  ${table}`,
    )
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  }
}
