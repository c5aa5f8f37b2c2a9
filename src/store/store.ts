import type { ColumnKind } from '../declare/fields/field.ts'
import { compile, type ParamKind, type Sql, type Statement } from './sql.ts'

/** A value as it is bound to a statement, or as it comes back. */
export type Bound = string | number | bigint | null
export type Row = readonly Bound[]

/**
 * The values of one transaction by name: dot paths for an Entity's own, `$…` for the rest.
 * `$at` is the Store's to fill in, when the transaction runs.
 */
export type Bag = Record<string, Bound>

/**
 * One step of a transaction. `some`: it must find or change a row; `none`: it must find none;
 * otherwise the whole transaction is refused, and nothing of it stays.
 */
export interface Step {
  readonly name: string
  readonly statement: Statement
  readonly expect: 'some' | 'none' | 'any'
  /** What it gives back is what later steps of the transaction find under `dialect.noted`. */
  readonly notes?: boolean
}

/** A step that is refused because others were faster, so that all of the transaction is to be tried again. */
export const LATE = 'late'

/** `unique` as the step: a value that must be unique is taken. */
export type Outcome =
  | { readonly done: true; readonly rows: readonly Row[] }
  | { readonly done: false; readonly step: string; readonly rows: readonly Row[] }

/** One way on from what was reached: rows of `table` whose `column` points at a reached row of type `from`. */
export interface Arm {
  readonly from: number
  readonly to: number
  readonly table: string
  readonly column: string
  /** What a row, called `c`, must fulfil besides. */
  readonly condition: Sql
}

export function step(
  dialect: Dialect,
  name: string,
  expect: Step['expect'],
  source: Sql,
  more: { readonly notes?: boolean } = {},
): Step {
  return { name, expect, statement: compile(source, dialect.placeholder), ...more }
}

/** What differs between databases in the text of a statement. */
export interface Dialect {
  placeholder(position: number, kind: ParamKind): string
  /** From a value's normal form to what is bound. */
  encode(kind: ColumnKind, scale: number): (value: unknown) => Bound
  /** A column's value as JSON, for `object`. */
  render(kind: ColumnKind, column: Sql, scale: number): Sql
  object(members: readonly (readonly [key: string, value: Sql])[]): Sql
  array(items: readonly Sql[]): Sql
  /** Steps that change rows of a table, then write them down: `which` picks the changed rows, `last` the inserted one. */
  journalled(change: Sql, table: string, which: Sql | 'last', journal: (source: Sql) => Sql): readonly Sql[]
  /** The rows (`type`, `id`) that the arms reach from the root, at any depth, each once. */
  closure(root: Sql, arms: readonly Arm[]): Sql
  /** What the running transaction keeps in mind: rows (`type`, `id`). How to forget all, add some, and find those of a type. */
  readonly forget: readonly Sql[]
  note(rows: Sql): Sql
  noted(type: number): Sql
  /** Now, and now for a row that has been changed before: never less than then. */
  readonly now: Sql
  later(than: Sql): Sql
  /** Behind a query: what it finds stays as it is until the transaction ends. Empty where transactions run one at a time. */
  readonly lock: { readonly toChange: Sql; readonly toStay: Sql } | undefined
}

export interface Column {
  readonly name: string
  readonly kind: ColumnKind
  readonly references?: string
  /** Digits behind the point, of a decimal: what is kept depends on it. */
  readonly scale?: number
  /** Holds hashes, and must never be shown. */
  readonly secret?: boolean
  /** Every Entity must have a value here. */
  readonly required?: boolean
  /** May be empty all the same. */
  readonly optional?: boolean
  /** The column of the optional object that it is in: what is required, is so only where that is there. */
  readonly within?: string
  /** No longer declared, but still there. */
  readonly aside?: boolean
  /** The value that rows which are already there get, when the column is new; not yet encoded. */
  readonly fill?: unknown
}

export interface Index {
  readonly columns: readonly string[]
  /** Unique among the live. */
  readonly unique: boolean
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly indexes: readonly Index[]
}

/** A database that executes what was planned. */
export interface Store {
  readonly dialect: Dialect
  /** Grows with what was committed, by this process and as far as it can tell by others: whoever remembers something looks again when it has. */
  readonly commits: number
  /**
   * Brings the database to these tables, or refuses with a StartError and changes nothing.
   * Gives back all that it then holds, what is no longer declared included.
   */
  migrate(tables: readonly Table[]): Promise<readonly Table[]>
  read(statement: Statement, bag: Bag): Promise<readonly Row[]>
  /** One transaction. When the promise is fulfilled with `done`, it is on disk. */
  write(steps: readonly Step[], bag: Bag): Promise<Outcome>
  /** After values were erased: leaves no copy of them in files that only the Store knows. */
  scrub(): Promise<void>
  /** Throws where the database does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}
