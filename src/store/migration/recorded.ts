import { compile, sql } from '../sql.ts'
import type { Store } from '../store.ts'
import type { Table } from '../tables.ts'
import { columnPath } from './draft.ts'

/** What a database records about its structure. */
export interface RecordedStructure {
  readonly format: number
  readonly generation: number
  /** The fingerprint of the declaration that it was last migrated to. */
  readonly fingerprint: string
  /** The paths of data that is no longer declared but kept. */
  readonly aside: readonly string[]
}

export async function readStructure(store: Store): Promise<RecordedStructure> {
  const rows = await store.read(
    compile(
      sql`SELECT "key", "value" FROM "takeback_meta" WHERE "key" IN ('format', 'generation', 'fingerprint', 'schema')`,
      store.dialect.placeholder,
    ),
    {},
  )
  const values = new Map(rows.map(([key, value]) => [String(key), String(value)]))
  const tables = JSON.parse(values.get('schema') ?? '[]') as Table[]
  return {
    format: Number(values.get('format')),
    generation: Number(values.get('generation') ?? 0),
    fingerprint: values.get('fingerprint') ?? '',
    aside: tables.flatMap(asideIn),
  }
}

/** The aside paths of a table; the table itself if nothing of it is declared. */
function asideIn(table: Table): string[] {
  const aside = table.columns.filter((column) => column.aside && column.words === undefined)
  if (aside.length === 0) return []
  const isWhole = table.columns.every((column) => column.aside)
  return isWhole ? [table.name] : aside.map((column) => columnPath(table, column))
}
