import { param, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import type { Store } from '../store/store.ts'
import { TOKEN_SECONDS } from './tokens.ts'

export interface SessionSteps {
  /** Ends a session, with all of its tokens. */
  readonly end: readonly Step[]
  /** Ends one token, unless it or its session has ended already. */
  readonly replace: readonly Step[]
}

/**
 * How long what has ended is known, in service time. A token lives for a day by the wall clock: a week more, so that none
 * comes back to life where that clock is set back.
 */
export const ENDED_MS = TOKEN_SECONDS * 1000 + 7 * 24 * 60 * 60 * 1000

/** What ended so long ago that none of its tokens can be valid need not be known any more. */
export function compileSessions({ dialect }: Store): SessionSteps {
  const until = param('$until', 'datetime')
  const clear = sql`DELETE FROM "takeback_ended_sessions" WHERE "until" < ${param('$now', 'datetime')}`
  const end = sql`INSERT INTO "takeback_ended_sessions" ("session", "until") VALUES (${param('$session')}, ${until})
    ON CONFLICT ("session") DO NOTHING`
  const replace = sql`INSERT INTO "takeback_ended_sessions" ("session", "until") SELECT ${param('$token')}, ${until}
    WHERE NOT EXISTS (SELECT 1 FROM "takeback_ended_sessions" WHERE "session" = ${param('$session')})
    ON CONFLICT ("session") DO NOTHING`
  return {
    end: [step(dialect, 'session', 'any', clear), step(dialect, 'session', 'any', end)],
    replace: [step(dialect, 'session', 'any', clear), step(dialect, 'session', 'some', replace)],
  }
}
