import { join, type Sql, sql } from './sql.ts'

/**
 * Mutexes between transactions, on databases where these run side by side: each is a row of `takeback_turns`, locked
 * until the transaction ends. Some serve logins, the others graphs of types.
 */
const LOGINS = 64
const GRAPHS = 64
export const MUTEXES = LOGINS + GRAPHS

/** The mutex of a key: the same one on every instance. */
export function loginMutex(key: string): number {
  return Number(Bun.hash(key) % BigInt(LOGINS))
}

export function graphMutex(key: string): number {
  return LOGINS + Number(Bun.hash(key) % BigInt(GRAPHS))
}

/** Locks them in their order, so that no two transactions wait for each other. */
export function lockMutexes(mutexes: readonly Sql[], lock: Sql): Sql {
  return sql`SELECT "slot" FROM "takeback_turns" WHERE "slot" IN (${join(mutexes)}) ORDER BY "slot"${lock}`
}
