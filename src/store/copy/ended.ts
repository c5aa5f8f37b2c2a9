import type { Structure } from '../migration/structure.ts'
import { type Sql, sql } from '../sql.ts'

/** What has ended in a database that was served while it was copied, and still works in the copy. */
export interface EndedMeanwhile {
  /** Sessions that were logged out, and tokens that were refreshed. */
  readonly sessions: number
  readonly keys: number
}

/** The journal does not have these, so nothing else tells of them. */
export async function endedMeanwhile(source: Structure, target: Structure): Promise<EndedMeanwhile> {
  const sessions = sql`SELECT "session" FROM "takeback_ended_sessions"`
  const keys = sql`SELECT "id" FROM "takeback_keys" WHERE "ended_at" IS NOT NULL`
  return {
    sessions: await countMissing(source, target, sessions),
    keys: (await hasKeys(source)) ? await countMissing(source, target, keys) : 0,
  }
}

async function countMissing(source: Structure, target: Structure, ended: Sql): Promise<number> {
  const copied = new Set(await namesIn(target, ended))
  return (await namesIn(source, ended)).filter((name) => !copied.has(name)).length
}

function namesIn(structure: Structure, names: Sql): Promise<string[]> {
  return structure.transact('read', async (session) =>
    (await session.all(names)).map(([name]) => String(name)),
  )
}

/** A source of an older format has none. */
async function hasKeys(source: Structure): Promise<boolean> {
  return (await namesIn(source, source.ddl.tables)).includes('takeback_keys')
}
