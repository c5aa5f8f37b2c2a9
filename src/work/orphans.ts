import { budget } from '../budget.ts'
import type { Dialect } from '../store/dialect.ts'
import { id, join, sql, word } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'

const TASKS = id('takeback_tasks')

/** Why a task that nobody does is set aside. */
export const ORPHANED =
  'It was due for a day, and no server had anything to do it with: what it is for is no longer in the declaration.'

/** Queues that are there only if the declaration has something for them. Webhooks are not: they keep their place. */
const LEAVING = ['mail', 'reactions']

/**
 * If not all of these queues are among those that a server handles: sets aside tasks of the others which were due for a
 * day, so that no server had anything to do them with: id, queue, key, attempts. Those behind them have their turn the
 * next time.
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
