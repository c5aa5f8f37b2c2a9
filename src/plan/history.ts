import type { EntityType } from '../declare/model.ts'
import type { Dialect } from '../store/dialect.ts'
import { compile, count, param, type Statement, sql, word } from '../store/sql.ts'
import { JOURNAL } from './journal.ts'

/** What the journal says about one Entity. */
export interface HistoryPlan {
  /** By `$id`, before the version `$before`, newest first: version, kind, time, actor, actor's id, operation, JSON. */
  page(limit: number): Statement
  /** By `$id` and `$version`: the same. */
  readonly version: Statement
}

const columns = sql`j."version", j."kind", j."at", j."actor", j."actor_id", j."operation", j."data"`

export function compileHistory(type: EntityType, dialect: Dialect): HistoryPlan {
  const ofEntity = sql`FROM ${JOURNAL} j WHERE j."entity" = ${word(type.name)} AND j."entity_id" = ${param('$id')}`
  return {
    page: (limit) =>
      compile(
        sql`SELECT ${columns} ${ofEntity} AND j."version" < ${param('$before', 'integer')}
          ORDER BY j."version" DESC LIMIT ${count(limit)}`,
        dialect.placeholder,
      ),
    version: compile(
      sql`SELECT ${columns} ${ofEntity} AND j."version" = ${param('$version', 'integer')}`,
      dialect.placeholder,
    ),
  }
}
