/** How long a write waits for another process. */
export const BUSY_MS = 5000

const everywhere = [`busy_timeout = ${BUSY_MS}`, 'temp_store = MEMORY'] as const

/** For a connection that only reads, in a process of its own. It may read many rows, and return to the same pages. */
export const readingPragmas = [...everywhere, 'cache_size = -16000'] as const

/** FULL: an acknowledged write is on disk. `bench/limit.ts` runs with the same. */
export const pragmas = [
  ...everywhere,
  // With half of this, random reads from 100,000 rows took 5 % longer. Twice as much was hardly faster.
  'cache_size = -8000',
  'journal_mode = WAL',
  'synchronous = FULL',
  'foreign_keys = ON',
  'secure_delete = ON',
  // We do checkpoints: a failure of SQLite's own ones goes unnoticed.
  'wal_autocheckpoint = 0',
  // A log that grew during a long read shrinks again.
  'journal_size_limit = 16777216',
] as const
