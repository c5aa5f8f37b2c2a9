import type { Answer, Preconditions } from '../../api/context.ts'
import type { Note } from '../../api/notes.ts'
import type { Query } from '../../api/query.ts'
import type { Caller } from '../../plan/viewer/actor.ts'

/** A request as an operation sees it: checked, and free of HTTP. */
export interface Call {
  readonly caller: Caller
  readonly id: string
  readonly query: Query
  readonly body: object
  readonly when: Preconditions
  readonly address: string
  /** `Takeback-Device`; `null` where there is none. */
  readonly device: string | null
  /** For a login: the log says which account it was about, by a digest. */
  noteAccount(digest: string): void
  /** `Takeback-Run` and `Takeback-Reason`; `null` where there is neither. Throws where one of them is malformed. */
  readonly note: Note | null
  /** `Idempotency-Key`; `null` where there is none. */
  readonly key: string | null
  /** The method and the path with its parameters, in one spelling and without the token. */
  readonly target: string
  /** Aborted once nobody waits for the answer. */
  readonly signal: AbortSignal
  /** Where whoever calls is not signed in: it is so many sign-ups. Throws where that is too many. */
  signUp(count: number): Promise<void>
  /** Keeps the connection for as long as the answer takes. */
  waitLong(): void
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Handler {
  /** Whether it takes a body, whether that may be a list, and whether it may be left out. */
  readonly body: false | 'object' | 'any' | 'optional'
  /** For a browser: needs neither `Accept` nor a token. */
  readonly page?: boolean
  /** For whoever watches the server: as often as they like. */
  readonly unlimited?: boolean
  /** Whether it is a sign-up, by whoever is not signed in. */
  signsUp?(): boolean
  /** Also for accounts whose password has expired. */
  readonly expired?: boolean
  run(call: Call): Answer | Promise<Answer>
}

/** A path, without its trailing `/`, and what each method does there. */
export interface Route {
  readonly path: string
  readonly methods: Readonly<Partial<Record<Method, Handler>>>
}
