import { EMAIL_KEY, TOKEN_EPOCH } from '../plan/tables/schema.ts'
import type { Dialect } from '../store/dialect.ts'
import { id, param, type Sql, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'

/** The step that is refused if the user is gone. */
export const OWNER = 'owner'

/**
 * The first step of every transaction that stores something for a user: it is refused if the user is gone, and a purge of
 * the user waits until the transaction has ended, and erases what it has stored. `idParam` has the id of the user; steps
 * are compiled once for each Entity type. `alone`: others that store the same wait too, so that none is one too many.
 */
export function ownerHold(dialect: Dialect, idParam: string, alone = false): (entity: string) => Step {
  const lock = dialect.lock?.[alone ? 'toChange' : 'toExist']
  return forEachType((entity) => step(dialect, OWNER, 'some', userSql(entity, idParam, sql``, lock)))
}

/**
 * The same for what is allowed by a state of the account, which was checked before the transaction: it is refused if the
 * e-mail or the password have changed since. Where `$held_key` and `$held_hash` are null, any state will do.
 */
export function accountHold(dialect: Dialect, name: string): (entity: string) => Step {
  const isAsBefore = (column: string, held: string) =>
    sql` AND (${param(held)} IS NULL OR h.${id(column)} = ${param(held)})`
  const state = sql`${isAsBefore(EMAIL_KEY, '$held_key')}${isAsBefore('password', '$held_hash')}`
  return forEachType((entity) =>
    step(dialect, name, 'some', userSql(entity, '$held_id', state, dialect.lock?.toChange)),
  )
}

/** The step that is refused if the session has ended. */
export const SESSION = 'session of the caller'

/**
 * For transactions that add a way into an account: refused if the session that asks for it has ended. Instances remember
 * sessions for a moment, and what is added in that moment would outlast it. It comes behind steps that lock the same user
 * more strictly, so that two of these do not wait for each other.
 */
export function sessionHold(dialect: Dialect): (entity: string) => Step {
  const ended = sql`EXISTS (SELECT 1 FROM "takeback_ended_sessions" s WHERE s."session" IN (${param('$calling_session')}, ${param('$calling_token')}))`
  const state = sql` AND h.${id(TOKEN_EPOCH)} = ${param('$calling_epoch', 'integer')} AND NOT ${ended}`
  return forEachType((entity) =>
    step(dialect, SESSION, 'some', userSql(entity, '$calling_id', state, dialect.lock?.toStay)),
  )
}

function userSql(entity: string, idParam: string, state: Sql, lock: Sql = sql``): Sql {
  const isUser = sql`h."id" = ${param(idParam, 'integer')} AND h."deleted_at" IS NULL`
  return sql`SELECT 1 FROM ${id(entity)} h WHERE ${isUser}${state}${lock}`
}

function forEachType(make: (entity: string) => Step): (entity: string) => Step {
  const known = new Map<string, Step>()
  return (entity) => {
    const found = known.get(entity) ?? make(entity)
    known.set(entity, found)
    return found
  }
}
