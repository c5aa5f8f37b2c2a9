import { EMAIL_KEY, TOKEN_EPOCH } from '../plan/tables/schema.ts'
import type { Dialect } from '../store/dialect.ts'
import { id, param, type Sql, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'

/** The step that is refused if the user, or another Entity, is gone. */
export const OWNER = 'owner'

/**
 * The first step of every transaction that stores something for a user, or about an Entity of any type. It is refused
 * if the user is gone. A purge of the user waits until the transaction has ended, and erases what it stored. `idParam`
 * has the id of the user; steps are compiled once for each Entity type. `alone`: others that store the same wait too,
 * so that a limit holds.
 */
export function ownerLock(dialect: Dialect, idParam: string, alone = false): (entity: string) => Step {
  const lock = dialect.lock?.[alone ? 'toChange' : 'toExist']
  return forEachType((entity) => step(dialect, OWNER, 'some', userSql(entity, idParam, sql``, lock)))
}

/**
 * The same for a transaction that depends on the state of the account, which was checked before. The step is refused if
 * the e-mail or the password has changed since. If `$held_key` and `$held_hash` are null, any state will do.
 */
export function accountLock(dialect: Dialect, name: string): (entity: string) => Step {
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
 * For transactions that add a way into an account: refused if the session of the caller has ended. Instances remember
 * sessions for a moment, and something added in that moment would outlast the session. It comes after steps that lock
 * the same user more strictly, so that two such transactions do not deadlock. `alone`: sessions that are about to begin
 * begin before or after the transaction, so that it can end all others.
 */
export function sessionLock(dialect: Dialect, alone = false): (entity: string) => Step {
  const lock = dialect.lock?.[alone ? 'toChange' : 'toStay']
  const ended = sql`EXISTS (SELECT 1 FROM "takeback_ended_sessions" s WHERE s."session" IN (${param('$calling_session')}, ${param('$calling_token')}))`
  const state = sql` AND h.${id(TOKEN_EPOCH)} = ${param('$calling_epoch', 'integer')} AND NOT ${ended}`
  return forEachType((entity) => step(dialect, SESSION, 'some', userSql(entity, '$calling_id', state, lock)))
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
