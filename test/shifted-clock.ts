import { shiftClock } from '../testing/clock.ts'
import type { TestDatabase } from './harness.ts'

/** What this process and a database take for the time. */
export interface ShiftedClock {
  /** Moves both so far from the true time. */
  set(ms: number): Promise<void>
  /** Moves the clock of this process alone. */
  setHere(ms: number): void
  /** The true time again. */
  right(): Promise<void>
}

/**
 * Lets the clock of this process and that of a database jump. To be called before the first server is started on it:
 * a database server that runs elsewhere finds a `now()` of ours before its own.
 */
export async function shiftedClock(store: string, database: TestDatabase): Promise<ShiftedClock> {
  const postgres = store === 'postgres'
  if (postgres) {
    const [{ name } = {}] = await database.query('SELECT current_database() AS name')
    await database.query('CREATE SCHEMA test_clock')
    await database.query('CREATE TABLE test_clock.shift (ms bigint)')
    await database.query('INSERT INTO test_clock.shift VALUES (0)')
    await database.query(`CREATE FUNCTION test_clock.now() RETURNS timestamptz LANGUAGE sql STABLE AS
      $$ SELECT pg_catalog.now() + (SELECT ms FROM test_clock.shift) * interval '1 millisecond' $$`)
    await database.query(`ALTER DATABASE "${name}" SET search_path = public, test_clock, pg_catalog`)
  }
  const set = async (ms: number) => {
    shiftClock(ms)
    if (postgres) await database.query('UPDATE test_clock.shift SET ms = $1', ms)
  }
  return { set, setHere: shiftClock, right: () => set(0) }
}
