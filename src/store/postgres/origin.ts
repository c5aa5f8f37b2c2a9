import type { DatabaseSession } from '../migration/structure.ts'
import { type Sql, sql } from '../sql.ts'

/**
 * The identity of the database: its cluster, its database, and the number of the journal's table, which changes with
 * every restored dump. And the timeline, which changes with every point-in-time recovery. It also changes when a
 * standby is promoted, and nothing says whether that standby had all commits.
 */
const CLUSTER = sql`SELECT system_identifier::text FROM pg_control_system()`
const TIMELINE = sql`SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`
const TABLE = sql`SELECT oid::text || ' ' || '"takeback_journal"'::regclass::oid::text FROM pg_database WHERE datname = current_database()`

export async function origin(session: DatabaseSession): Promise<string> {
  const parts: string[] = []
  for (const source of [CLUSTER, TIMELINE, TABLE]) parts.push(await askedOrEmpty(session, source))
  return parts.join(' ')
}

/** Empty if the query is refused: not every role or PostgreSQL service permits it. The other parts must suffice. */
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
