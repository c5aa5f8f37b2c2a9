import type { Caller } from '../plan/viewer/actor.ts'
import type { Preconditions } from './context.ts'
import type { Note } from './notes.ts'
import type { Query } from './query.ts'

/** A request as an endpoint sees it: checked, and free of HTTP. */
export interface Call<Name extends string = string> {
  readonly caller: Caller
  /** All parameters of the path, if it has others than `{id}`. */
  readonly params?: Readonly<Record<string, string>>
  /** `{id}` of the path. */
  readonly id: string
  readonly query: Query<Name>
  readonly body: object
  /** The body as a stream, if the endpoint takes bytes. Fails with `too_large` if it is too long. */
  readonly bytes: ReadableStream<Uint8Array>
  /** The answer type that the caller prefers. */
  readonly type: string
  readonly when: Preconditions
  readonly address: string
  /** Returns the value of a cookie, or `null`. Only logins through providers use cookies. */
  cookie(name: string): string | null
  /** `Takeback-Device`, or `null`. */
  readonly device: string | null
  /** `User-Agent`, or `null`. */
  readonly agent: string | null
  /** `Accept-Language`, or `null`. */
  readonly languages: string | null
  /** For a login: puts the digest of the account into the log. */
  recordAccount(digest: string): void
  /** `Takeback-Run` and `Takeback-Reason`; `null` if there is neither. Throws if one of them is malformed. */
  readonly note: Note | null
  /** `Idempotency-Key`, or `null`. */
  readonly key: string | null
  /** `Last-Event-ID`, or `null`. */
  readonly lastEventId: string | null
  /** The method and the path with its parameters, normalised and without the token. */
  readonly target: string
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal
  /** Aborted when the server stops: a stream then ends. */
  readonly stopping: AbortSignal
  /** Counts sign-ups, if the caller is not signed in. Throws if there are too many. */
  signUp(count: number): Promise<void>
  /** How deep a call from the user's code is nested in other such calls. */
  readonly depth?: number
  /** Keeps the connection open for as long as the answer takes. */
  waitLong(): void
  /** The same for a stream. Throws if the caller has too many. Returns what to call at its end. */
  keepOpen(caller: Caller): () => void
  /** Closes the connection soon, unless the client reads: the answer is complete, but cannot be sent. */
  hangUp(): void
}
