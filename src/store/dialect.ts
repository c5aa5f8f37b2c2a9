import type { Arithmetic, TimePart } from '../declare/cel/expression.ts'
import type { ColumnKind } from '../declare/fields/field.ts'
import type { Period } from '../declare/period.ts'
import type { ParamKind, Sql } from './sql.ts'

/** A value of a parameter or of a result. */
export type Bound = string | number | bigint | null
export type Row = readonly Bound[]

/**
 * The values of one transaction by name: dot paths for an Entity's own values, `$…` for the rest. The Store sets `$at`
 * when the transaction runs.
 */
export type Params = Record<string, Bound>

/** One edge of a closure: rows of `table` whose `column`, or whose `links`, point at a reached row of type `from`. */
export interface Arm {
  readonly from: number
  readonly to: number
  readonly table: string
  readonly column: string
  /** The link table, if it is a list. */
  readonly links: string | undefined
  /** A condition on the row `c`. */
  readonly condition: Sql
}

/** How to write a changed row to the journal: in one statement, or by reading it first. */
export interface Journalling {
  /** Writes the rows of `source` to the journal and returns them. */
  inOne(source: Sql): Sql
  read(source: Sql): Sql
  /** Writes the row that `read` has found. Its values are bound by the names of `kept`. */
  readonly write: Sql
  readonly kept: readonly string[]
}

/** A statement of a change; `keeps` as in a Step. */
export interface ChangeStep {
  readonly source: Sql
  readonly keeps?: readonly string[]
}

/** The SQL of a number, and its decimal places. */
export interface NumberSql {
  readonly value: Sql
  readonly scale: number
}

/**
 * Arithmetic, the same on every database. An impossible result is null and never an error, in whatever order conditions
 * are evaluated: integers beyond 2^53, decimals beyond 18 digits, numbers beyond `NUMBER_MOST`, a division by zero.
 */
export interface NumbersSql {
  /** Division and remainder are truncated towards zero. */
  integer(how: Arithmetic, left: Sql, right: Sql): Sql
  number(how: Arithmetic, left: Sql, right: Sql): Sql
  /** Operands may have fewer decimal places than the result, or none. Only a quotient is rounded. */
  decimal(how: Arithmetic, left: NumberSql, right: NumberSql, scale: number): Sql
  /** An integer or a decimal with more decimal places. `bounded`: null if it then has more than 18 digits. */
  toScale(of: NumberSql, scale: number, bounded: boolean): Sql
  /** A decimal with fewer decimal places, rounded half away from zero. */
  roundDecimal(of: NumberSql, scale: number): Sql
  /** A number by the digits that JSON shows, rounded half away from zero: as an integer or a decimal. */
  roundNumber(value: Sql, kind: 'integer' | 'decimal', scale: number): Sql
  /** How a number compares with a decimal, by the digits that JSON shows: -1, 0 or 1. */
  order(number: Sql, decimal: NumberSql): Sql
  /** The least or the greatest of several values of one kind; null if one of them is. */
  extreme(op: 'min' | 'max', values: readonly Sql[]): Sql
}

