import { budget } from '../budget.ts'
import type { Dialect } from '../store/dialect.ts'
import { id, join, sql, word } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'

const TASKS = id('takeback_tasks')

/** Why a task that no server can run is set aside. */
export const ORPHANED = 'No server could run it for a day: what it is for is no longer in the declaration.'

/** Queues that run only if the declaration has something for them. Webhooks keep their place, and so are not among them. */
const LEAVING = ['mail', 'reactions']

/**
 * Sets aside the tasks of those of these queues that this server does not run, once they were due for a day. Gives id,
 * queue, key and attempts. A task that waits behind another one of its key is set aside after it.
 */
export function compileOrphans(dialect: Dialect, handled: readonly string[]): readonly Step[] {
  const left = LEAVING.filter((name) => !handled.includes(name))
  if (left.length === 0) return []
  const { clock, shift } = dialect
  const waits = sql`"holder" IS NULL AND "aside_at" IS NULL AND "queue" IN (${join(left.map(word))})`
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
      sql`UPDATE ${TASKS} SET "aside_at" = ${clock}, "next_at" = NULL, "error" = ${word(ORPHANED)}
        WHERE ${waits} AND "next_at" < ${shift(clock, -budget.cursorIdleMs)} RETURNING "id", "queue", "key", "attempts"`,
    ),
  ]
}
