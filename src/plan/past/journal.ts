import type { EntityType } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { id, param, type Sql, sql, word } from '../../store/sql.ts'
import { renderEntity } from '../tables/render.ts'

export const JOURNAL = id('takeback_journal')

/** Behind a row of the journal, called `j`: the version before it, called `b`, if there is one. */
export const FORMER = sql`LEFT JOIN ${JOURNAL} b
  ON b."entity" = j."entity" AND b."entity_id" = j."entity_id" AND b."version" = j."version" - 1`

/** Of Entities. The journal also has `migrate`: of a whole type, whose `entity_id` is 0. */
export type ChangeKind = 'create' | 'update' | 'delete' | 'restore' | 'purge'

/** Writes down the Entities of `source` (a table or join with the alias `t`, and its condition) as they now stand. */
export function journal(type: EntityType, kind: ChangeKind | Sql, dialect: Dialect, source: Sql): Sql {
  const data = kind === 'purge' ? sql`NULL` : renderEntity(type, dialect)
  return sql`INSERT INTO ${JOURNAL} ("operation", "at", "actor", "actor_id", "entity", "entity_id", "version", "kind", "data", "deletion")
    SELECT ${param('$operation')}, t."updated_at", ${param('$actor')}, ${param('$actor_id')}, ${word(type.name)}, t."id", t."version", ${typeof kind === 'string' ? word(kind) : kind}, ${data}, t."deletion"
    FROM ${source}`
}

/** The same, answering with the id and the JSON that was written down: what the client gets is what the journal has. */
export function journalAndReturn(type: EntityType, kind: ChangeKind, dialect: Dialect, source: Sql): Sql {
  return sql`${journal(type, kind, dialect, source)} RETURNING "entity_id", "version", "data"`
}
