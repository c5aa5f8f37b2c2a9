import type { EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { id, param, type Sql, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'

/** The name of the step that is refused if no admin would be left. */
export const LAST_ADMIN = 'last admin'

/** Comes after the changes of an operation that may delete Entities of these types. Such operations run one by one. */
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
