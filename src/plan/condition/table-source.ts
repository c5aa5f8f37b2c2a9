import { id, param, type Sql } from '../../store/sql.ts'
import { ME } from './row-source.ts'

/** The tables and the caller that conditions read besides the row itself. */
export interface TableSource {
  /** The table of an Entity type, or a link table. */
  table(name: string): Sql
  /** The id of the caller. */
  readonly me: Sql
}

/** The tables as they are now, and the caller of the request. */
export const currentTables: TableSource = { table: id, me: param(ME) }
