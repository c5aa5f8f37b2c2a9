import type { Check, ColumnKind, JsonSchema } from '../declare/fields/field.ts'
import { foldedColumn } from '../declare/folded-column.ts'

export interface Column {
  readonly name: string
  readonly kind: ColumnKind
  readonly references?: string
  /** For a list of references: the target table. A link table goes with it, which triggers keep in step. */
  readonly links?: string
  /** In a list of objects: the name of the reference in each item. */
  readonly member?: string
  /** Every `onDelete` that was ever declared for it. */
  readonly ever?: readonly string[]
  /** Decimal places, for a decimal. The stored form depends on it. */
  readonly scale?: number
  /** Contains hashes, which must never be shown. */
  readonly secret?: boolean
  /** Every Entity must have a value here. */
  readonly required?: boolean
  /** The field is optional: it may be null. */
  readonly optional?: boolean
  /** The presence column of the optional object around it. It is required only if that object is present. */
  readonly within?: string
  /** No longer declared, but still stored. */
  readonly aside?: boolean
  /** Further limits of its values, as JSON Schema. */
  readonly limits?: JsonSchema
  /** The same limits as a check, while the declaration is at hand. */
  readonly check?: Check
  /** Derived from another column. It must still match when it is declared again. */
  readonly derived?: { readonly from: string; by(value: string): string }
  /** Derived from the text of another column: its search words, or its folded form. Can be rebuilt at any time. */
  readonly words?: { readonly of: string; cut?(text: string): string }
  /** The value for existing rows when the column is new; not yet encoded. */
  readonly fill?: unknown
}

export interface Index {
  readonly columns: readonly string[]
  /** Unique among live rows. */
  readonly unique: boolean
  /** For an index that serves a sort of live rows: which of its columns are descending. */
  readonly descending?: readonly boolean[]
  /** Whether it finds rows by the words in its columns. */
  readonly search?: boolean
}

/** A condition that every row must meet when it is written. */
export interface TableCheck {
  readonly that: string
  readonly at: string
  readonly says: string
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly indexes: readonly Index[]
  readonly checks?: readonly TableCheck[]
  /** Its old name. */
  readonly was?: string
  /** Renamed dot paths, outer ones first. */
  readonly renames?: readonly (readonly [from: string, to: string])[]
  /** For a stored table: all names that it ever had; and former paths of fields, with their present ones. */
  readonly formerNames?: readonly string[]
  readonly formerPaths?: readonly (readonly [former: string, today: string])[]
}

/** The dot path of the field that a column belongs to. */
export function pathOf({ name, references }: Column): string {
  return references === undefined ? name : name.replace(/\.id$/, '')
}

/** The column with the words of another. No dot path ends like this, and a rename of the field renames both. */
export function wordsColumn(path: string): string {
  return `${path}~`
}

/** Whether a column is derived from the text of another. */
export function isDerivedFrom(path: string, column: string): boolean {
  return column === wordsColumn(path) || column === foldedColumn(path)
}

/** The epoch of a user's tokens. Tokens of another epoch have ended. */
const EPOCH = 'token_epoch'

/** Whether the journal has a column: not secrets, and not derived columns. */
export function isJournalled({ secret, words, derived, name }: Column): boolean {
  return !secret && words === undefined && derived === undefined && name !== EPOCH
}

/** Whether it is the epoch of a login type: another type may have a field of this name. */
export function isEpochOf({ columns }: Table, { name }: Column): boolean {
  return name === EPOCH && columns.some(({ derived }) => derived !== undefined)
}
