import { param, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'

/** Ends a session; those that ended so long ago that none of their tokens can be valid need not be known any more. */
export function compileEndSession({ dialect }: Store): readonly Step[] {
  const sources = [
    sql`DELETE FROM "takeback_ended_sessions" WHERE "until" < ${param('$now', 'datetime')}`,
    sql`INSERT INTO "takeback_ended_sessions" ("session", "until") VALUES (${param('$session')}, ${param('$until', 'datetime')})
      ON CONFLICT ("session") DO NOTHING`,
  ]
  return sources.map((source) => step(dialect, 'session', 'any', source))
}
