import { join, type Sql, sql } from './sql.ts'

/**
 * Mutexes between transactions, for databases where transactions run side by side. Those of logins are rows of
 * `takeback_turns`, locked until the transaction ends.
 */
export const MUTEXES = 64

/** The mutex of a key, the same on every instance. */
export function loginMutex(key: string): number {
  return Number(Bun.hash(key) % BigInt(MUTEXES))
}

/** The 64-bit hash of a text as a lock key, the same on every instance. */
export function mutexKey(text: string): bigint {
  return BigInt.asIntN(64, BigInt(Bun.hash(`takeback ${text}`)))
}

/** Locks mutexes in their order, so that transactions cannot deadlock. */
export function lockMutexes(mutexes: readonly Sql[], lock: Sql): Sql {
  return sql`SELECT "slot" FROM "takeback_turns" WHERE "slot" IN (${join(mutexes)}) ORDER BY "slot"${lock}`
}