/** The differences between databases in the SQL of statements. */
export interface Dialect {
  readonly numbers: NumbersSql
  placeholder(position: number, kind: ParamKind): string
  /** Converts a value in its normal form to what is bound. */
  encode(kind: ColumnKind, scale: number): (value: unknown) => Bound
  /** A bound value or a constant, with the SQL type of its kind, so that it compares like a column. */
  literal(value: Sql, kind: ColumnKind): Sql
  /** A column's value as JSON, for `object`. */
  render(kind: ColumnKind, column: Sql, scale: number): Sql
  /** The inverse of `render`: the value of a column of this kind, from a dot path in the JSON. */
  extract(json: Sql, path: string, kind: ColumnKind, scale: number): Sql
  /** Whether the JSON does not have the key at all, not even with `null`. */
  isAbsent(json: Sql, path: string): Sql
  /** An exact sum of whole numbers and decimals, as a text that `summaryOf` reads. */
  sum(value: Sql, kind: ColumnKind): Sql
  /** Aggregates to sort by, most significant first: for an exact sum, and for an average. */
  sumOrder(value: Sql, kind: ColumnKind): readonly Sql[]
  average(value: Sql, kind: ColumnKind, scale: number): Sql
  /** The items of a JSON list as rows, and a value in an item: at a dot path, or the item itself. */
  items(list: Sql, alias: Sql): Sql
  itemOf(alias: Sql, path: string, kind: ColumnKind, scale: number): Sql
  /** The length of a text or of JSON, in bytes. */
  bytes(column: Sql, kind: 'text' | 'json'): Sql
  /** The number of items in a JSON list. */
  lengthOf(list: Sql): Sql
  /** Whether a text begins with another, ends with it, or contains it. */
  startsWith(text: Sql, part: Sql): Sql
  endsWith(text: Sql, part: Sql): Sql
  contains(text: Sql, part: Sql): Sql
  /** A text with its ASCII letters in lower case. */
  lower(text: Sql): Sql
  /** A time shifted by milliseconds, and the date of a time. */
  shift(time: Sql, ms: number): Sql
  day(time: Sql): Sql
  /** A part of a time in a zone, or of a date, which has no zone; null outside of the years 1 to 9999. */
  timePart(value: Sql, part: TimePart, zone: string | undefined): Sql
  /** The start of the period that a date or a time is in: the time of an hour, the first day of the others. */
  periodStart(value: Sql, period: Period): Sql
  object(members: readonly (readonly [key: string, value: Sql])[]): Sql
  array(items: readonly Sql[]): Sql
  /** Marks a text from a subquery as JSON. */
  nested(json: Sql): Sql
  /** The bytes of a text in hexadecimal. */
  hex(text: Sql): Sql
  /** Steps that change rows and write them to the journal. `which`: the changed rows; `last`: the inserted one. */
  journalled(change: Sql, table: string, which: Sql | 'last', journal: Journalling): readonly ChangeStep[]
  /** Joins each row with the row `j` of `table` that has the greatest `version` among those that meet the condition. */
  withNewest(rows: Sql, table: Sql, condition: (alias: Sql) => Sql): Sql
  /** The rows (`type`, `id`) that can be reached from the root along the arms, at any depth, each once. */
  closure(root: Sql, arms: readonly Arm[]): Sql
  /** The notes of the running transaction, rows (`type`, `id`): how to clear, add and read them. */
  readonly forget: readonly Sql[]
  note(rows: Sql): Sql
  noted(type: number): Sql
  /** A table from a parameter: a JSON list of lists with an encoded value for each column. */
  rows(name: string, columns: readonly { readonly name: string; readonly kind: ColumnKind }[]): Sql
  /** The right side of `IN`, from a parameter: a JSON list of values. */
  listed(name: string, kind: 'integer' | 'text'): Sql
  /** That a number is in such a list. Written so that planners use an index whatever they estimate. */
  isListed(value: Sql, name: string): Sql
  /** That a value is among the few results of a query. Written so that planners use the index on the value. */
  isAmong(value: Sql, query: Sql): Sql
  /** A condition to test row by row. It must not keep the planner from a better index. */
  rowByRow(condition: Sql): Sql
  /** Ends a subquery that must run for each row by itself, and never be joined as a whole. */
  readonly forEachRow: Sql
  /**
   * Whether a pattern from `normalPattern` is found anywhere in a text. Unknown if either is null, or if the text is
   * longer than `budget.matchedCharacters`, which bounds the time.
   */
  matches(text: Sql, pattern: Sql): Sql
  /** The members of a list of references as rows. `member`: the name of the reference, if items are objects. */
  members(list: Sql, member: string): { readonly rows: Sql; readonly target: Sql; readonly place: Sql }
  /** The inverse of `members`: the value of the column, from rows `r` (`target`, …) in order. */
  listOf(rows: Sql, order: Sql): Sql
  /** The rows `t` whose columns contain all words of a query, the last one as a prefix; and the query to bind. */
  readonly search: {
    found(table: string, columns: readonly string[], query: Sql): Sql
    query(words: readonly string[]): string
  }
  /**
   * The time now. `nextTime`: the time now for a row changed at `last`, but never before that, unless `last` is so far
   * ahead that a clock was wrong.
   */
  readonly now: Sql
  /** The wall clock of the database: all processes see the same. */
  readonly clock: Sql
  /** A time in milliseconds since 1970. */
  milliseconds(time: Sql): Sql
  nextTime(last: Sql): Sql
  /** A condition of every write: the structure still fits this server. Without it, the Store checks that itself. */
  readonly fence: Sql | undefined
  /**
   * Suffixes of a query that lock the found rows until the transaction ends. `toExist`: the rows may be changed, but
   * not erased. `…IfFree`: leaves out rows with conflicting locks. Undefined if transactions run one at a time.
   */
  readonly lock:
    | {
        readonly toChange: Sql
        readonly toStay: Sql
        readonly toExist: Sql
        readonly toChangeIfFree: Sql
        readonly toStayIfFree: Sql
        /** Locks keys that stand for no row, in the order of the rows (`key`, `shared`), until the transaction ends. */
        keys(rows: Sql): Sql
      }
    | undefined
}
