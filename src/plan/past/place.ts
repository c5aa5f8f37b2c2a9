import { type EntityType, linkTableOf, type Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { id, join, param, quoted, type Sql, sql } from '../../store/sql.ts'
import { bodyColumns, ownColumns } from '../tables/columns.ts'
import { JOURNAL } from './journal.ts'

/** The parameter with a place in the journal. */
export const PLACE = '$place'

const LATER = id('takeback_later')

/**
 * The Entities that operations after the place have changed, each with its first version by them. An operation is after
 * a place if any of its changes is. Statements that use `tableAtPlace` begin with this.
 */
export const laterChanges: Sql = sql`WITH ${LATER} AS MATERIALIZED (SELECT j."entity", j."entity_id", min(j."version") AS "version"
  FROM ${JOURNAL} j WHERE j."operation" IN (SELECT k."operation" FROM ${JOURNAL} k WHERE k."seq" > ${param(PLACE, 'integer')})
  GROUP BY j."entity", j."entity_id")`

/** The columns of a type that are not secret, extracted from the JSON `data`. */
function columnsFrom(type: EntityType, data: Sql, dialect: Dialect): Sql {
  return join(
    columnsOf(type).map(
      ({ name, kind, scale }) => sql`${dialect.extract(data, name, kind, scale)} AS ${id(name)}`,
    ),
  )
}

/** The column with the number of a row of `$rows`. No field can have this name. */
export const ROW_NUMBER = id('#')

/** The Entities in `$rows`: lists of a number and the JSON of a version. */
export function journalStates(type: EntityType, dialect: Dialect): Sql {
  const rows = dialect.rows('$rows', [
    { name: 'number', kind: 'integer' },
    { name: 'data', kind: 'text' },
  ])
  return sql`(SELECT r."number" AS ${ROW_NUMBER}, ${columnsFrom(type, sql`r."data"`, dialect)} FROM ${rows} r)`
}

function columnsOf(type: EntityType) {
  const own = Object.entries(ownColumns).map(([name, kind]) => ({ name, kind, scale: 0 }))
  return [...own, ...bodyColumns(type.fields).filter(({ secret }) => !secret)]
}

/**
 * A type's table as it was at the place: the present rows, except for those that changed later, which come from the
 * journal. Conditions use the indexes of the table, since few rows have changed.
 */
export function tableAtPlace(type: EntityType, dialect: Dialect): Sql {
  const own = join(columnsOf(type).map(({ name }) => sql`a.${id(name)}`))
  const name = quoted(type.name)
  return sql`(SELECT ${own} FROM ${id(type.name)} a WHERE a."id" NOT IN (SELECT l."entity_id" FROM ${LATER} l WHERE l."entity" = ${name})
    UNION ALL SELECT ${columnsFrom(type, sql`b."data"`, dialect)} FROM ${formerRows(type)})`
}

/** The rows `b` of the journal with the state that later changes have replaced. */
function formerRows({ name }: EntityType): Sql {
  return sql`${LATER} l JOIN ${JOURNAL} b ON b."entity" = l."entity" AND b."entity_id" = l."entity_id" AND b."version" = l."version" - 1
    WHERE l."entity" = ${quoted(name)} AND b."data" IS NOT NULL`
}

/** The tables as they were at the place, link tables included. */
export function tablesAtPlace({ entities, edges }: Model, dialect: Dialect): (name: string) => Sql {
  return (name) => {
    const type = entities.get(name)
    if (type !== undefined) return tableAtPlace(type, dialect)
    const edge = edges.find(({ from, path, list }) => list && linkTableOf(from, path).table === name)
    const source = entities.get(edge?.from ?? '')
    if (edge === undefined || source === undefined) throw new Error(`There is no table ${name}.`)
    const former = dialect.extract(sql`b."data"`, edge.path, 'json', 0)
    const { rows, target, place } = dialect.members(former, edge.list?.member ?? '')
    return sql`(SELECT a."source", a."target", a."place" FROM ${id(name)} a
      WHERE a."source" NOT IN (SELECT l."entity_id" FROM ${LATER} l WHERE l."entity" = ${quoted(source.name)})
      UNION ALL SELECT b."entity_id", ${target}, ${place} FROM (SELECT b."entity_id", b."data" FROM ${formerRows(source)}) b CROSS JOIN ${rows})`
  }
}
