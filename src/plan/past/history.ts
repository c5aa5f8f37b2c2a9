import { budget } from '../../budget.ts'
import type { EntityType } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import { namedColumns } from '../../store/named-columns.ts'
import { compile, id, intLiteral, param, quoted, type Statement, sql } from '../../store/sql.ts'
import { fittingRows } from '../tables/bytes.ts'
import { renderEntity } from '../tables/render.ts'
import { journalledActor } from '../viewer/actor.ts'
import { JOURNAL } from './journal.ts'

const ofVersion = {
  version: sql`j."version"`,
  kind: sql`j."kind"`,
  at: sql`j."at"`,
  actor: journalledActor(sql`j`),
  cause: sql`j."cause"`,
  operation: sql`j."operation"`,
  data: sql`j."data"`,
}
const deletion = sql`j."deletion"`

/** A version of an Entity in the journal. `data`: its JSON. `deletion`: the operation that had deleted it then. */
export const versionColumns = namedColumns(ofVersion)
export const sinceColumns = namedColumns({ ...ofVersion, deletion })
/** A version on a page. `picked`: how many there are up to the limit. */
export const pageColumns = namedColumns({ ...ofVersion, picked: sql`f."picked"` })
const { version, kind, operation } = ofVersion
export const kindColumns = namedColumns({ version, kind, operation, deletion })

/** What the journal says about one Entity. */
export interface HistoryPlan {
  /** By `$id`, before the version `$before`, newest first: `pageColumns`. Only as many as an answer has room for. */
  page(limit: number): Statement
  /** By `$id` and `$version`: `versionColumns`. */
  readonly version: Statement
  /** By `$id`, from the version `$version` on, oldest first: `sinceColumns`. */
  since(limit: number): Statement
  /** By `$id`, newest first: `kindColumns`. */
  kinds(limit: number): Statement
  /** By `$id`, after the version `$version`, newest first: the operation of each. */
  readonly operationsSince: Statement
  /** By `$ids`, as they are now: id, version, the operation that deleted it, JSON. */
  readonly now: Statement
}

export function compileHistory(type: EntityType, dialect: Dialect): HistoryPlan {
  const ofEntity = (alias: 'j' | 'k', before = sql``) => {
    const row = { parts: [alias] }
    return sql`FROM ${before}${JOURNAL} ${row} WHERE ${row}."entity" = ${quoted(type.name)} AND ${row}."entity_id" = ${param('$id')}`
  }
  const fitting = (limit: number) =>
    fittingRows(
      sql`SELECT k."version" AS "key", ${dialect.bytes(sql`k."data"`, 'text')} AS "bytes" ${ofEntity('k')}
        AND k."version" < ${param('$before', 'integer')} ORDER BY k."version" DESC LIMIT ${intLiteral(limit)}`,
      sql`p."key" DESC`,
    )
  return {
    page: (limit) =>
      compile(
        sql`SELECT ${pageColumns.sql} ${ofEntity('j', sql`(${fitting(limit)}) f, `)} AND j."version" = f."key" ORDER BY j."version" DESC`,
        dialect.placeholder,
      ),
    version: compile(
      sql`SELECT ${versionColumns.sql} ${ofEntity('j')} AND j."version" = ${param('$version', 'integer')}`,
      dialect.placeholder,
    ),
    since: (limit) =>
      compile(
        sql`SELECT ${sinceColumns.sql} ${ofEntity('j')} AND j."version" >= ${param('$version', 'integer')}
          ORDER BY j."version" LIMIT ${intLiteral(limit)}`,
        dialect.placeholder,
      ),
    kinds: (limit) =>
      compile(
        sql`SELECT ${kindColumns.sql} ${ofEntity('j')} ORDER BY j."version" DESC LIMIT ${intLiteral(limit)}`,
        dialect.placeholder,
      ),
    operationsSince: compile(
      sql`SELECT j."operation" ${ofEntity('j')} AND j."version" > ${param('$version', 'integer')}
        ORDER BY j."version" DESC LIMIT ${intLiteral(budget.undoOperations)}`,
      dialect.placeholder,
    ),
    now: compile(
      sql`SELECT t."id", t."version", t."deletion", ${renderEntity(type, dialect)} FROM ${id(type.name)} t
        WHERE t."id" IN ${dialect.listed('$ids', 'integer')}`,
      dialect.placeholder,
    ),
  }
}
