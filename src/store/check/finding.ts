import type { Params, Row } from '../dialect.ts'
import type { Metadata } from '../migration/metadata.ts'
import type { DatabaseSession, Structure } from '../migration/structure.ts'
import { intLiteral, type Sql, sql } from '../sql.ts'

/** Something that is inconsistent. */
export interface Finding {
  readonly kind: 'database' | 'entity' | 'journal' | 'link' | 'words' | 'reference' | 'own'
  /** An Entity, a table or an index. */
  readonly where: string
  readonly what: string
}

/** One state of a database, as checks read it. */
export interface Checked {
  readonly structure: Structure
  readonly session: DatabaseSession
  readonly metadata: Metadata
}

/** The maximum number of findings of one kind per table. */
export const NAMED_MAX = 100

/** Reports each row of a query that must not find any. */
export async function findRows(
  { session }: Checked,
  source: Sql,
  finding: (row: Row) => Finding,
  params: Params = {},
): Promise<Finding[]> {
  return (await session.all(sql`${source} LIMIT ${intLiteral(NAMED_MAX)}`, params)).map(finding)
}
