import { isPointing } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { id, param, type Sql, sql } from '../../store/sql.ts'
import type { BodyColumn } from '../tables/columns.ts'
import { lockRows } from '../tables/lock-rows.ts'

/** The bound value of a column. */
export function boundOf({ name, kind }: BodyColumn): Sql {
  return param(name, kind)
}

export function isReference({ field }: BodyColumn): boolean {
  return isPointing(field)
}

/** That a reference is null or its target live, and locked until the transaction ends. For a list: all targets. */
export function hasLiveTarget(column: BodyColumn, { lock, members }: Pick<Dialect, 'lock' | 'members'>): Sql {
  const { field, within } = column
  const value = boundOf(column)
  const stays = lock?.toStay ?? sql``
  if (field.kind === 'links') {
    const { rows, target } = members(value, field.member)
    const isLiveMember = sql`h."id" IN (SELECT ${target} FROM ${rows})
      AND h."deleted_at" IS NULL`
    return sql`(${lockRows(field.target, isLiveMember, stays)}) = (SELECT count(*) FROM ${rows})`
  }
  const target = field.kind === 'reference' ? field.target : ''
  const live = sql`EXISTS (SELECT 1 FROM ${id(target)} WHERE "id" = ${value} AND "deleted_at" IS NULL${stays})`
  return field.optional || within !== undefined ? sql`(${value} IS NULL OR ${live})` : live
}
