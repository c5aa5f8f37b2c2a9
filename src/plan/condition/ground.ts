import { id, param, type Sql } from '../../store/sql.ts'
import { ME } from './row-source.ts'

/** Where conditions look beside the row at hand: in which tables, and who asks. */
export interface Ground {
  /** The table of an Entity type, or a link table. */
  table(name: string): Sql
  /** The id of the caller. */
  readonly me: Sql
}

/** The database as it is, and the caller of the request. */
export const today: Ground = { table: id, me: param(ME) }
