import type { Caller } from '../plan/viewer/actor.ts'
import type { Preconditions } from './context.ts'
import type { Note } from './notes.ts'
import type { Query } from './query.ts'

/** A request as an endpoint sees it: checked, and free of HTTP. */
export interface Call<Name extends string = string> {
  readonly caller: Caller
  /** `{id}` of the path. */
  readonly id: string
  readonly query: Query<Name>
  readonly body: object
  /** The body as it comes in, where the endpoint takes bytes. Ends with `too_large` where it is too long. */
  readonly bytes: ReadableStream<Uint8Array>
  /** Which of the types that the endpoint answers with the caller likes best. */
  readonly type: string
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
  /** Aborted once the server is to stop: a stream ends then. */
  readonly stopping: AbortSignal
  /** Where whoever calls is not signed in: it is so many sign-ups. Throws where that is too many. */
  signUp(count: number): Promise<void>
  /** Keeps the connection for as long as the answer takes. */
  waitLong(): void
}
