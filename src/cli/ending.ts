import { endAllKeys, endAllSessions } from '../account/end-access.ts'
import type { Metadata } from '../store/migration/metadata.ts'
import type { StructureSession } from '../store/migration/structure.ts'
import type { GivenArguments, Option } from './arguments.ts'

/** For commands that make a database from another one, which may not know what has ended since. */
export const endingOptions = {
  'end-sessions': {
    value: undefined,
    help: 'end all sessions, tokens and mailed links: everyone must log in again',
  },
  'end-keys': { value: undefined, help: 'end all keys of programs: they need new ones' },
} as const satisfies Record<string, Option>

/** What `endingOptions` ask for. */
export class AccessEnding {
  readonly sessions: boolean
  readonly keys: boolean
  /** What was ended, in sentences. */
  readonly said: string[] = []
  readonly #from: string

  /** `from` is what the new database is made from. */
  constructor(given: GivenArguments, from: 'backup' | 'source') {
    this.sessions = given.text('end-sessions') !== undefined
    this.keys = given.text('end-keys') !== undefined
    this.#from = from
  }

  /** Before the database can be served. */
  async run(database: StructureSession, metadata: Metadata): Promise<void> {
    const number = (value: number) => `(${value.toLocaleString('en')} in the ${this.#from})`
    if (this.sessions) {
      const { sessions, links } = await endAllSessions(database, metadata)
      this.said.push(
        `Ended all sessions ${number(sessions)} and all mailed links ${number(links)}. Everyone must log in again.`,
      )
    }
    if (this.keys)
      this.said.push(`Ended all keys ${number(await endAllKeys(database))}. Programs need new ones.`)
  }
}
