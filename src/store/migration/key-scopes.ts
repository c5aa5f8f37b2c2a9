import { param, sql, word } from '../sql.ts'
import type { DatabaseSession } from './structure.ts'

/**
 * Keys name the types that they may use. A renamed type keeps its rights there. One that is dropped loses them: another
 * type may get its name.
 */
export async function rescopeKeys(
  session: DatabaseSession,
  from: string,
  to: string | undefined,
): Promise<void> {
  const rows = await session.all(
    sql`SELECT k."id", k."can" FROM "takeback_keys" k WHERE k."can" LIKE ${word(`%"${from}"%`)}`,
  )
  for (const [key, can] of rows) {
    const rights = JSON.parse(String(can)) as { entities?: Readonly<Record<string, unknown>> }
    const { [from]: held, ...others } = rights.entities ?? {}
    if (held === undefined) continue
    const entities = to === undefined ? others : { ...others, [to]: held }
    await session.run(
      sql`UPDATE "takeback_keys" SET "can" = ${param('$can')} WHERE "id" = ${param('$key', 'integer')}`,
      { $can: JSON.stringify({ ...rights, entities }), $key: Number(key) },
    )
  }
}
