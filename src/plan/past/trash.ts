import { budget } from '../../budget.ts'
import type { EntityType } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { compile, id, intLiteral, param, quoted, type Sql, type Statement, sql } from '../../store/sql.ts'
import { journalledActor } from '../viewer/actor.ts'
import { JOURNAL } from './journal.ts'

/** The deleted Entities of one type. */
export interface TrashPlan {
  /** Deleted before `$before`, oldest first: id, when, operation, actor. */
  readonly before: Statement
  /** The next few after `$id` of the deletion `$deletion`: id, operation, time. */
  readonly next: Statement
  /** By `$id`: the place of its deletion in the journal; no row if the journal no longer has it. */
  readonly place: Statement
}

export function compileTrash(type: EntityType, dialect: Dialect): TrashPlan {
  return {
    before: compile(
      sql`SELECT t."id", t."deleted_at", t."deletion", ${journalledActor(sql`j`)} FROM ${id(type.name)} t
        LEFT JOIN ${JOURNAL} j ON ${deletionOf(type)}
        WHERE t."deletion" IS NOT NULL AND t."deleted_at" <= ${param('$before', 'datetime')} ORDER BY t."deleted_at", t."id"`,
      dialect.placeholder,
    ),
    place: compile(
      sql`SELECT j."seq" FROM ${id(type.name)} t JOIN ${JOURNAL} j ON ${deletionOf(type)} WHERE t."id" = ${param('$id')}`,
      dialect.placeholder,
    ),
    next: compile(
      sql`SELECT t."id", t."deletion", t."deleted_at" FROM ${id(type.name)} t WHERE t."deletion" IS NOT NULL
        AND (t."deletion" > ${param('$deletion')} OR (t."deletion" = ${param('$deletion')} AND t."id" > ${param('$id')}))
        ORDER BY t."deletion", t."id" LIMIT ${intLiteral(budget.stepRows)}`,
      dialect.placeholder,
    ),
  }
}

/** The member of the JSON that only Entities in the trash have. */
export const DELETION = 'deletion'

/** The deletion, as a member of the JSON of an Entity; `null` for a live one. */
export function renderDeletion(type: EntityType, dialect: Dialect): [string, Sql] {
  const who = sql`(SELECT ${dialect.render('text', journalledActor(sql`j`), 0)} FROM ${JOURNAL} j WHERE ${deletionOf(type)} LIMIT 1)`
  const object = dialect.object([
    ['operation', dialect.render('text', sql`t."deletion"`, 0)],
    ['actor', who],
  ])
  return [DELETION, sql`CASE WHEN t."deletion" IS NOT NULL THEN ${object} END`]
}

/** That `j` is the journal row in which the deleted Entity `t` was deleted. */
export function deletionOf(type: EntityType): Sql {
  return sql`j."entity" = ${quoted(type.name)} AND j."entity_id" = t."id" AND j."operation" = t."deletion" AND j."kind" = 'delete'`
}
