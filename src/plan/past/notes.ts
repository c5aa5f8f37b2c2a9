import type { Dialect } from '../../store/dialect.ts'
import { compile, id, param, type Sql, type Statement, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import { JOURNAL } from './journal.ts'

/** What callers say about their operations: a run and a reason. There is a row only if they gave one. */
const NOTES = id('takeback_notes')
/** The operations that were taken back, and by which operation. */
const UNDONE = id('takeback_undone')

export interface NotesPlan {
  /** Records `$run` and `$reason` of `$operation`. Comes before the steps of a write. */
  readonly take: Step
  /** Records that `$operation` takes back those of `$taken`: a list of lists of one operation each. */
  readonly undo: Step
  /** Of those in `$operations`: operation, run, reason. */
  readonly of: Statement
  /** For `$operations`: an operation that was taken back, and the one that did it; ordered by both. */
  readonly undone: Statement
}

export function compileNotes(dialect: Dialect): NotesPlan {
  const named = dialect.listed('$operations', 'text')
  return {
    take: step(
      dialect,
      'note',
      'any',
      sql`INSERT INTO ${NOTES} ("operation", "run", "reason") VALUES (${param('$operation')}, ${param('$run')}, ${param('$reason')})
        ON CONFLICT DO NOTHING`,
    ),
    undo: step(
      dialect,
      'note',
      'any',
      sql`INSERT INTO ${UNDONE} ("operation", "by") SELECT DISTINCT u."operation", ${param('$operation')} FROM ${dialect.rows('$taken', [{ name: 'operation', kind: 'text' }])} u
        WHERE 1 = 1 ON CONFLICT DO NOTHING`,
    ),
    of: compile(
      sql`SELECT n."operation", n."run", n."reason" FROM ${NOTES} n WHERE n."operation" IN ${named}`,
      dialect.placeholder,
    ),
    undone: compile(
      sql`SELECT u."operation", u."by" FROM ${UNDONE} u WHERE u."operation" IN ${named}
        UNION SELECT u."operation", u."by" FROM ${UNDONE} u WHERE u."by" IN ${named} ORDER BY 1, 2`,
      dialect.placeholder,
    ),
  }
}

/** The operations of a run. */
export const operationsOfRun = sql`(SELECT n."operation" FROM ${NOTES} n WHERE n."run" = ${param('$run')})`

/** Erases the reasons of operations: a reason may mention the Entity that was changed. */
export function eraseReasons(changes: Sql, { isAmong }: Dialect): Sql {
  const operations = sql`SELECT j."operation" FROM ${JOURNAL} j WHERE ${changes}`
  return sql`UPDATE ${NOTES} SET "reason" = NULL WHERE "reason" IS NOT NULL AND ${isAmong(id('operation'), operations)}`
}

/** Deletes the notes of operations whose last rows in the journal are the rows `p` of `cut`. */
export function cutNotes(cut: Sql, { isAmong }: Dialect): Sql[] {
  const over = (operation: Sql) =>
    sql`${isAmong(operation, sql`SELECT p."operation" ${cut}`)} AND NOT EXISTS (SELECT 1 FROM ${JOURNAL} j
      WHERE j."operation" = ${operation} AND j."seq" NOT IN (SELECT p."seq" ${cut}))`
  return [
    sql`DELETE FROM ${NOTES} WHERE ${over(sql`${NOTES}."operation"`)}`,
    sql`DELETE FROM ${UNDONE} WHERE ${over(sql`${UNDONE}."operation"`)}`,
    sql`DELETE FROM ${UNDONE} WHERE ${over(sql`${UNDONE}."by"`)}`,
  ]
}
