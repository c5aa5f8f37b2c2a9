/** How long a write waits for another process. */
export const BUSY_MS = 5000

const everywhere = [`busy_timeout = ${BUSY_MS}`, 'temp_store = MEMORY'] as const

/** Of a connection that only reads, in a process of its own. It may read many rows, and come back to the same pages. */
export const readingPragmas = [...everywhere, 'cache_size = -16000'] as const

/** FULL: an acknowledged write is on disk. `bench/limit.ts` runs with the same. */
export const pragmas = [
  ...everywhere,
  // Of 100,000 rows that are read at random, half of this made a read take 5 % longer. Twice as much was hardly faster.
  'cache_size = -8000',
  'journal_mode = WAL',
  'synchronous = FULL',
  'foreign_keys = ON',
  'secure_delete = ON',
  // Ours to do: a failure of SQLite's own checkpoints goes unnoticed.
  'wal_autocheckpoint = 0',
  // A log that grew while somebody read for long shrinks again.
  'journal_size_limit = 16777216',
] as const
