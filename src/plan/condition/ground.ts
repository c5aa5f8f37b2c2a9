import type { EntityType } from '../../declare/model.ts'
import { id, type Sql, sql } from '../../store/sql.ts'

/** Where the names of an expression are to be found in a statement. */
export interface Ground {
  readonly type: EntityType
  /** A column of the Entity at hand, and of the same as it would be. */
  self(column: string): Sql
  next?(column: string): Sql
  /** Whether the Entity at hand stands in its table, and so the rows of its lists in theirs. */
  readonly stored: boolean
}

/** The row called `t`, or otherwise. */
export function rowOf(type: EntityType, alias = sql`t`): Ground {
  return { type, stored: true, self: (column) => sql`${alias}.${id(column)}` }
}

/** Who asks, and when: bound to whatever has a condition in it. */
export const ME = '$caller'
export const NOW = '$instant'
