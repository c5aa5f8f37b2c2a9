import type { EntityType } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { join, quoted, type Sql, sql } from '../../store/sql.ts'

/**
 * Erases what is said about `$ids` in tables whose JSON names them: the messages of failed tasks, which may have values
 * of the Entity, and logins through providers, which say who somebody is there.
 */
export function eraseMentions({ name, login }: EntityType, dialect: Dialect): Sql[] {
  const payload = sql`"payload"`
  // The `id` of other payloads may be a text.
  const names = (path: string) =>
    sql`CASE WHEN ${dialect.extract(payload, `${path}entity`, 'text', 0)} = ${quoted(name)}
      THEN ${dialect.isListed(dialect.extract(payload, `${path}id`, 'integer', 0), '$ids')} ELSE 1 = 0 END`
  const logins = join(['account.', 'link.'].map(names), sql` OR `)
  return [
    sql`UPDATE "takeback_tasks" SET "error" = NULL WHERE "error" IS NOT NULL AND ${names('')}`,
    ...(login === undefined ? [] : [sql`DELETE FROM "takeback_handoffs" WHERE ${logins}`]),
  ]
}
