import type { EntityType } from '../../declare/model.ts'
import type { Dialect, Params } from '../../store/dialect.ts'
import { id, param, type Sql, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'

/** The name of the step that is refused if an Entity has changed since it was read. */
export const MOVED = 'moved'

const numberName = (at: number) => `$number ${at}`
const versionsName = (at: number) => `$versions ${at}`

/** The versions at which the Entities of a group were read. */
export function versionsParams(at: number, entities: readonly { readonly version: number }[]): Params {
  return {
    [numberName(at)]: entities.length,
    [versionsName(at)]: entities.reduce((sum, { version }) => sum + version, 0),
  }
}

/**
 * That the Entities selected by `which` from `t` still have the versions that were read. Versions only grow, so their
 * sum is the same only if each of them is. A join might compare all with all.
 */
export function refuseMoved(dialect: Dialect, type: EntityType, at: number, which: Sql): Step {
  return step(
    dialect,
    MOVED,
    'none',
    sql`SELECT 1 FROM (SELECT count(*) AS "all", sum(t."version") AS "versions" FROM ${id(type.name)} t
      WHERE ${which}) x WHERE x."all" <> ${param(numberName(at), 'integer')}
      OR x."versions" <> ${param(versionsName(at), 'integer')}`,
  )
}
