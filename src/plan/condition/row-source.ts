import type { EntityType } from '../../declare/model.ts'
import { id, type Sql, sql } from '../../store/sql.ts'

/** Where a condition finds the columns of its Entity: in a row of the table, in bound values, or in both. */
export interface RowSource {
  readonly type: EntityType
  /** A column of the Entity as it is now. */
  self(column: string): Sql
  /** The column as a write would leave it. */
  next?(column: string): Sql
  /** Whether the Entity is in its table, and its list members in their link tables. */
  readonly stored: boolean
  /** Whether it is a row of a list of live Entities. Then matching rows may be found first. */
  readonly live?: boolean
}

/** The row with an alias, by default `t`. */
export function rowOf(type: EntityType, alias = sql`t`): RowSource {
  return { type, stored: true, self: (column) => sql`${alias}.${id(column)}` }
}

/** Parameters of every condition: the id of the caller, and the time of the request. */
export const ME = '$caller'
export const NOW = '$instant'
