import type { Dialect } from '../store/dialect.ts'
import { id, param, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'

/** The step that is refused if the user is gone. */
export const OWNER = 'owner'

/**
 * The first step of every transaction that stores something for a user: it is refused if the user is gone, and a purge of
 * the user waits until the transaction has ended, and erases what it has stored. `idParam` has the id of the user; steps
 * are compiled once for each Entity type. `alone`: others that store the same wait too, so that none is one too many.
 */
export function ownerHold(dialect: Dialect, idParam: string, alone = false): (entity: string) => Step {
  const known = new Map<string, Step>()
  const make = (entity: string): Step => {
    const isUser = sql`h."id" = ${param(idParam, 'integer')} AND h."deleted_at" IS NULL`
    const lock = dialect.lock?.[alone ? 'toChange' : 'toExist'] ?? sql``
    return step(dialect, OWNER, 'some', sql`SELECT 1 FROM ${id(entity)} h WHERE ${isUser}${lock}`)
  }
  return (entity) => {
    const found = known.get(entity) ?? make(entity)
    known.set(entity, found)
    return found
  }
}
