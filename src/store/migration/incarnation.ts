import { randomBytes } from 'node:crypto'
import { sql, word } from '../sql.ts'
import { tell } from './memory.ts'
import type { DatabaseSession, Structure } from './structure.ts'

/** The key of a database's incarnation: a random name for one history of its journal. */
export const INCARNATION = 'incarnation'
/** Where the database was when that was drawn. */
const ORIGIN = 'origin'

/**
 * Draws an incarnation for a database that is new, or that finds itself in another place than before: it was copied or
 * restored. From then on its journal and that of the original grow apart, and the same number stands for two changes.
 */
export async function keepIncarnation(structure: Structure, session: DatabaseSession): Promise<void> {
  const rows = await session.all(
    sql`SELECT "key", "value" FROM "takeback_meta" WHERE "key" IN (${word(INCARNATION)}, ${word(ORIGIN)})`,
  )
  const told = new Map(rows.map(([key, value]) => [key, value]))
  const origin = await structure.origin(session)
  if (told.has(INCARNATION) && told.get(ORIGIN) === origin) return
  await tell(session, INCARNATION, randomBytes(6).toString('hex'))
  await tell(session, ORIGIN, origin)
}

/** The next start draws another one. */
export async function forgetIncarnation(session: DatabaseSession): Promise<void> {
  await session.run(sql`DELETE FROM "takeback_meta" WHERE "key" = ${word(INCARNATION)}`)
}
