import { randomBytes } from 'node:crypto'
import { quoted, sql } from '../sql.ts'
import { writeMetaValue } from './metadata.ts'
import type { DatabaseSession, Structure } from './structure.ts'

/** The key of a database's incarnation: a random name for one history of its journal. */
export const INCARNATION = 'incarnation'
/** The key of the database's location when the incarnation was chosen. */
const ORIGIN = 'origin'

/**
 * Chooses an incarnation for a database that is new, or that is in another place than before: it was copied or
 * restored. From then on its journal and that of the original diverge, and the same number stands for two changes.
 */
export async function keepIncarnation(structure: Structure, session: DatabaseSession): Promise<void> {
  const rows = await session.all(
    sql`SELECT "key", "value" FROM "takeback_meta" WHERE "key" IN (${quoted(INCARNATION)}, ${quoted(ORIGIN)})`,
  )
  const values = new Map(rows.map(([key, value]) => [key, value]))
  const origin = await structure.origin(session)
  if (values.has(INCARNATION) && values.get(ORIGIN) === origin) return
  await writeMetaValue(session, INCARNATION, randomBytes(6).toString('hex'))
  await writeMetaValue(session, ORIGIN, origin)
}

/** Makes the next start choose a new one. */
export async function forgetIncarnation(session: DatabaseSession): Promise<void> {
  await session.run(sql`DELETE FROM "takeback_meta" WHERE "key" = ${quoted(INCARNATION)}`)
}
