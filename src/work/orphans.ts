import { budget } from '../budget.ts'
import type { Dialect } from '../store/dialect.ts'
import { id, join, quoted, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'

const TASKS = id('takeback_tasks')

/** The reason why a task that no server can run is set aside. */
export const ORPHANED = 'No server could run it for a day: what it is for is no longer in the declaration.'

/** Queues that run only if the declaration uses them. Not webhooks: those keep their place. */
const LEAVING = ['mail', 'reactions']

/**
 * Sets aside tasks in those of these queues that this server does not run, once they have been due for a day. Returns
 * id, queue, key and attempts. A task that waits for another task with its key is set aside after that one.
 */
export function compileOrphans(dialect: Dialect, handled: readonly string[]): readonly Step[] {
  const left = LEAVING.filter((name) => !handled.includes(name))
  if (left.length === 0) return []
  const { clock, shift } = dialect
  const waits = sql`"holder" IS NULL AND "aside_at" IS NULL AND "queue" IN (${join(left.map(quoted))})`
  const isFirst = sql`NOT EXISTS (SELECT 1 FROM ${TASKS} b WHERE b."queue" = ${TASKS}."queue" AND b."key" = ${TASKS}."key"
    AND b."id" < ${TASKS}."id" AND b."aside_at" IS NULL)`
  return [
    step(
      dialect,
      'next',
      'any',
      sql`UPDATE ${TASKS} SET "next_at" = "at" WHERE ${waits} AND "next_at" IS NULL AND ${isFirst}`,
    ),
    step(
      dialect,
      'orphans',
      'any',
      sql`UPDATE ${TASKS} SET "aside_at" = ${clock}, "next_at" = NULL, "error" = ${quoted(ORPHANED)}
        WHERE ${waits} AND "next_at" < ${shift(clock, -budget.cursorIdleMs)} RETURNING "id", "queue", "key", "attempts"`,
    ),
  ]
}
