import type { Row } from '../dialect.ts'
import type { Limits } from '../location.ts'
import { sql } from '../sql.ts'

/** Time limits of a session, in milliseconds; 0 means no limit. */
export interface TimeLimits {
  readonly statement: number
  readonly lock: number
  readonly idleInTransaction: number
}

/** What a server reports to a session without our settings. */
export interface ServerAbout {
  readonly version: string
  readonly encoding: string
  readonly synchronousCommit: string
  /** Limits of the role, the database, the server or the address. Ours may be stricter, but never looser. */
  readonly theirs: TimeLimits
}

/** A frozen or disconnected server must not keep its locks: others wait for them. */
const IDLE_MS = 5000
/** A migration does other work between its statements. */
const IDLE_IN_MIGRATION_MS = 60_000
/** A migration waits for long readers, but not so long that everybody else queues behind it. */
const LOCK_IN_MIGRATION_MS = 2000

/** Our name, in every session. */
export const APPLICATION = { application_name: 'takeback' }

/** `setting` is in milliseconds for all of these limits, in whatever unit they were set. */
export const ABOUT = sql`SELECT version(), current_setting('server_encoding'), current_setting('synchronous_commit'),
  (SELECT "setting" FROM pg_settings WHERE "name" = 'statement_timeout'),
  (SELECT "setting" FROM pg_settings WHERE "name" = 'lock_timeout'),
  (SELECT "setting" FROM pg_settings WHERE "name" = 'idle_in_transaction_session_timeout')`

export function aboutOf(row: Row | undefined): ServerAbout {
  const [version = '', encoding = '', synchronousCommit = '', ...limits] = (row ?? []).map(String)
  const [statement = 0, lock = 0, idleInTransaction = 0] = limits.map(Number)
  return { version, encoding, synchronousCommit, theirs: { statement, lock, idleInTransaction } }
}

/** The limit that ends first. */
export function stricter(ours: number, theirs: number): number {
  return ours === 0 || theirs === 0 ? Math.max(ours, theirs) : Math.min(ours, theirs)
}

/** The settings of every session of a server. */
export function sessionSettings(
  { statementMs }: Limits,
  { theirs, synchronousCommit }: ServerAbout,
): Readonly<Record<string, string | number>> {
  return {
    ...APPLICATION,
    statement_timeout: stricter(statementMs, theirs.statement),
    idle_in_transaction_session_timeout: stricter(IDLE_MS, theirs.idleInTransaction),
    // Settings that a role or a database may override, and that our statements depend on.
    default_transaction_isolation: 'read committed',
    extra_float_digits: '1',
    standard_conforming_strings: 'on',
    // An answer means that the data is on disk.
    ...(synchronousCommit === 'off' && { synchronous_commit: 'on' }),
  }
}

/** The limits of a transaction that migrates or reads everything. It has no statement limit of ours. */
export function migrationLimits(theirs: TimeLimits): TimeLimits {
  return {
    statement: theirs.statement,
    lock: stricter(LOCK_IN_MIGRATION_MS, theirs.lock),
    idleInTransaction: stricter(IDLE_IN_MIGRATION_MS, theirs.idleInTransaction),
  }
}
