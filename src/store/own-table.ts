import type { ColumnKind } from '../declare/fields/field.ts'
import type { Sql } from './sql.ts'

export interface OwnColumn {
  readonly name: string
  readonly kind: ColumnKind
  readonly required: boolean
  /** The first format that has it; default 1. A column that comes later cannot be required. */
  readonly since?: number
  /**
   * How a text names Entity types, so that renames reach it: in these ways, or in a way that needs a function (`byHand`
   * in `migration/type-names.ts`). Columns called `entity` need none: they are the name.
   */
  readonly names?: readonly TypeNaming[] | 'by hand'
}

/** A way to name an Entity type in a text. */
export interface TypeNaming {
  /** The text around the name; `*` is the name. */
  readonly text: string
  /** Whether it is the whole text, its beginning, or anywhere in it. */
  readonly at: 'whole' | 'start' | 'anywhere'
  /** Whether only login types are named like this. `keys/7` is then a key, not an Entity of a type `keys`. */
  readonly users?: boolean
}

export interface OwnIndex {
  /** The suffix after the name of the table. */
  readonly name: string
  readonly columns: readonly string[]
  readonly unique?: boolean
  /** A column: only rows with a value in it are indexed. */
  readonly with?: string
  /** The first format that has it; default 1. */
  readonly since?: number
  /** Its columns in the formats before `since`. */
  readonly was?: readonly string[]
}

/** A table of Takeback's own, the same on every database. */
export interface OwnTable {
  readonly name: string
  /** Its purpose, for readers of this file. */
  readonly about: string
  readonly columns: readonly OwnColumn[]
  readonly key: readonly string[]
  /** Whether the database numbers the key. */
  readonly numbered?: boolean
  /** Whether its rows can be large. */
  readonly wide?: boolean
  readonly indexes?: readonly OwnIndex[]
  readonly since?: number
  /** The format in which its key changed. An older table is rebuilt. */
  readonly rekeyed?: number
  /** The change to the data of an older format, which does not have the table. */
  readonly upgrade?: Sql
}

/** How the server's own JSON names types: as `entity`, or in the name of a reaction. Other quotes are escaped. */
export const inJson: readonly TypeNaming[] = [
  { text: '"entity":"*"', at: 'anywhere' },
  { text: '"reaction":"*.', at: 'anywhere' },
]

/** Functions that make columns of each kind. */
export const columnMakers = {
  text: (name: string): OwnColumn => ({ name, kind: 'text', required: true }),
  integer: (name: string): OwnColumn => ({ name, kind: 'integer', required: true }),
  time: (name: string): OwnColumn => ({ name, kind: 'datetime', required: true }),
  optional: (column: OwnColumn): OwnColumn => ({ ...column, required: false }),
} as const
