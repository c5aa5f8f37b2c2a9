/** How long a write waits for another process. */
export const BUSY_MS = 5000

/** Of every connection, those that only read included. */
export const readingPragmas = [
  `busy_timeout = ${BUSY_MS}`,
  'temp_store = MEMORY',
  'cache_size = -16000',
] as const

/** FULL: an acknowledged write is on disk. `bench/limit.ts` runs with the same. */
export const pragmas = [
  ...readingPragmas,
  'journal_mode = WAL',
  'synchronous = FULL',
  'foreign_keys = ON',
  'secure_delete = ON',
  // Ours to do: a failure of SQLite's own checkpoints goes unnoticed.
  'wal_autocheckpoint = 0',
  // A log that grew while somebody read for long shrinks again.
  'journal_size_limit = 16777216',
] as const
