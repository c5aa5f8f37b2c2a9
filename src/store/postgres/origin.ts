import type { DatabaseSession } from '../migration/structure.ts'
import { type Sql, sql } from '../sql.ts'

/**
 * Where the journal is: its cluster, its database, and the number of its table, which every dump that is read in changes.
 * And the timeline, which every recovery to a point in time changes: so does every promotion of a standby, and nothing
 * tells whether that one had all that was committed.
 */
const CLUSTER = sql`SELECT system_identifier::text FROM pg_control_system()`
const TIMELINE = sql`SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`
const TABLE = sql`SELECT oid::text || ' ' || '"takeback_journal"'::regclass::oid::text FROM pg_database WHERE datname = current_database()`

export async function origin(session: DatabaseSession): Promise<string> {
  const parts: string[] = []
  for (const source of [CLUSTER, TIMELINE, TABLE]) parts.push(await askedOrEmpty(session, source))
  return parts.join(' ')
}

/** Not every role may ask, and not every service that runs PostgreSQL answers: then the other parts have to do. */
async function askedOrEmpty(session: DatabaseSession, source: Sql): Promise<string> {
  await session.run(sql`SAVEPOINT "takeback_origin"`)
  try {
    const [row] = await session.all(source)
    await session.run(sql`RELEASE SAVEPOINT "takeback_origin"`)
    return String(row?.[0] ?? '')
  } catch {
    await session.run(sql`ROLLBACK TO SAVEPOINT "takeback_origin"`)
    return ''
  }
}
