import type { Entries, LinkRows, Referrers, ValueKind } from './expression.ts'

export interface Folded {
  readonly column: string
  readonly sorts: boolean
}

/** What a name in a type stands for. */
export type Member =
  | {
      readonly is: 'value'
      readonly column: string
      readonly kind: ValueKind
      readonly scale: number
      /** The only texts that it can be; undefined if it can be any. */
      readonly choices: readonly string[] | undefined
      /** For an id: its Entity type. */
      readonly entity?: string | undefined
      /** For a text: the column with its folded form, if there is one, and whether sorts use that column. */
      readonly folded?: Folded | undefined
    }
  /** `column`: says whether the object is present; undefined if it always is. */
  | { readonly is: 'object'; readonly column: string | undefined; readonly members: Members }
  | {
      readonly is: 'reference'
      readonly column: string
      readonly to: string
      readonly members: () => Members
    }
  | {
      readonly is: 'list'
      readonly column: string
      /** The maximum number of items, if one is declared. */
      readonly max: number | undefined
      readonly entries?: Entries
      readonly item:
        | { readonly kind: ValueKind; readonly scale: number }
        | Members
        | (LinkRows & { members: () => Members })
        | (Referrers & { members: () => Members })
    }
  /** Any JSON: expressions can only test it for `null`. */
  | { readonly is: 'json'; readonly column: string }

/** A condition that rules use by its name, like a boolean field. */
export interface NamedRule {
  readonly name: string
  readonly text: string
  /** Where it is declared, for messages. */
  readonly place: string
  /** What it is called in messages. */
  readonly what?: 'computed'
}

/** A field that is not stored: an expression over the others, used by its name. */
export interface Computed extends NamedRule {
  readonly what: 'computed'
}

/** The names of a type, or of an object in it: only those that the caller may know. */
export interface Members {
  readonly names: readonly string[]
  get(name: string): Member | undefined
  /** The named rules of a type. Only rules know them: in a filter they would reveal hidden fields. */
  readonly rule?: (name: string) => NamedRule | undefined
  /** The computed fields of a type whose operands are all known here. */
  readonly computed?: (name: string) => Computed | undefined
  /** A hint for a name that is not known, as the end of a sentence. */
  readonly hint?: (name: string) => string | undefined
}

/** The names that an expression can use. */
export interface Scope {
  readonly self: Members
  readonly next?: Members
  /** The caller's login type and names; `null` for nobody. */
  readonly me: { readonly entity: string; readonly userType: string; readonly members: Members } | null
  /** The names of all possible callers. A name that only other callers have is known, but has no value. */
  readonly anybody: readonly Members[]
  /** What `me.type` can be, if that is known. */
  readonly userTypes?: readonly string[]
}
