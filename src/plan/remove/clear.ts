import type { Edge, EntityType } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { id, intLiteral, join, param, quoted, type Sql, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'
import { JOURNAL, journal } from '../past/journal.ts'
import { nextVersion } from '../tables/columns.ts'
import { referenceRowsOf, refersTo } from '../tables/links.ts'
import type { Extent } from './extent.ts'

/**
 * The references that a deletion cleared, so that a restore can set them again. The journal has them too, unless the
 * declaration has changed since, or retention has cut it.
 */
const CLEARED = id('takeback_cleared')

/** Clears the references of one type into the extent. Runs after the extent is deleted: live rows are outside of it. */
export function clear(type: EntityType, edges: readonly Edge[], extent: Extent, dialect: Dialect): Step[] {
  const table = id(type.name)
  const gone = (edge: Edge) => refersTo(edge, extent.ids(edge.to))
  const emptied = edges.map(
    (edge) =>
      sql`${id(edge.column)} = CASE WHEN ${gone(edge)} THEN ${without(edge, extent, dialect)} ELSE ${id(edge.column)} END`,
  )
  const kept = edges.map((edge) => {
    const { rows, target } = referenceRowsOf(edge)
    const place = edge.list === undefined ? sql`NULL` : sql`l."place"`
    return sql`INSERT INTO ${CLEARED} ("operation", "entity", "entity_id", "column", "target", "place", "version")
      SELECT ${param('$operation')}, ${quoted(type.name)}, c."id", ${quoted(edge.column)}, ${target}, ${place}, c."version" + 1 FROM ${rows}
      WHERE c."id" IN ${extent.affectedIds(type)} AND ${target} IN ${extent.ids(edge.to)}
      ON CONFLICT ("operation", "entity", "entity_id", "column", "target") DO UPDATE SET "place" = excluded."place", "version" = excluded."version"`
  })
  // An operation of several parts can clear a reference more than once. The last value is the one to restore.
  const before = edges
    .filter(({ list }) => list === undefined)
    .map(
      (
        edge,
      ) => sql`DELETE FROM ${CLEARED} WHERE "operation" = ${param('$operation')} AND "entity" = ${quoted(type.name)} AND "column" = ${quoted(edge.column)}
        AND "entity_id" IN (SELECT t."id" FROM ${table} t WHERE t."id" IN ${extent.affectedIds(type)} AND ${gone(edge)})`,
    )
  return [
    ...extent.noteAffected(
      type,
      sql`SELECT t."id" FROM ${table} t WHERE t."deleted_at" IS NULL AND (${join(edges.map(gone), sql` OR `)})`,
    ),
    ...[
      ...before,
      ...kept,
      sql`UPDATE ${table} AS t SET ${join(emptied)}, ${nextVersion(dialect)} WHERE t."id" IN ${extent.affectedIds(type)}`,
      journalAffected(type, extent, dialect),
    ].map((source) => step(dialect, 'change', 'any', source)),
  ]
}

/** What is left of a reference into the extent: null, or the rest of the list. */
function without({ list, to }: Edge, extent: Extent, dialect: Dialect): Sql {
  if (list === undefined) return sql`NULL`
  const rest = sql`SELECT l."target", l."place" FROM ${id(list.links)} l
    WHERE l."source" = t."id" AND l."target" NOT IN ${extent.ids(to)}`
  return dialect.listOf(rest, sql`r."place"`)
}

/** Sets cleared references again if they are still null and their targets are restored. */
export function setAgain(type: EntityType, edges: readonly Edge[], extent: Extent, dialect: Dialect): Step[] {
  const ofThis = sql`k."operation" = ${param('$deletion')} AND k."entity" = ${quoted(type.name)}`
  const ways = edges.map((edge) => {
    const { column, to } = edge
    const former = sql`FROM ${CLEARED} k WHERE ${ofThis} AND k."entity_id" = t."id" AND k."column" = ${quoted(column)}
      AND k."target" IN ${extent.ids(to)}`
    return {
      column,
      ...(edge.list === undefined
        ? refill(edge, sql`${former} AND ${isUnwritten(type, column, dialect)}`)
        : putBack(edge.list, edge, former, dialect)),
    }
  })
  const set = ways.map(
    ({ column, can, value }) => sql`${id(column)} = CASE WHEN ${can} THEN ${value} ELSE t.${id(column)} END`,
  )
  const can = join(
    ways.map(({ can }) => can),
    sql` OR `,
  )
  return [
    ...extent.noteAffected(
      type,
      sql`SELECT t."id" FROM ${id(type.name)} t WHERE t."id" IN (SELECT k."entity_id" FROM ${CLEARED} k WHERE ${ofThis})
        AND (${can})`,
    ),
    ...[
      sql`UPDATE ${id(type.name)} AS t SET ${join(set)}, ${nextVersion(dialect)} WHERE t."id" IN ${extent.affectedIds(type)}`,
      journalAffected(type, extent, dialect),
    ].map((source) => step(dialect, 'change', 'any', source)),
  ]
}

/** That nobody has set the cleared reference `k` since. If somebody did and cleared it again, it stays null. */
function isUnwritten(type: EntityType, column: string, dialect: Dialect): Sql {
  return sql`NOT EXISTS (SELECT 1 FROM ${JOURNAL} w WHERE w."entity" = ${quoted(type.name)} AND w."entity_id" = k."entity_id"
    AND w."version" > k."version" AND ${dialect.extract(sql`w."data"`, column, 'reference', 0)} IS NOT NULL)`
}

/** Whether a cleared reference `k` can be set again, and the value of its column then. */
interface Refilling {
  readonly can: Sql
  readonly value: Sql
}

function refill(edge: Edge, former: Sql): Refilling {
  const target = sql`(SELECT k."target" ${former})`
  return {
    can: sql`(t.${id(edge.column)} IS NULL AND ${isThere(edge)} AND ${target} IS NOT NULL)`,
    value: target,
  }
}

/**
 * Puts each target back in its place, if the list is still that long, unless it is in the list again or the list is
 * full. A target from place 5, after two others that also come back, goes before the fourth of the remaining ones.
 */
function putBack(
  { links, max }: NonNullable<Edge['list']>,
  edge: Edge,
  former: Sql,
  dialect: Dialect,
): Refilling {
  const own = sql`FROM ${id(links)} l WHERE l."source" = t."id"`
  const missing = sql`${former} AND NOT EXISTS (SELECT 1 ${own} AND l."target" = k."target")`
  const room = max === undefined ? sql`` : sql` AND (SELECT count(*) ${own}) < ${intLiteral(max)}`
  const fits = max === undefined ? sql`` : sql` WHERE b."nth" < ${intLiteral(max)} - (SELECT count(*) ${own})`
  const back = sql`SELECT k."target", k."place", row_number() OVER (ORDER BY k."place") - 1 AS "nth" ${missing}`
  const all = sql`SELECT l."target", l."place" AS "before", 1 AS "stays", l."place" ${own}
    UNION ALL SELECT b."target", b."place" - b."nth", 0, b."place" FROM (${back}) b${fits}`
  return {
    can: sql`(t.${id(edge.column)} IS NOT NULL AND ${isThere(edge)} AND EXISTS (SELECT 1 ${missing})${room})`,
    value: dialect.listOf(all, sql`r."before", r."stays", r."place"`),
  }
}

/** A reference inside an object that is null now cannot be set again. */
function isThere({ within }: Edge): Sql {
  return within === undefined ? sql`1 = 1` : sql`t.${id(within)} IS NOT NULL`
}

/** Forgets cleared references that were set again or never can be. Others of the same deletion may still be needed. */
export function forgetCleared({ from, column, to }: Edge, extent: Extent): Sql {
  return sql`DELETE FROM ${CLEARED} WHERE "operation" = ${param('$deletion')} AND "entity" = ${quoted(from)}
    AND "column" = ${quoted(column)} AND "target" IN ${extent.ids(to)}`
}

function journalAffected(type: EntityType, extent: Extent, dialect: Dialect): Sql {
  return journal(type, 'update', dialect, sql`${id(type.name)} t WHERE t."id" IN ${extent.affectedIds(type)}`)
}
