import type { EntityType } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { compile, id, param, type Statement, sql, word } from '../../store/sql.ts'
import { renderEntity, type Shown } from '../tables/render.ts'
import { EMAIL_KEY, TOKEN_EPOCH } from '../tables/schema.ts'

/** What a login type adds to a Plan: finding its members, and whether they still are. */
export interface LoginPlan {
  /** By `email_key`: id, password hash, token epoch. */
  readonly byEmail: Statement
  /**
   * By `$id`, `$session` and `$token`: token epoch, and 1 where that session or that token was ended; then what `expiryOf` takes: hash, digest, until.
   * No row where the user is gone.
   */
  readonly state: Statement
  /** By `$id`: password hash, token epoch, JSON as the user sees it, key of the e-mail; digest and until of a temporary password. */
  readonly self: Statement
  /** Whether there was ever one of it, the deleted included. */
  readonly any: Statement
}

export function compileLogin(type: EntityType, dialect: Dialect, shown: Shown): LoginPlan {
  const table = id(type.name)
  const json = renderEntity(type, dialect, shown)
  const temporary = sql`LEFT JOIN "takeback_temporary_passwords" p ON p."entity" = ${word(type.name)} AND p."entity_id" = t."id"`
  const statement = (source: Parameters<typeof compile>[0]) => compile(source, dialect.placeholder)
  return {
    byEmail: statement(
      sql`SELECT t."id", t."password", t.${id(TOKEN_EPOCH)} FROM ${table} t
        WHERE t.${id(EMAIL_KEY)} = ${param(EMAIL_KEY)} AND t."deleted_at" IS NULL`,
    ),
    state: statement(
      sql`SELECT t.${id(TOKEN_EPOCH)}, (SELECT max(1) FROM "takeback_ended_sessions" s WHERE s."session" IN (${param('$session')}, ${param('$token')})),
        t."password", p."digest", p."until" FROM ${table} t ${temporary} WHERE t."id" = ${param('$id')} AND t."deleted_at" IS NULL`,
    ),
    self: statement(
      sql`SELECT t."password", t.${id(TOKEN_EPOCH)}, ${json}, t.${id(EMAIL_KEY)}, p."digest", p."until" FROM ${table} t ${temporary}
        WHERE t."id" = ${param('$id')} AND t."deleted_at" IS NULL`,
    ),
    any: compile(sql`SELECT 1 FROM ${table} t LIMIT 1`, dialect.placeholder, true),
  }
}
