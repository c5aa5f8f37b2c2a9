import type { EntityType } from '../../declare/model.ts'
import type { Bound, Dialect } from '../../store/dialect.ts'
import { namedColumns } from '../../store/named-columns.ts'
import { compile, id, intLiteral, param, quoted, type Sql, type Statement, sql } from '../../store/sql.ts'
import { renderEntity, type Shown } from '../tables/render.ts'
import { EMAIL_KEY, TOKEN_EPOCH } from '../tables/schema.ts'

const ended = sql`(SELECT max(1) FROM "takeback_ended_sessions" s WHERE s."session" IN (${param('$session')}, ${param('$token')}))`
const hash = sql`t."password"`
const epoch = sql`t.${id(TOKEN_EPOCH)}`
/** A temporary password: the digest of its hash, and its expiry. */
const temporary = { digest: sql`p."digest"`, until: sql`p."until"` }

/** A member: id, password hash, epoch of its tokens. */
export const memberColumns = namedColumns({ id: sql`t."id"`, hash, epoch })
/** An account in the list of all accounts. */
export const accountColumns = namedColumns({
  id: sql`t."id"`,
  email: sql`t."email"`,
  key: sql`t.${id(EMAIL_KEY)}`,
  created: sql`t."created_at"`,
})
/** How many accounts are read at once. */
const ACCOUNTS_PAGE = 1000
/** Whether tokens are still valid. `ended`: 1 if the session or the token was ended. */
export const tokenColumns = namedColumns({ epoch, ended, hash, ...temporary })
const selfColumns = (json: Sql) =>
  namedColumns({ hash, epoch, json, email: sql`t."email"`, key: sql`t.${id(EMAIL_KEY)}`, ...temporary })

/** What a login type adds to a Plan: statements to find members and to check their tokens. */
export interface LoginPlan {
  /** By `email_key`: `memberColumns`. */
  readonly byEmail: Statement
  /** By `email_key`: always one row, with the id of a member or 0, so that it takes the same time for every e-mail. */
  readonly idByEmail: Statement
  /** By `$id`, `$session` and `$token`: `tokenColumns`. No row if the user is gone. */
  readonly state: Statement
  /** By `$id`: a row for `readSelf`. */
  readonly self: Statement
  /** Reads a user. `json`: what they see of themselves. `key`: the key of their e-mail. */
  readSelf(
    row: readonly Bound[],
  ): Readonly<Record<'hash' | 'epoch' | 'json' | 'email' | 'key' | 'digest' | 'until', Bound>>
  /** Some accounts after `$after`, by id: `accountColumns`. */
  readonly accounts: Statement
  /** Whether the type ever had an Entity, deleted ones included. */
  readonly any: Statement
  /** Whether it ever had one other than `$id`. */
  readonly others: Statement
}

export function compileLogin(type: EntityType, dialect: Dialect, shown: Shown): LoginPlan {
  const table = id(type.name)
  const self = selfColumns(renderEntity(type, dialect, shown))
  const from = sql`FROM ${table} t LEFT JOIN "takeback_temporary_passwords" p ON p."entity" = ${quoted(type.name)} AND p."entity_id" = t."id"`
  const isLive = sql`t."deleted_at" IS NULL`
  const statement = (source: Sql) => compile(source, dialect.placeholder)
  const ofEmail = sql`FROM ${table} t WHERE t.${id(EMAIL_KEY)} = ${param(EMAIL_KEY)} AND ${isLive}`
  return {
    byEmail: statement(sql`SELECT ${memberColumns.sql} ${ofEmail}`),
    idByEmail: statement(sql`SELECT COALESCE((SELECT t."id" ${ofEmail}), 0)`),
    state: statement(sql`SELECT ${tokenColumns.sql} ${from} WHERE t."id" = ${param('$id')} AND ${isLive}`),
    self: statement(sql`SELECT ${self.sql} ${from} WHERE t."id" = ${param('$id')} AND ${isLive}`),
    readSelf: self.read,
    accounts: statement(
      sql`SELECT ${accountColumns.sql} FROM ${table} t WHERE t."id" > ${param('$after', 'integer')} AND ${isLive} ORDER BY t."id" LIMIT ${intLiteral(ACCOUNTS_PAGE)}`,
    ),
    any: compile(sql`SELECT 1 FROM ${table} t LIMIT 1`, dialect.placeholder, true),
    others: statement(sql`SELECT 1 FROM ${table} t WHERE t."id" <> ${param('$id')} LIMIT 1`),
  }
}
