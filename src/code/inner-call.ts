import type { Call } from '../api/call.ts'
import type { Preconditions } from '../api/context.ts'
import { Query } from '../api/query.ts'
import type { Caller } from '../plan/viewer/actor.ts'

/** For whom the user's code calls the API, and for how long. */
export interface Acting {
  readonly caller: Caller
  /** Aborted when the code has taken too long, or the server stops. */
  readonly signal: AbortSignal
  /** How deep this call is nested in other calls from the user's code. */
  readonly depth: number
  /** Whether it may only read, even as the system. True if it runs for an agent, whose writes must be in its plan. */
  readonly readsOnly?: boolean
}

/** The input of a call from the user's code. */
export interface InnerRequest {
  readonly id?: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  /** The version that the Entity must have. */
  readonly version?: number | undefined
}

/** A call from the user's code: there is no network, and no token. Rate limits do not apply. */
export class InnerCall implements Call {
  readonly caller: Caller
  readonly id: string
  readonly query: Query
  readonly body: object
  readonly when: Preconditions
  readonly signal: AbortSignal
  readonly stopping: AbortSignal
  readonly depth: number
  readonly type = 'application/json'
  readonly address = ''
  readonly device = null
  readonly agent = null
  readonly languages = null
  readonly note = null
  readonly key = null
  readonly target = ''
  readonly lastEventId = null

  constructor(
    { caller, signal, depth }: Acting,
    takes: readonly string[],
    { id = '', query, body = {}, version }: InnerRequest,
  ) {
    this.caller = caller
    this.id = id
    this.query = query === undefined ? Query.empty : new Query(Object.entries(query), takes)
    this.body = body
    this.when = { ifMatch: version === undefined ? null : `|${version}|` }
    this.signal = signal
    this.stopping = signal
    this.depth = depth
  }

  get bytes(): ReadableStream<Uint8Array> {
    throw new Error('a call from code has no stream')
  }

  cookie(): null {
    return null
  }

  recordAccount(): void {}

  async signUp(): Promise<void> {}

  waitLong(): void {}

  keepOpen(): () => void {
    return () => {}
  }

  hangUp(): void {}
}
