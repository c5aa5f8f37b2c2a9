import { SQLiteError } from 'bun:sqlite'
import { Failure, StartError } from '../../errors.ts'

/**
 * The meaning of a driver error. This is the only place that reads SQLite's codes.
 * `lost`: a write or fsync failed. Nobody knows what is on disk, so the process must not go on.
 * `damaged`: a page cannot be read. The process ends too, and the next start checks all pages.
 */
export type Meaning =
  | { readonly kind: 'unique' }
  | { readonly kind: 'failure'; readonly failure: Failure }
  | { readonly kind: 'lost'; readonly failure: Failure }
  | { readonly kind: 'damaged'; readonly failure: Failure }
  | { readonly kind: 'unknown' }

/** An error of a reader process, with SQLite's code. */
export class ReaderError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

const RETRY_SOON = { 'Retry-After': '1' }

export function meaningOf(error: unknown): Meaning {
  const code = error instanceof SQLiteError || error instanceof ReaderError ? (error.code ?? '') : ''
  if (code === 'SQLITE_CONSTRAINT_UNIQUE') return { kind: 'unique' }
  if (code === 'SQLITE_FULL') return { kind: 'failure', failure: new Failure('disk_full', { cause: error }) }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return { kind: 'damaged', failure: unavailable(error) }
  if (code.startsWith('SQLITE_IOERR')) return { kind: 'lost', failure: unavailable(error) }
  // `unavailable` is how a reader says that it gave up.
  if (/^SQLITE_(BUSY|LOCKED|CANTOPEN|READONLY|PERM|PROTOCOL|NOMEM|NOLFS|INTERRUPT)|^unavailable$/.test(code))
    return { kind: 'failure', failure: unavailable(error) }
  return { kind: 'unknown' }
}

export function unavailable(cause: unknown): Failure {
  return new Failure('unavailable', { cause, headers: RETRY_SOON })
}

/** Whether another process is writing. */
export function isBusy(error: unknown): boolean {
  return error instanceof SQLiteError && (error.code ?? '').startsWith('SQLITE_BUSY')
}

/** The error to show for a failed write: one sentence if the machine refused it, as a full disk does; else the same. */
export function unwritable(place: string, error: unknown): unknown {
  const { syscall, code = '', message } = error as { syscall?: string; code?: unknown; message?: string }
  const refused =
    error instanceof SQLiteError && /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|PERM)/.test(String(code))
  return refused || syscall !== undefined ? new StartError(`${place} cannot be written: ${message}.`) : error
}
