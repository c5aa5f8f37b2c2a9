import type { Dialect, Params, Row } from '../dialect.ts'
import type { Sql } from '../sql.ts'
import type { Column, Index, Table, TableCheck } from '../tables.ts'

/** One transaction on the structure of a database. */
export interface DatabaseSession {
  all(source: Sql, params?: Params): Promise<readonly Row[]>
  run(source: Sql, params?: Params): Promise<void>
}

/** The differences between databases in the statements that change the structure. */
export interface Ddl {
  /** Creates `takeback_meta`, unless it exists. */
  readonly meta: Sql
  /** Creates the tables that only this database needs. */
  readonly extra: readonly Sql[]
  /** The names of all existing tables. */
  readonly tables: Sql
  /** A primary key column that the database numbers. */
  numbered(name: string): Sql
  /** Whether every index of a numbered table implicitly ends with that number. */
  readonly numberInIndexes: boolean
  readonly tableOptions: Sql
  /** The options of a table whose key consists of its own values. */
  readonly keyedOptions: Sql
  type(column: Column): Sql
  /** Whether references are added once all tables exist, instead of with their columns. */
  readonly referencesLater: boolean
  /** Converts a column to another kind that `conversions` permits. */
  convert(table: string, from: Column, to: Column): readonly Sql[]
  dropColumn(table: Table, column: Column): readonly Sql[]
  /** A suffix of DROP TABLE that also drops references to the table. */
  readonly withReferences: Sql
  /** Makes the database itself keep a link table in step with its list, whoever writes; and ends that. */
  keepLinks(list: LinkColumn): readonly Sql[]
  releaseLinks(list: LinkColumn): readonly Sql[]
  /** Keeps writers out of a table until the transaction ends, while others may read. */
  holdWriters(table: string): readonly Sql[]
  /** In an index, after a nullable column: that `null` sorts before any value, unless that is the default. */
  nulls(descending: boolean): Sql
  /** Creates a search index on the words in these columns; and drops it. */
  makeSearch(table: string, name: string, columns: readonly string[]): readonly Sql[]
  dropSearch(name: string): readonly Sql[]
  /** Whether an index can be renamed without a rebuild. */
  readonly renamesIndexes: boolean
  /** Renames a key in the JSON of the journal, for the rows that a condition selects. */
  renameKey(from: string, to: string): { readonly set: Sql; readonly where: Sql }
  dropKey(path: string): { readonly set: Sql; readonly where: Sql }
  /** The last number that a table has given, and how to continue after it. */
  lastGiven(table: string, column: string): Sql
  giveAfter(table: string, column: string, last: number): readonly Sql[]
}

/** A list of references: its column and its link table. */
export interface LinkColumn {
  readonly table: string
  readonly column: string
  readonly links: string
  /** The name of the reference in an item; empty if items are references. */
  readonly member: string
}

/** The structure of a database, and how to change it. */
export interface Structure {
  /** The name of the database, for people. */
  readonly place: string
  readonly dialect: Dialect
  readonly ddl: Ddl
  /**
   * Runs one transaction, alone among those that change the structure. `read` sees one state and changes nothing;
   * `rebuild` does not enforce references.
   */
  transact<T>(mode: 'read' | 'change' | 'rebuild', work: (session: DatabaseSession) => Promise<T>): Promise<T>
  /** Inserts rows with values as in JSON, all or none, outside of any other transaction. */
  insert(table: string, columns: readonly Column[], rows: readonly (readonly unknown[])[]): Promise<void>
  /** An identity that distinguishes this database from any copy: no copy, dump or restore takes it along. */
  origin(session: DatabaseSession): Promise<string>
  /** What the database itself finds wrong, and search indexes that do not match their tables: where, and what. */
  inspect(
    session: DatabaseSession,
    tables: readonly Table[],
  ): Promise<readonly (readonly [where: string, what: string])[]>
  /** Whether an error says that a unique index could not be created. */
  isTaken(error: unknown): boolean
}

/** The database and the transaction that a migration works in. */
export interface StructureSession {
  readonly structure: Structure
  readonly session: DatabaseSession
}

/** One change on the way from the present tables to those of the declaration. */
export type TableChange =
  | { readonly kind: 'rename table'; readonly from: string; readonly to: string }
  | {
      readonly kind: 'rename field'
      readonly table: string
      readonly from: string
      readonly to: string
      readonly columns: readonly (readonly [from: string, to: string])[]
    }
  | { readonly kind: 'rename links'; readonly from: LinkColumn; readonly to: LinkColumn }
  | { readonly kind: 'rename index'; readonly table: Table; readonly from: string; readonly index: Index }
  | { readonly kind: 'add table'; readonly table: Table }
  | {
      readonly kind: 'add column' | 'fill column'
      readonly table: Table
      readonly column: Column
      /** The number of rows that get a value. */
      readonly rows: number
    }
  | { readonly kind: 'set aside'; readonly table: Table; readonly column: Column }
  /** The column is declared again. */
  | { readonly kind: 'rejoin column'; readonly table: Table; readonly column: Column }
  | { readonly kind: 'end sessions'; readonly table: Table; readonly column: Column }
  | { readonly kind: 'drop column'; readonly table: Table; readonly column: Column }
  | { readonly kind: 'fill words'; readonly table: Table; readonly column: Column }
  | {
      readonly kind: 'convert column'
      readonly table: Table
      readonly from: Column
      readonly column: Column
      readonly rows: number
    }
  | { readonly kind: 'add index'; readonly table: Table; readonly index: Index }
  | { readonly kind: 'drop index'; readonly table: Table; readonly index: Index }

/** A check that existing rows must meet. */
export interface NewCheck {
  readonly table: Table
  readonly check: TableCheck
}

/** One line of a migration plan for people: what it does, or why it is refused. */
export interface MigrationLine {
  readonly effect: 'safe' | 'aside' | 'refused'
  /** An Entity type, or a dot path in it. */
  readonly path: string
  readonly what: string
  /** The number of rows concerned, if any; and the ids of the first rows that prevent it. */
  readonly rows?: number
  readonly ids?: readonly number[]
}

/** The name of an index. It depends on what is indexed, and fits the name limit of every database. */
export function indexName(table: string, index: Index): string {
  if (index.search) return searchName(table, index.columns)
  const kind = index.descending !== undefined ? 'sort' : index.unique ? 'unique' : 'index'
  return bounded(`${table}:${saidOf(index)}:${kind}`)
}

/** The name of a search index on the words in these columns. */
export function searchName(table: string, columns: readonly string[]): string {
  return bounded(`${table}:${columns.join('+')}:search`)
}

/** The keys of an index as they are declared, without the `id` that every sort ends with. */
export function saidOf({ columns, descending }: Index): string {
  if (descending === undefined) return columns.join('+')
  const keys = columns.map((name, at) => (descending[at] ? `-${name}` : name))
  const implied = columns.at(-1) === 'id' && descending.at(-1) === descending.at(-2)
  return (implied ? keys.slice(0, -1) : keys).join('+')
}

/** The index on `deletion`, which every table has, in the form of a declared one. */
export const ofDeletion: Index = Object.freeze({ columns: ['deletion'], unique: false })

export function deletionIndex(table: string): string {
  return bounded(`${table}:deletion`)
}

function bounded(name: string): string {
  return name.length <= 60 ? name : `${name.slice(0, 40)}:${Bun.hash(name).toString(36)}`
}
