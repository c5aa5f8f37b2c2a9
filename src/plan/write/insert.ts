import type { ColumnKind } from '../../declare/fields/field.ts'
import type { EntityType } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { and, id, join, param, type Sql, sql } from '../../store/sql.ts'
import type { RowSource } from '../condition/row-source.ts'
import { type BodyColumn, ownColumns } from '../tables/columns.ts'
import { EMAIL_KEY, TOKEN_EPOCH } from '../tables/schema.ts'
import { boundOf, hasLiveTarget, isReference } from './targets.ts'

/** Inserts a row, if every target is live and all of `more` holds. */
export function insertSql(
  type: EntityType,
  columns: readonly BodyColumn[],
  dialect: Dialect,
  more: readonly Sql[],
): Sql {
  const values: (readonly [Sql, Sql])[] = [
    ...columns.map((column) => [id(column.name), boundOf(column)] as const),
    ...columns.flatMap(({ derived }) => derived.map(({ name }) => [id(name), param(name)] as const)),
    ...(type.login === undefined
      ? []
      : [
          [id(EMAIL_KEY), param(EMAIL_KEY)] as const,
          [id(TOKEN_EPOCH), param(TOKEN_EPOCH, 'integer')] as const,
        ]),
    [id('version'), sql`1`],
    [id('created_at'), dialect.now],
    [id('updated_at'), dialect.now],
  ]
  const guards = [
    ...(dialect.fence === undefined ? [] : [dialect.fence]),
    ...columns.filter(isReference).map((one) => hasLiveTarget(one, dialect)),
    ...more,
  ]
  return sql`INSERT INTO ${id(type.name)} (${join(values.map(([name]) => name))})
    SELECT ${join(values.map(([, value]) => value))}${guards.length === 0 ? sql`` : sql` WHERE ${and(guards)}`}`
}

/** A new Entity, from the parameters. Its id and times are not bound, so they are typed nulls. */
export function newRow(type: EntityType, columns: readonly BodyColumn[], dialect: Dialect): RowSource {
  const kinds = new Map<string, ColumnKind>([
    ...Object.entries(ownColumns),
    ...columns.map(({ name, kind }) => [name, kind] as const),
  ])
  const bound = (column: string, kind: ColumnKind = 'text') => dialect.literal(param(column, kind), kind)
  return { type, stored: false, self: (column) => bound(column, kinds.get(column)) }
}
