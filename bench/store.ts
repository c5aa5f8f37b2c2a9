import type { Bound } from '../src/store/dialect.ts'
import type { Rows } from './fill.ts'

/** A kind of database to measure on. */
export interface BenchStore {
  /** Describes the database and its durability. */
  describe(): Promise<string>
  /** Returns a database that does not exist yet, or is empty. */
  make(name: string): Promise<Database>
  /** Removes everything that was made. */
  close(): Promise<void>
}

export interface Database {
  /** The address, as `--database` takes it. */
  readonly url: string
  /** Inserts rows and their journal, far faster than any server could. No server may have it open. */
  fill(rows: Rows): Promise<void>
  /** Copies it: tables, indexes and rows are the same to the byte. No server may have it open. */
  copy(name: string): Promise<Database>
  /** Returns the query plan of a statement, line by line. */
  explain(text: string, values: readonly Bound[]): Promise<string>
  /** Counts rows, even while a server runs. */
  count(): Promise<Counts>
}

export interface Counts {
  readonly bookings: number
  readonly journal: number
}

export const COUNT = `SELECT (SELECT count(*) FROM "bookings") AS bookings, (SELECT count(*) FROM "takeback_journal") AS journal`

/** The path at which the limit server creates without reading back. */
export const BLIND = '/api/bookings/blind/'
/** The prefix of paths at which the limit server reads and sends Takeback's headers, and writes a log. */
export const LIKE_TAKEBACK = '/like-takeback'
