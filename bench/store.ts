import type { Bound } from '../src/store/dialect.ts'
import type { Rows } from './fill.ts'

/** A kind of database to measure on. */
export interface BenchStore {
  /** What it is, and what it does so that nothing is lost. */
  describe(): Promise<string>
  /** The address of a database that is not there yet, or is empty. */
  make(name: string): Promise<Database>
  /** Takes away whatever was made. */
  close(): Promise<void>
}

export interface Database {
  /** As `--database` takes it. */
  readonly url: string
  /** Puts rows and their journal into it, far faster than any server could. No server may have it open. */
  fill(rows: Rows): Promise<void>
  /** The same tables, indexes and rows to the byte. No server may have it open. */
  copy(name: string): Promise<Database>
  /** What it means to do for a statement, a line each. */
  explain(text: string, values: readonly Bound[]): Promise<string>
  /** How many rows there are, beside a running server. */
  count(): Promise<Counts>
}

export interface Counts {
  readonly bookings: number
  readonly journal: number
}

export const COUNT = `SELECT (SELECT count(*) FROM "bookings") AS bookings, (SELECT count(*) FROM "takeback_journal") AS journal`

/** Where the limit creates without reading back. */
export const BLIND = '/api/bookings/blind/'
/** Before a path: the limit reads and sends the headers that Takeback does, and writes a line to a log. */
export const ALIKE = '/alike'
