import { budget } from '../../budget.ts'
import type { Edge, EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { besidesJournal } from '../../store/own.ts'
import { compile, id, intLiteral, param, quoted, type Sql, type Statement, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import type { Legacy } from '../tables/graph.ts'
import { lockRows } from '../tables/lock-rows.ts'
import { eraseAnswers, holdBeginning } from './answers.ts'
import { JOURNAL } from './journal.ts'
import { eraseMentions } from './mentions.ts'
import { eraseReasons } from './notes.ts'

/**
 * The unfinished purges. A purge has two parts. First, one transaction marks everything that it takes: `deletion`
 * becomes the id of the purge, which is recorded here. From then on it cannot be restored. Then it is erased in steps,
 * each a transaction of its own, so that any number can be purged. Any instance can finish an unfinished purge. The id
 * is not that of the operation: a batch may delete and purge in one operation.
 */
const PURGES = id('takeback_purges')

/** How the marked Entities of one type are erased. */
export interface ErasePlan {
  /** Some of the Entities that `$purge` has marked: id, version. */
  readonly marked: Statement
  /** In the journal, blanks the versions of `$ids` after `$after`, up to `$upto`, and their operations' reasons. */
  readonly blank: readonly Step[]
  /** Erases `$ids` themselves and everything else about them, including versions after `$after`. */
  readonly drop: readonly Step[]
}

/** The purges that are under way. */
export interface PurgesPlan {
  /** By `$purge`: its operation. */
  readonly find: Statement
  /** The ids of purges that began before `$before`, or, by a wrong clock, after `$after`. */
  readonly unfinished: Statement
  readonly finish: readonly Step[]
}

export function compilePurges(dialect: Dialect): PurgesPlan {
  return {
    find: compile(
      sql`SELECT "operation" FROM ${PURGES} WHERE "purge" = ${param('$purge')}`,
      dialect.placeholder,
    ),
    unfinished: compile(
      sql`SELECT "purge" FROM ${PURGES} WHERE "at" < ${param('$before', 'datetime')} OR "at" > ${param('$after', 'datetime')} ORDER BY "purge" LIMIT ${intLiteral(budget.stepRows)}`,
      dialect.placeholder,
    ),
    finish: [step(dialect, 'finish', 'any', sql`DELETE FROM ${PURGES} WHERE "purge" = ${param('$purge')}`)],
  }
}

/** Part of the transaction that marks the Entities. */
export function beginPurge(dialect: Dialect): Sql {
  return sql`INSERT INTO ${PURGES} ("purge", "operation", "at") VALUES (${param('$purge')}, ${param('$operation')}, ${dialect.now})`
}

/** That `$deletion` is a deletion, not an unfinished purge. */
export const isNoPurge = sql`NOT EXISTS (SELECT 1 FROM ${PURGES} p WHERE p."purge" = ${param('$deletion')})`

export function compileErase(type: EntityType, model: Model, legacy: Legacy, dialect: Dialect): ErasePlan {
  const isOne = (column: Sql) => dialect.isListed(column, '$ids')
  const table = id(type.name)
  const ofThese = sql`"entity" = ${quoted(type.name)} AND ${isOne(id('entity_id'))}`
  const between = sql`${ofThese} AND "version" > ${param('$after', 'integer')} AND "version" <= ${param('$upto', 'integer')}`
  const into = [...model.edges, ...legacy.aside].filter(
    ({ from, to }) => to === type.name && model.entities.has(from),
  )
  const change = (source: Sql) => step(dialect, 'change', 'any', source)
  return {
    marked: compile(
      sql`SELECT "id", "version" FROM ${table} WHERE "deletion" = ${param('$purge')} ORDER BY "deletion" LIMIT ${intLiteral(budget.stepEntities)}`,
      dialect.placeholder,
    ),
    blank: [
      // The reason of the purge itself stays.
      change(eraseReasons(sql`${between} AND "kind" <> 'purge'`, dialect)),
      change(sql`UPDATE ${JOURNAL} SET "data" = NULL WHERE ${between} AND "data" IS NOT NULL`),
    ],
    drop: [
      ...holdBeginning(dialect),
      // Waits for requests that are about to store an answer with one of them.
      ...(dialect.lock === undefined
        ? []
        : [step(dialect, 'hold', 'any', lockRows(type.name, isOne(sql`h."id"`), dialect.lock.toChange))]),
      ...[
        // An undo may have added a version of a deleted Entity since the last one was blanked.
        sql`UPDATE ${JOURNAL} SET "data" = NULL WHERE ${ofThese} AND "version" > ${param('$after', 'integer')} AND "data" IS NOT NULL`,
        ...eraseAnswers(type.name, ofThese, dialect),
        ...eraseMentions(type, dialect),
        ...besidesJournal.map(({ name }) => sql`DELETE FROM ${id(name)} WHERE ${ofThese}`),
        ...into.map((edge) => unlink(edge, isOne)),
        sql`DELETE FROM ${table} WHERE ${isOne(id('id'))} AND "deletion" = ${param('$purge')}`,
      ].map(change),
    ],
  }
}

/** Clears references to them. The rows that refer are marked too and are erased later. */
function unlink({ from, column, list }: Edge, isOne: (column: Sql) => Sql): Sql {
  const marked = sql`"deletion" = ${param('$purge')}`
  return list === undefined
    ? sql`UPDATE ${id(from)} SET ${id(column)} = NULL WHERE ${isOne(id(column))} AND ${marked}`
    : sql`DELETE FROM ${id(list.links)} WHERE ${isOne(id('target'))} AND "source" IN (SELECT "id" FROM ${id(from)} WHERE ${marked})`
}
