import { endAllKeys, endAllSessions } from '../account/end-access.ts'
import { StartError } from '../errors.ts'
import { describeLocation, type Location } from '../store/location.ts'
import { type Metadata, readMetadata } from '../store/migration/metadata.ts'
import type { StructureSession } from '../store/migration/structure.ts'
import { openStore } from '../store/open.ts'
import type { GivenArguments, Option } from './arguments.ts'

/** For commands that make a database from another one, which may not know what has ended since. */
export const endingOptions = {
  'end-sessions': {
    value: undefined,
    help: 'end all sessions, tokens and mailed links: everyone must log in again',
  },
  'end-keys': { value: undefined, help: 'end all keys of programs: they need new ones' },
} as const satisfies Record<string, Option>

/** Ends all sessions, all keys or both. */
export class AccessEnding {
  readonly sessions: boolean
  readonly keys: boolean
  /** Messages about what was ended. */
  readonly messages: string[] = []
  readonly #where: string

  /** `where` follows the numbers in the messages: where they were counted. */
  constructor({ sessions, keys }: { readonly sessions: boolean; readonly keys: boolean }, where = '') {
    this.sessions = sessions
    this.keys = keys
    this.#where = where
  }

  /** Ends what `endingOptions` name. `from` is what the new database is made from. */
  static fromOptions(given: GivenArguments, from: 'backup' | 'source'): AccessEnding {
    const [sessions, keys] = [given.text('end-sessions'), given.text('end-keys')]
    return new AccessEnding({ sessions: sessions !== undefined, keys: keys !== undefined }, ` in the ${from}`)
  }

  async run(database: StructureSession, metadata: Metadata): Promise<void> {
    const number = (value: number) => `(${value.toLocaleString('en')}${this.#where})`
    if (this.sessions) {
      const { sessions, links } = await endAllSessions(database, metadata)
      this.messages.push(
        `Ended all sessions ${number(sessions)} and all mailed links ${number(links)}. Everyone must log in again.`,
      )
    }
    if (this.keys)
      this.messages.push(`Ended all keys ${number(await endAllKeys(database))}. Programs need new ones.`)
  }
}

/** Ends all sessions or all keys in a database, whether or not servers run on it. Returns what to say about it. */
export async function endAll(location: Location, what: 'sessions' | 'keys'): Promise<string> {
  const store = await openStore(location, { mustExist: true })
  try {
    const ending = new AccessEnding({ sessions: what === 'sessions', keys: what === 'keys' })
    const { structure } = store
    await structure.transact('change', async (session) => {
      const metadata = await readMetadata(structure, session)
      if (metadata === undefined)
        throw new StartError(`${describeLocation(location)} has no data of Takeback yet.`)
      await ending.run({ structure, session }, metadata)
    })
    return ending.messages.join('\n')
  } finally {
    await store.close()
  }
}
