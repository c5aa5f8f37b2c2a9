import type { EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { id, param, type Sql, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'

/** The step that is refused where nobody would be left who passes every rule. */
export const LAST_ADMIN = 'last admin'

/** To be put behind the changes of an operation that may delete Entities of these types. Such operations take turns. */
export function keepAnAdmin(
  types: readonly EntityType[],
  { admins }: Model,
  dialect: Dialect,
  isGone: (admins: string) => Sql = () => sql`"deletion" = ${param('$operation')}`,
): Step[] {
  if (admins === undefined || !types.some(({ name }) => name === admins)) return []
  const table = id(admins)
  return [
    step(
      dialect,
      LAST_ADMIN,
      'none',
      sql`SELECT 1 WHERE EXISTS (SELECT 1 FROM ${table} WHERE ${isGone(admins)})
        AND NOT EXISTS (SELECT 1 FROM ${table} WHERE "deleted_at" IS NULL)`,
    ),
  ]
}
