import type { Row } from '../dialect.ts'
import type { Limits } from '../location.ts'
import { sql } from '../sql.ts'

/** How long things may take in a session, in milliseconds; 0 is no limit. */
export interface TimeLimits {
  readonly statement: number
  readonly lock: number
  readonly idleInTransaction: number
}

/** What a server says of itself to a session without settings of ours. */
export interface ServerAbout {
  readonly version: string
  readonly encoding: string
  readonly synchronousCommit: string
  /** Of the role, the database, the server or the address: ours may be stricter, but never looser. */
  readonly theirs: TimeLimits
}

/** A transaction of a server that is frozen or cut off must not keep its locks: others wait for them. */
const IDLE_MS = 5000
/** A migration does other things between its statements. */
const IDLE_IN_MIGRATION_MS = 60_000
/** Whoever has been reading for long is waited for by a migration, but not so that all others wait behind it. */
const LOCK_IN_MIGRATION_MS = 2000

/** Who we are, in every session. */
export const APPLICATION = { application_name: 'takeback' }

/** `setting` is in milliseconds for each of these limits, whatever it was set as. */
export const ABOUT = sql`SELECT version(), current_setting('server_encoding'), current_setting('synchronous_commit'),
  (SELECT "setting" FROM pg_settings WHERE "name" = 'statement_timeout'),
  (SELECT "setting" FROM pg_settings WHERE "name" = 'lock_timeout'),
  (SELECT "setting" FROM pg_settings WHERE "name" = 'idle_in_transaction_session_timeout')`

export function aboutOf(row: Row | undefined): ServerAbout {
  const [version = '', encoding = '', synchronousCommit = '', ...limits] = (row ?? []).map(String)
  const [statement = 0, lock = 0, idleInTransaction = 0] = limits.map(Number)
  return { version, encoding, synchronousCommit, theirs: { statement, lock, idleInTransaction } }
}

/** The one that ends first. */
export function stricter(ours: number, theirs: number): number {
  return ours === 0 || theirs === 0 ? Math.max(ours, theirs) : Math.min(ours, theirs)
}

/** What every session of a server is told when it begins. */
export function sessionSettings(
  { statementMs }: Limits,
  { theirs, synchronousCommit }: ServerAbout,
): Readonly<Record<string, string | number>> {
  return {
    ...APPLICATION,
    statement_timeout: stricter(statementMs, theirs.statement),
    idle_in_transaction_session_timeout: stricter(IDLE_MS, theirs.idleInTransaction),
    // What a role or a database may have been given other defaults for, and what we say depends on.
    default_transaction_isolation: 'read committed',
    extra_float_digits: '1',
    standard_conforming_strings: 'on',
    // An answer means that it is on disk.
    ...(synchronousCommit === 'off' && { synchronous_commit: 'on' }),
  }
}

/** Of a transaction that migrates, or reads all there is. It has no limit of ours for a statement. */
export function migrationLimits(theirs: TimeLimits): TimeLimits {
  return {
    statement: theirs.statement,
    lock: stricter(LOCK_IN_MIGRATION_MS, theirs.lock),
    idleInTransaction: stricter(IDLE_IN_MIGRATION_MS, theirs.idleInTransaction),
  }
}
