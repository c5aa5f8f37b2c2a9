import type { Dialect, Params, Row } from '../dialect.ts'
import type { Sql } from '../sql.ts'
import type { Column, Index, Table, TableCheck } from '../tables.ts'

/** One transaction on the structure of a database. */
export interface DatabaseSession {
  all(source: Sql, params?: Params): Promise<readonly Row[]>
  run(source: Sql, params?: Params): Promise<void>
}

/** What differs between databases in the statements that change their structure. */
export interface Ddl {
  /** Makes `takeback_meta`, if it is not there. */
  readonly meta: Sql
  /** Makes the tables that only this database needs. */
  readonly extra: readonly Sql[]
  /** The names of all tables that are there. */
  readonly tables: Sql
  /** A column that the database numbers, and that is the key. */
  numbered(name: string): Sql
  /** Whether every index of a numbered table has that number behind its columns by itself. */
  readonly numberInIndexes: boolean
  readonly tableOptions: Sql
  /** The same for a table that has no other key than the values in it. */
  readonly keyedOptions: Sql
  type(column: Column): Sql
  /** Whether a reference is part of its column, or is added once all tables are there. */
  readonly referencesLater: boolean
  /** Makes a column hold its values as another kind, which `conversions` permits. */
  convert(table: string, from: Column, to: Column): readonly Sql[]
  dropColumn(table: Table, column: Column): readonly Sql[]
  /** Behind a DROP TABLE: what refers to it, which is dropped as well, does not hold it. */
  readonly withReferences: Sql
  /** Makes the database itself keep a link table as its list is, whoever writes it; and lets go of it again. */
  keepLinks(list: LinkColumn): readonly Sql[]
  releaseLinks(list: LinkColumn): readonly Sql[]
  /** Keeps writers out of a table for the rest of the transaction, while others may read. */
  holdWriters(table: string): readonly Sql[]
  /** In an index, behind a column that may be empty: that `null` is less than any value, unless that goes without saying. */
  nulls(descending: boolean): Sql
  /** What finds rows by the words in these columns, under a name; and how it goes. */
  makeSearch(table: string, name: string, columns: readonly string[]): readonly Sql[]
  dropSearch(name: string): readonly Sql[]
  /** Whether an index can be renamed without a rebuild. */
  readonly renamesIndexes: boolean
  /** In the JSON of the journal, for the rows that a condition picks. */
  renameKey(from: string, to: string): { readonly set: Sql; readonly where: Sql }
  dropKey(path: string): { readonly set: Sql; readonly where: Sql }
  /** The last number that a table has given to a row, and how to go on behind it. */
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
  /** Which database it is, for people. */
  readonly place: string
  readonly dialect: Dialect
  readonly ddl: Ddl
  /**
   * One transaction, alone among those that change the structure. `read` sees one state and changes nothing; `rebuild`
   * is not held to the references.
   */
  transact<T>(
    manner: 'read' | 'change' | 'rebuild',
    work: (session: DatabaseSession) => Promise<T>,
  ): Promise<T>
  /** Adds rows as JSON has them, all or none, outside of any other transaction. */
  insert(table: string, columns: readonly Column[], rows: readonly (readonly unknown[])[]): Promise<void>
  /** Tells this database from any copy of it: what stands here moves along with no copy, dump or restore. */
  origin(session: DatabaseSession): Promise<string>
  /** What the database itself finds wrong, and searches that do not fit these tables: where, and what. */
  inspect(
    session: DatabaseSession,
    tables: readonly Table[],
  ): Promise<readonly (readonly [where: string, what: string])[]>
  /** Whether an error says that a unique index could not be made. */
  isTaken(error: unknown): boolean
}

/** Where a migration works: the database, and its transaction. */
export interface Site {
  readonly structure: Structure
  readonly session: DatabaseSession
}

/** One step from the tables that a database holds to those that it should hold. */
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
      /** How many rows get a value by it. */
      readonly rows: number
    }
  | { readonly kind: 'set aside'; readonly table: Table; readonly column: Column }
  /** Is declared again. */
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

/** A check that rows which are already there must meet. */
export interface NewCheck {
  readonly table: Table
  readonly check: TableCheck
}

/** What a migration does, or why it does not, as a person reads it. */
export interface MigrationLine {
  readonly effect: 'safe' | 'aside' | 'refused'
  /** An Entity type, or a dot path in it. */
  readonly path: string
  readonly what: string
  /** How many rows it is about, where it is about rows; and the ids of the first of those that stand against it. */
  readonly rows?: number
  readonly ids?: readonly number[]
}

/** Names are told apart by what they index, and stay within what every database keeps of a name. */
export function indexName(table: string, index: Index): string {
  if (index.search) return searchName(table, index.columns)
  const kind = index.descending !== undefined ? 'sort' : index.unique ? 'unique' : 'index'
  return bounded(`${table}:${saidOf(index)}:${kind}`)
}

/** What finds rows by the words in these columns. */
export function searchName(table: string, columns: readonly string[]): string {
  return bounded(`${table}:${columns.join('+')}:search`)
}

/** What it is over, as it is declared; the `id` that every sort has behind it is left out. */
export function saidOf({ columns, descending }: Index): string {
  if (descending === undefined) return columns.join('+')
  const keys = columns.map((name, at) => (descending[at] ? `-${name}` : name))
  const implied = columns.at(-1) === 'id' && descending.at(-1) === descending.at(-2)
  return (implied ? keys.slice(0, -1) : keys).join('+')
}

/** Stands for the index that finds what a deletion took, which every table has. */
export const ofDeletion: Index = Object.freeze({ columns: ['deletion'], unique: false })

export function deletionIndex(table: string): string {
  return bounded(`${table}:deletion`)
}

function bounded(name: string): string {
  return name.length <= 60 ? name : `${name.slice(0, 40)}:${Bun.hash(name).toString(36)}`
}
