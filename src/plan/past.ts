import type { EntityType } from '../declare/model.ts'
import type { Dialect } from '../store/dialect.ts'
import { id, join, param, type Sql, sql, word } from '../store/sql.ts'
import { bodyColumns, ownColumns } from './columns.ts'
import { JOURNAL } from './journal.ts'

/** The name in the bag of the time that is asked about. */
export const AS_OF = '$as_of'

/**
 * A type's table as it stood at a time, read from the journal: whoever selects from it need not know. Each Entity asks
 * for its own last change before that time.
 */
export function tableAsOf(type: EntityType, dialect: Dialect): Sql {
  const data = sql`j."data"`
  const time = param(AS_OF, 'datetime')
  const deleted = dialect.extract(data, 'deleted_at', 'datetime', 0)
  const { id: _, ...own } = ownColumns
  const columns = [
    ...Object.entries(own).map(([name, kind]) => ({ name, kind, scale: 0 })),
    ...bodyColumns(type.fields).filter(({ secret }) => !secret),
  ].map(({ name, kind, scale }) => sql`, ${dialect.extract(data, name, kind, scale)} AS ${id(name)}`)
  const before = (alias: Sql) =>
    sql`${alias}."entity" = ${word(type.name)} AND ${alias}."entity_id" = e."id" AND ${alias}."at" <= ${time}`
  return sql`(SELECT e."id" AS "id"${join(columns, sql``)}, CASE WHEN ${deleted} IS NOT NULL THEN '' END AS "deletion"
    FROM ${dialect.withNewest(sql`${id(type.name)} e`, JOURNAL, before)}
    WHERE e."created_at" <= ${time} AND ${data} IS NOT NULL)`
}
