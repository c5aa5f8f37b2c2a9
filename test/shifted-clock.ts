import { shiftClock } from '../testing/clock.ts'
import type { TestDatabase } from './harness.ts'

/** The clocks of this process and of a database. */
export interface ShiftedClock {
  /** Sets the offset of both clocks. */
  set(ms: number): Promise<void>
  /** Sets the offset of this process's clock only. */
  setHere(ms: number): void
  /** Resets both to the real time. */
  right(): Promise<void>
}

/**
 * Makes the clocks of this process and of a database adjustable. Call it before the first server starts on the
 * database: on PostgreSQL, it puts a `now()` of ours before the real one.
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
