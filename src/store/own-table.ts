import type { ColumnKind } from '../declare/fields/field.ts'
import type { Sql } from './sql.ts'

export interface OwnColumn {
  readonly name: string
  readonly kind: ColumnKind
  readonly required: boolean
  /** The first format that has it; 1 if left out. A column that comes later cannot be required. */
  readonly since?: number
}

export interface OwnIndex {
  /** Behind the name of the table. */
  readonly name: string
  readonly columns: readonly string[]
  readonly unique?: boolean
  /** A column: rows without a value in it are left out. */
  readonly with?: string
  /** The first format that has it; 1 if left out. */
  readonly since?: number
  /** What it was over in the formats before `since`. */
  readonly was?: readonly string[]
}

/** A table of Takeback's own, the same on every database. */
export interface OwnTable {
  readonly name: string
  /** What it is for, for readers of this file. */
  readonly about: string
  readonly columns: readonly OwnColumn[]
  readonly key: readonly string[]
  /** Whether the database numbers the key. */
  readonly numbered?: boolean
  /** Whether its rows can be large. */
  readonly wide?: boolean
  readonly indexes?: readonly OwnIndex[]
  readonly since?: number
  /** The format in which its key changed: an older table is rebuilt. */
  readonly rekeyed?: number
  /** What must be done to the data of an older format that does not have the table. */
  readonly upgrade?: Sql
}

/** Makes columns of each kind. */
export const columnMakers = {
  text: (name: string): OwnColumn => ({ name, kind: 'text', required: true }),
  integer: (name: string): OwnColumn => ({ name, kind: 'integer', required: true }),
  time: (name: string): OwnColumn => ({ name, kind: 'datetime', required: true }),
  optional: (column: OwnColumn): OwnColumn => ({ ...column, required: false }),
} as const
