import { EMAIL_KEY } from '../plan/tables/schema.ts'
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
