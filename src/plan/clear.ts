import type { Edge, EntityType } from '../declare/model.ts'
import type { Dialect } from '../store/dialect.ts'
import { id, join, param, type Sql, sql, word } from '../store/sql.ts'
import { type Step, step } from '../store/step.ts'
import { next } from './columns.ts'
import type { Extent } from './extent.ts'
import { journal } from './journal.ts'

/**
 * What a deletion emptied, so that its restore can set it again. The journal could tell too, but not where the
 * declaration has changed meanwhile, nor once it has been cut back.
 */
const CLEARED = id('takeback_cleared')

/** Empties the references of one type into the extent. Runs after the stamps: what is live then is outside of it. */
export function clear(type: EntityType, edges: readonly Edge[], extent: Extent, dialect: Dialect): Step[] {
  const table = id(type.name)
  const gone = ({ column, to }: Edge) => sql`${id(column)} IN ${extent.ids(to)}`
  const emptied = edges.map(
    (edge) => sql`${id(edge.column)} = CASE WHEN ${gone(edge)} THEN NULL ELSE ${id(edge.column)} END`,
  )
  const kept = edges.map(
    (edge) => sql`INSERT INTO ${CLEARED} ("operation", "entity", "entity_id", "column", "target")
      SELECT ${param('$operation')}, ${word(type.name)}, "id", ${word(edge.column)}, ${id(edge.column)} FROM ${table}
      WHERE "id" IN ${extent.asideIds(type)} AND ${gone(edge)}
      ON CONFLICT ("operation", "entity", "entity_id", "column") DO UPDATE SET "target" = excluded."target"`,
  )
  return [
    extent.aside(
      type,
      sql`SELECT "id" FROM ${table} WHERE "deleted_at" IS NULL AND (${join(edges.map(gone), sql` OR `)})`,
    ),
    ...[
      ...kept,
      sql`UPDATE ${table} SET ${join(emptied)}, ${next(dialect)} WHERE "id" IN ${extent.asideIds(type)}`,
      journalAside(type, extent, dialect),
    ].map((source) => step(dialect, 'change', 'any', source)),
  ]
}

/** Sets them again where they are still empty, as far as their targets come back. */
export function setAgain(type: EntityType, edges: readonly Edge[], extent: Extent, dialect: Dialect): Step[] {
  const ofThis = sql`k."operation" = ${param('$deletion')} AND k."entity" = ${word(type.name)}`
  const former = ({ column, to }: Edge) =>
    sql`(SELECT k."target" FROM ${CLEARED} k WHERE ${ofThis} AND k."entity_id" = t."id" AND k."column" = ${word(column)}
      AND k."target" IN ${extent.ids(to)})`
  // What stood in an object that is not there any more has nowhere to go back to.
  const there = ({ within }: Edge) => (within === undefined ? sql`1 = 1` : sql`t.${id(within)} IS NOT NULL`)
  const empty = (edge: Edge) =>
    sql`(t.${id(edge.column)} IS NULL AND ${there(edge)} AND ${former(edge)} IS NOT NULL)`
  const set = edges.map(
    (edge) =>
      sql`${id(edge.column)} = CASE WHEN ${empty(edge)} THEN ${former(edge)} ELSE t.${id(edge.column)} END`,
  )
  return [
    extent.aside(
      type,
      sql`SELECT t."id" FROM ${id(type.name)} t WHERE t."id" IN (SELECT k."entity_id" FROM ${CLEARED} k WHERE ${ofThis})
        AND (${join(edges.map(empty), sql` OR `)})`,
    ),
    ...[
      sql`UPDATE ${id(type.name)} AS t SET ${join(set)}, ${next(dialect)} WHERE t."id" IN ${extent.asideIds(type)}`,
      journalAside(type, extent, dialect),
    ].map((source) => step(dialect, 'change', 'any', source)),
  ]
}

/** What was set again, or never can be any more, need not be known. Of the same deletion, others may still be to come. */
export function forgetCleared({ from, column, to }: Edge, extent: Extent): Sql {
  return sql`DELETE FROM ${CLEARED} WHERE "operation" = ${param('$deletion')} AND "entity" = ${word(from)}
    AND "column" = ${word(column)} AND "target" IN ${extent.ids(to)}`
}

/** Neither is what was cleared in something that is gone itself. */
export function forgetClearedIn(type: EntityType, extent: Extent): Sql {
  return sql`DELETE FROM ${CLEARED} WHERE "entity" = ${word(type.name)} AND "entity_id" IN ${extent.ids(type.name)}`
}

function journalAside(type: EntityType, extent: Extent, dialect: Dialect): Sql {
  return journal(type, 'update', dialect, sql`${id(type.name)} t WHERE t."id" IN ${extent.asideIds(type)}`)
}
