import type { EntityType } from '../../declare/model.ts'
import type { Dialect, Journalling } from '../../store/dialect.ts'
import { id, param, quoted, type Sql, sql } from '../../store/sql.ts'
import { renderEntity } from '../tables/render.ts'

export const JOURNAL = id('takeback_journal')

/** Joins a row `j` of the journal with the version before it, `b`, if there is one. */
export const FORMER = sql`LEFT JOIN ${JOURNAL} b
  ON b."entity" = j."entity" AND b."entity_id" = j."entity_id" AND b."version" = j."version" - 1`

/** The kinds of changes of Entities. The journal also has `migrate`, for a whole type; its `entity_id` is 0. */
export type ChangeKind = 'create' | 'update' | 'delete' | 'restore' | 'purge'

const COLUMNS = sql`"operation", "at", "actor", "actor_id", "entity", "entity_id", "version", "kind", "data", "deletion", "via", "cause"`

/** Writes the present state of the Entities of `source` (tables with the alias `t`, and a condition) to the journal. */
export function journal(type: EntityType, kind: ChangeKind | Sql, dialect: Dialect, source: Sql): Sql {
  const data = kind === 'purge' ? sql`NULL` : renderEntity(type, dialect)
  const row = journalRow(type, kind, {
    at: sql`t."updated_at"`,
    id: sql`t."id"`,
    version: sql`t."version"`,
    data,
    deletion: sql`t."deletion"`,
  })
  return sql`INSERT INTO ${JOURNAL} (${COLUMNS})
    SELECT ${row}
    FROM ${source}`
}

/** Writes one change to the journal. Returns id, version and JSON, so that clients get what the journal has. */
export function journalling(type: EntityType, kind: ChangeKind, dialect: Dialect): Journalling {
  const kept = ['$journal_id', '$journal_version', '$journal_data', '$journal_at', '$journal_deletion']
  const [id, version, data, at, deletion] = kept.map((name) => param(name)) as [Sql, Sql, Sql, Sql, Sql]
  return {
    inOne: (source) => sql`${journal(type, kind, dialect, source)} RETURNING "entity_id", "version", "data"`,
    read: (source) =>
      sql`SELECT t."id", t."version", ${renderEntity(type, dialect)}, t."updated_at", t."deletion" FROM ${source}`,
    write: sql`INSERT INTO ${JOURNAL} (${COLUMNS})
      VALUES (${journalRow(type, kind, { at, id, version, data, deletion })})`,
    kept,
  }
}

interface Journalled {
  readonly at: Sql
  readonly id: Sql
  readonly version: Sql
  readonly data: Sql
  readonly deletion: Sql
}

/** The values of a row, in the order of the columns. */
function journalRow(
  type: EntityType,
  kind: ChangeKind | Sql,
  { at, id, version, data, deletion }: Journalled,
): Sql {
  const said = typeof kind === 'string' ? quoted(kind) : kind
  return sql`${param('$operation')}, ${at}, ${param('$actor')}, ${param('$actor_id')}, ${quoted(type.name)}, ${id}, ${version}, ${said}, ${data}, ${deletion}, ${param('$via')}, ${param('$cause')}`
}
