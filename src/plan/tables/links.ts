import type { Edge } from '../../declare/model.ts'
import { dottedPath } from '../../declare/values.ts'
import { id, type Sql, sql } from '../../store/sql.ts'

/** The rows `c` that refer to others by an edge, as a column or a list, and their targets. */
export interface ReferenceRows {
  readonly rows: Sql
  readonly target: Sql
  /** The place in the list, as the suffix of a key; empty if the edge is not a list. */
  readonly place: Sql
}

export function referenceRowsOf({ from, column, list }: Edge): ReferenceRows {
  if (list === undefined) return { rows: sql`${id(from)} c`, target: sql`c.${id(column)}`, place: sql`''` }
  return {
    rows: sql`${id(from)} c JOIN ${id(list.links)} l ON l."source" = c."id"`,
    target: sql`l."target"`,
    place: sql`' ' || CAST(l."place" AS text)`,
  }
}

/** The dot path of a target's id, from the edge and the value of its `place`. */
export function pathOfTarget({ path, column, list }: Edge, place: string | undefined): string {
  return list === undefined || place === undefined
    ? column
    : `${dottedPath(`${path}.${place}`, list.member)}.id`
}

/** That a row `t` refers to one of these ids. */
export function refersTo({ column, list }: Edge, ids: Sql): Sql {
  return list === undefined
    ? sql`t.${id(column)} IN ${ids}`
    : sql`t."id" IN (SELECT l."source" FROM ${id(list.links)} l WHERE l."target" IN ${ids})`
}
