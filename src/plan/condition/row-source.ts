import type { EntityType } from '../../declare/model.ts'
import { id, type Sql, sql } from '../../store/sql.ts'

/** Where a condition finds the columns of the Entity it is about: in a row of its table, in bound values, or in both. */
export interface RowSource {
  readonly type: EntityType
  /** A column of the Entity as it is. */
  self(column: string): Sql
  /** The same column as a write would leave it. */
  next?(column: string): Sql
  /** Whether the Entity stands in its table, and so its list members in theirs. */
  readonly stored: boolean
  /** Whether it is a row of a list of live Entities. Then the rows that meet a condition may be found first. */
  readonly live?: boolean
}

/** The row called `t`, or otherwise. */
export function rowOf(type: EntityType, alias = sql`t`): RowSource {
  return { type, stored: true, self: (column) => sql`${alias}.${id(column)}` }
}

/** Parameters of every condition: the id of the caller, and the time of the request. */
export const ME = '$caller'
export const NOW = '$instant'
