import type { Entries, LinkRows, Referrers, ValueKind } from './expression.ts'

export interface Folded {
  readonly column: string
  readonly sorts: boolean
}

/** What a name of a type stands for. */
export type Member =
  | {
      readonly is: 'value'
      readonly column: string
      readonly kind: ValueKind
      readonly scale: number
      /** The only texts that it can be, if there are but some. */
      readonly choices: readonly string[] | undefined
      /** Of an id: the type whose Entities it counts. */
      readonly entity?: string | undefined
      /** Of a text: the column that holds it folded, if there is one, and whether it is sorted by that. */
      readonly folded?: Folded | undefined
    }
  /** `column` says whether it is there; none where it always is. */
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
      /** The most items that it may have, where that is declared. */
      readonly max: number | undefined
      readonly entries?: Entries
      readonly item:
        | { readonly kind: ValueKind; readonly scale: number }
        | Members
        | (LinkRows & { members: () => Members })
        | (Referrers & { members: () => Members })
    }
  /** Any JSON: it can only be asked whether it is there. */
  | { readonly is: 'json'; readonly column: string }

/** A condition that rules use by its name, as if it were a field that is true or false. */
export interface NamedRule {
  readonly name: string
  readonly text: string
  /** Where it is declared. */
  readonly place: string
  /** What it is called in messages. */
  readonly what?: 'computed'
}

/** A field that is not stored: an expression over the others, used by its name. */
export interface Computed extends NamedRule {
  readonly what: 'computed'
}

/** The names of a type, or of an object in it. Whoever must not know a name does not find it here. */
export interface Members {
  readonly names: readonly string[]
  get(name: string): Member | undefined
  /** The named rules of a type. Only rules know them: a filter could ask about hidden fields with them. */
  readonly rule?: (name: string) => NamedRule | undefined
  /** The computed fields of a type that can be made from what is known here. */
  readonly computed?: (name: string) => Computed | undefined
  /** A hint for a name that is not known, as the end of a sentence. */
  readonly hint?: (name: string) => string | undefined
}

/** What an expression can speak of. */
export interface Scope {
  readonly self: Members
  readonly next?: Members
  /** The login type and the names of whoever asks; `null` for nobody. */
  readonly me: { readonly entity: string; readonly userType: string; readonly members: Members } | null
  /** The names of all who could ask: what only others have is not there. */
  readonly anybody: readonly Members[]
  /** What `me.type` can be, where that is known. */
  readonly userTypes?: readonly string[]
}
