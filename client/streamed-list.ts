import type { Change } from './answers.ts'

/** A list that gets its changes from a stream. */
export interface StreamedList {
  /** Returns what to ask the server for, from where the list is at present. */
  ask(): object
  take(change: Change | undefined, position: string | undefined): void
  /** The server refuses to follow the list. Without an error, the list is read again. */
  fail(error?: unknown): void
}

/** Follows lists. */
export interface ListStream {
  /** Follows a list until the returned function is called. */
  add(list: StreamedList): () => void
  /** Has all lists read again: another user may see other rows. */
  restart(): void
}
