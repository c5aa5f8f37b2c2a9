import type { DatabaseSession } from '../migration/structure.ts'
import { sql } from '../sql.ts'

/** What PostgreSQL itself knows to be wrong: where, and what. */
export async function inspect(session: DatabaseSession): Promise<[string, string][]> {
  const rows = await session.all(
    sql`SELECT c.relname::text, 'is an index that is not valid' FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisvalid
      UNION ALL SELECT k.conrelid::regclass::text, 'has a constraint that was never checked: ' || k.conname FROM pg_constraint k
        WHERE k.connamespace = current_schema()::regnamespace AND NOT k.convalidated
      UNION ALL SELECT g.tgrelid::regclass::text, 'has a trigger that is switched off: ' || g.tgname FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
        WHERE c.relnamespace = current_schema()::regnamespace AND g.tgenabled = 'D'
      UNION ALL SELECT d.datname::text, 'has pages whose checksums failed: ' || d.checksum_failures FROM pg_stat_database d
        WHERE d.datname = current_database() AND d.checksum_failures > 0`,
  )
  return rows.map(([where, what]) => [String(where), String(what)])
}
