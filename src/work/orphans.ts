import { budget } from '../budget.ts'
import type { Dialect } from '../store/dialect.ts'
import { id, join, sql, word } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'

const TASKS = id('takeback_tasks')

/** Why a task that nobody does is set aside. */
export const ORPHANED =
  'It was due for a day, and no server had anything to do it with: what it is for is no longer in the declaration.'

/**
 * Sets aside tasks of other queues than these which were due for a day, so that nobody had anything to do them with: id,
 * queue, key, attempts. Those behind them have their turn the next time.
 */
export function compileOrphans(dialect: Dialect, queues: readonly string[]): readonly Step[] {
  const { clock, shift } = dialect
  const others = queues.length === 0 ? sql`` : sql` AND "queue" NOT IN (${join(queues.map(word))})`
  const waits = sql`"holder" IS NULL AND "aside_at" IS NULL${others}`
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
