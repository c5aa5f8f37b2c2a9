import type { Check, ColumnKind, JsonSchema } from '../declare/fields/field.ts'
import { foldedColumn } from '../declare/folded-column.ts'

export interface Column {
  readonly name: string
  readonly kind: ColumnKind
  readonly references?: string
  /** A list of references to this table: beside it there is a link table, which triggers keep as it is. */
  readonly links?: string
  /** In a list of objects: the name of the reference in each. */
  readonly member?: string
  /** What a deletion of its target has ever been declared to do to it. */
  readonly ever?: readonly string[]
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
  /** What its values must be besides, as JSON Schema says it. */
  readonly limits?: JsonSchema
  /** The same as a check, for as long as the declaration is at hand. */
  readonly check?: Check
  /** Made from the value of another column: must still be so when it is declared again. */
  readonly derived?: { readonly from: string; by(value: string): string }
  /** Made from the text in another column: its words, as they are searched, or the text folded. Can be made anew from it at any time. */
  readonly words?: { readonly of: string; cut?(text: string): string }
  /** The value that rows which are already there get, when the column is new; not yet encoded. */
  readonly fill?: unknown
}

export interface Index {
  readonly columns: readonly string[]
  /** Unique among the live. */
  readonly unique: boolean
  /** Of an index that serves a sort of the live: which of its columns run down. */
  readonly descending?: readonly boolean[]
  /** Finds rows by the words in its columns. */
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
  /** Dot paths that were called otherwise before, outer ones first. */
  readonly renames?: readonly (readonly [from: string, to: string])[]
  /** Of one that is held: all names that it ever had, and the former paths of fields, with those of today. */
  readonly formerNames?: readonly string[]
  readonly formerPaths?: readonly (readonly [former: string, today: string])[]
}

/** The dot path of the field that a column holds. */
export function pathOf({ name, references }: Column): string {
  return references === undefined ? name : name.replace(/\.id$/, '')
}

/** The column that holds the words of another: no dot path ends like this, and both are renamed alike. */
export function wordsColumn(path: string): string {
  return `${path}~`
}

/** Whether a column is made from the text of another. */
export function isMadeFrom(path: string, column: string): boolean {
  return column === wordsColumn(path) || column === foldedColumn(path)
}

/** The epoch of the tokens of a user: those of another one have ended. */
const EPOCH = 'token_epoch'

/** Secrets are never in the journal, nor is what is made from other columns. */
export function isJournalled({ secret, words, derived, name }: Column): boolean {
  return !secret && words === undefined && derived === undefined && name !== EPOCH
}

/** Whether it is the epoch of a type that logs in: another type may have a field of that name. */
export function isEpochOf({ columns }: Table, { name }: Column): boolean {
  return name === EPOCH && columns.some(({ derived }) => derived !== undefined)
}
