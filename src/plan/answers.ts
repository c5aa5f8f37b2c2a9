import type { Dialect } from '../store/dialect.ts'
import { compile, count, id, param, type Sql, type Statement, sql } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import { JOURNAL } from './journal.ts'

const ANSWERS = id('takeback_answers')

/** How long an answer is kept for those who ask again. */
export const KEPT_MS = 24 * 60 * 60 * 1000

/** How many are cleared out in one step: others must hardly notice. */
const STEP = 500

/** What is known of requests that may come again. */
export interface AnswersPlan {
  /** Takes `$key` for `$request`, unless somebody has had it since `$expired`; waits for whoever is about to. */
  readonly claim: readonly Step[]
  /** Who has it: request, status, headers, body. */
  readonly find: Statement
  /** Puts down what came of it. */
  readonly keep: readonly Step[]
  /** Some of those from before `$expired`; refused where there are none. */
  readonly clear: readonly Step[]
  /** Whether there are any. */
  readonly old: Statement
}

export function compileAnswers(dialect: Dialect): AnswersPlan {
  const expired = param('$expired', 'datetime')
  const one = (name: string, source: Sql) => [step(dialect, name, 'some', source)]
  // What is purged by the very operation must not be found in its answer either.
  const purges = sql`EXISTS (SELECT 1 FROM ${JOURNAL} j WHERE j."operation" = ${param('$operation')} AND j."kind" = 'purge')`
  return {
    claim: one(
      'claim',
      sql`INSERT INTO ${ANSWERS} ("key", "request", "at", "status", "headers") VALUES (${param('$key')}, ${param('$request')}, ${dialect.now}, 0, '')
        ON CONFLICT ("key") DO UPDATE SET "request" = excluded."request", "at" = excluded."at", "operation" = NULL, "status" = 0, "headers" = '', "body" = NULL
        WHERE ${ANSWERS}."at" < ${expired} RETURNING "key"`,
    ),
    find: compile(
      sql`SELECT "request", "status", "headers", "body" FROM ${ANSWERS} WHERE "key" = ${param('$key')}`,
      dialect.placeholder,
    ),
    keep: one(
      'keep',
      sql`UPDATE ${ANSWERS} SET "operation" = ${param('$operation')}, "status" = ${param('$status', 'integer')}, "headers" = ${param('$headers')},
        "body" = CASE WHEN ${purges} THEN NULL ELSE ${param('$body')} END WHERE "key" = ${param('$key')}`,
    ),
    clear: one(
      'clear',
      sql`DELETE FROM ${ANSWERS} WHERE "key" IN (SELECT a."key" FROM ${ANSWERS} a WHERE a."at" < ${expired} LIMIT ${count(STEP)})`,
    ),
    old: compile(sql`SELECT 1 FROM ${ANSWERS} WHERE "at" < ${expired} LIMIT 1`, dialect.placeholder),
  }
}

/** What is erased must not be found in what was answered. That it was answered stays: it must not be done again. */
export function eraseAnswers(operations: Sql): Sql {
  return sql`UPDATE ${ANSWERS} SET "body" = NULL WHERE "operation" IN (${operations})`
}

/** What nothing was written by may say anything, and may as well be asked again. */
export const forgetUnwritten = sql`DELETE FROM ${ANSWERS} WHERE "operation" IS NULL AND "status" <> 0`
