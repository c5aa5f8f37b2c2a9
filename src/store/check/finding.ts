import type { Params, Row } from '../dialect.ts'
import type { Memory } from '../migration/memory.ts'
import type { DatabaseSession, Structure } from '../migration/structure.ts'
import { count, type Sql, sql } from '../sql.ts'

/** Something that does not fit, by name. */
export interface Finding {
  readonly kind: 'database' | 'entity' | 'journal' | 'link' | 'words' | 'reference' | 'own'
  /** An Entity, a table or an index. */
  readonly where: string
  readonly what: string
}

/** What a check looks at: one state of a database. */
export interface Checked {
  readonly structure: Structure
  readonly session: DatabaseSession
  readonly memory: Memory
}

/** How many findings of one kind in one table are named. */
export const NAMED_MAX = 100

/** The rows of a query, which must have none, as findings. */
export async function findRows(
  { session }: Checked,
  source: Sql,
  finding: (row: Row) => Finding,
  params: Params = {},
): Promise<Finding[]> {
  return (await session.all(sql`${source} LIMIT ${count(NAMED_MAX)}`, params)).map(finding)
}
