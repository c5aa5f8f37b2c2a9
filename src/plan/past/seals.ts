import { type EntityType, walk } from '../../declare/model.ts'
import { isSecret } from '../../declare/values.ts'
import type { Dialect } from '../../store/dialect.ts'
import { compile, id, join, param, quoted, type Sql, type Statement, sql } from '../../store/sql.ts'
import { type Step, step } from '../../store/step.ts'

/**
 * Former hashes of secrets, encrypted. An undo takes them from here, since the journal never has them. `version` is the
 * last version with the value: at version 3 a secret had the value of the first row from 3 on, or else the present one.
 */
const SEALED = id('takeback_sealed')

/** The sealed secrets of one type. */
export interface SealsPlan {
  /** The dot paths of the secrets, which are also their columns. */
  readonly columns: readonly string[]
  /** By `$id`, if it is live: version, then the hash of each secret. */
  readonly current: Statement
  /** By `$ids`, live or deleted: id, version, then the hash of each secret. */
  readonly now: Statement
  /** Stores the rows that are bound as `sealedName`: id, column, version, value. */
  readonly keep: Step
  /** By `$ids`, oldest first: id, column, version, value. */
  readonly former: Statement
}

/** The parameter of a type's seals: one transaction may seal secrets of several types. */
export const sealedName = (type: string) => `$sealed ${type}`

export function compileSeals(type: EntityType, dialect: Dialect): SealsPlan | undefined {
  const columns = [...walk(type.fields)].filter(isSecret).map(({ path }) => path)
  if (columns.length === 0) return undefined
  const values = join(columns.map((column) => sql`t.${id(column)}`))
  const rows = dialect.rows(sealedName(type.name), [
    { name: 'id', kind: 'integer' },
    { name: 'column', kind: 'text' },
    { name: 'version', kind: 'integer' },
    { name: 'value', kind: 'text' },
  ])
  return {
    columns,
    current: compile(
      sql`SELECT t."version", ${values} FROM ${id(type.name)} t WHERE t."id" = ${param('$id')} AND t."deleted_at" IS NULL`,
      dialect.placeholder,
    ),
    now: compile(
      sql`SELECT t."id", t."version", ${values} FROM ${id(type.name)} t WHERE ${dialect.isListed(sql`t."id"`, '$ids')}`,
      dialect.placeholder,
    ),
    // On conflict, a concurrent update has sealed the same value. This update will be refused.
    keep: step(
      dialect,
      'seal',
      'any',
      sql`INSERT INTO ${SEALED} ("entity", "entity_id", "column", "version", "value")
        SELECT ${quoted(type.name)}, s."id", s."column", s."version", s."value" FROM ${rows} s WHERE 1 = 1 ON CONFLICT DO NOTHING`,
    ),
    former: compile(
      sql`SELECT s."entity_id", s."column", s."version", s."value" FROM ${SEALED} s
        WHERE s."entity" = ${quoted(type.name)} AND ${dialect.isListed(sql`s."entity_id"`, '$ids')} ORDER BY s."version"`,
      dialect.placeholder,
    ),
  }
}

/** Deletes the seals of the journal rows `p` in `cut`. */
export function cutSeals(cut: Sql): Sql {
  return sql`DELETE FROM ${SEALED} WHERE EXISTS (SELECT 1 FROM (SELECT p."entity" AS "e", p."entity_id" AS "i", p."version" AS "v" ${cut}) c
    WHERE c."e" = ${SEALED}."entity" AND c."i" = ${SEALED}."entity_id" AND c."v" = ${SEALED}."version")`
}
