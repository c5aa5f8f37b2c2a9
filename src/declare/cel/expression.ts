import type { ColumnKind } from '../fields/field.ts'
import { isFoldedColumn } from '../folded-column.ts'

/** The kinds of single values that an expression deals with. */
export type ValueKind = Exclude<ColumnKind, 'json' | 'presence'>

/** What a path starts from. */
export type Root =
  /** The Entity itself; in an update rule, as it is before the update. */
  | { readonly of: 'self' }
  /** The Entity as it would be after the update. */
  | { readonly of: 'next' }
  /** The caller, of this login type. */
  | { readonly of: 'me'; readonly entity: string }
  /**
   * An item of a list, in `exists` and `all`; nested ones differ in `depth`. `crossed`: for a referrer, the number of
   * references on the way to it.
   */
  | { readonly of: 'item'; readonly depth: number; readonly crossed?: number }

/** A step from an Entity to the live Entity that one of its references points at. */
export interface Hop {
  readonly column: string
  readonly to: string
}

/** The place of a value: from the root along the hops to a column of the Entity that is reached. */
export interface Place {
  readonly root: Root
  readonly hops: readonly Hop[]
  readonly column: string
}

/** A list of values, of objects, of references (which have a table of their own) or of referrers. */
export interface ListPlace {
  /** For referrers: the id of the Entity that they refer to. */
  readonly place: Place
  readonly item: { readonly kind: ValueKind; readonly scale: number } | 'object' | LinkRows | Referrers
  /** The maximum number of items, if one is declared. */
  readonly max: number | undefined
  /** For a list of objects with a reference each: that reference, and the table of its members. */
  readonly entries?: Entries | undefined
}

/** `column`: the id of the reference in an item. */
export interface Entries {
  readonly table: string
  readonly column: string
}

/** The rows of a list of references: a table with `source`, `target` and `place`. */
export interface LinkRows {
  readonly table: string
  readonly target: string
}

export function linkRowsOf({ item }: ListPlace): LinkRows | undefined {
  return typeof item === 'object' && 'table' in item ? item : undefined
}

/** The live Entities of a type that refer to another Entity by a field with `as`. */
export interface Referrers {
  readonly from: string
  readonly path: string
  readonly column: string
  /** The link table, if the field is a list of references. */
  readonly links: string | undefined
}

export function referrersOf({ item }: ListPlace): Referrers | undefined {
  return typeof item === 'object' && 'from' in item ? item : undefined
}

/** Whether an expression uses referrers. */
export function asksReferrers(expression: Expression): boolean {
  const sized = expression.op === 'size' && !('op' in expression.of) ? expression.of : undefined
  const list = 'list' in expression ? expression.list : sized
  if (list !== undefined && referrersOf(list) !== undefined) return true
  return operandsOf(expression).some(asksReferrers)
}

/** The number of references between the root and the Entity that has the value. */
export function crossedTo({ root, hops }: Pick<Place, 'root' | 'hops'>): number {
  return hops.length + (root.of === 'item' ? (root.crossed ?? 0) : 0)
}

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>='

/** Months count from 1, weekdays from Monday, which is 1. */
export type TimePart = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'weekday' | 'date'

export type Arithmetic = '+' | '-' | '*' | '/' | '%'

export type NumberKind = 'integer' | 'number' | 'decimal'

/**
 * An expression after checking: every name is a place, every literal has the kind that it is compared with. A
 * comparison with a missing value is neither true nor false: it does not hold, nor does its negation.
 */
export type Expression =
  | { readonly op: 'constant'; readonly kind: 'boolean'; readonly value: boolean | null }
  | {
      readonly op: 'literal'
      readonly kind: ValueKind
      readonly scale: number
      readonly value: string | number | boolean
      /** The number of this literal, in the order of reading. */
      readonly at: number
      /** True in a computed field: the literal is part of the declaration, not of a request. */
      readonly fixed?: boolean
    }
  /** The time of the request plus `shift` ms. As a date: its day, or for `ceiling` the next one unless midnight. */
  | {
      readonly op: 'now'
      readonly kind: 'datetime' | 'date'
      readonly shift: number
      readonly day: 'floor' | 'ceiling' | undefined
    }
  | {
      readonly op: 'value'
      readonly kind: ValueKind
      readonly scale: number
      readonly place: Place
      /** For an id: its Entity type. Ids of different types have nothing to do with each other. */
      readonly entity?: string | undefined
      /** For a text: the column with its folded form, if there is one, and whether sorts use that column. */
      readonly folded?: { readonly column: string; readonly sorts: boolean } | undefined
    }
  | { readonly op: 'shift'; readonly kind: 'datetime'; readonly of: Expression; readonly by: number }
  | { readonly op: 'size'; readonly kind: 'integer'; readonly of: Expression | ListPlace }
  | { readonly op: 'lower'; readonly kind: 'text'; readonly of: Expression }
  /** A part of a date or time, as clocks in the time zone show it; null outside of the years 1 to 9999. */
  | {
      readonly op: 'part'
      readonly kind: 'integer' | 'date'
      readonly part: TimePart
      readonly of: Expression
      readonly zone: string
    }
  | { readonly op: 'and' | 'or'; readonly kind: 'boolean'; readonly of: readonly Expression[] }
  | { readonly op: 'not'; readonly kind: 'boolean'; readonly of: Expression }
  | {
      readonly op: 'compare'
      readonly kind: 'boolean'
      readonly how: Comparison
      readonly left: Expression
      readonly right: Expression
    }
  | { readonly op: 'there'; readonly kind: 'boolean'; readonly place: Place; readonly not: boolean }
  /** Whether a computed value is present; `there` is the same for a stored one. */
  | { readonly op: 'made'; readonly kind: 'boolean'; readonly of: Expression; readonly not: boolean }
  | {
      readonly op: 'in'
      readonly kind: 'boolean'
      readonly value: Expression
      readonly of: readonly Expression[]
    }
  | { readonly op: 'member'; readonly kind: 'boolean'; readonly value: Expression; readonly list: ListPlace }
  | {
      readonly op: 'exists' | 'all'
      readonly kind: 'boolean'
      readonly list: ListPlace
      readonly depth: number
      readonly condition: Expression
    }
  | {
      readonly op: 'startsWith' | 'endsWith' | 'contains' | 'matches'
      readonly kind: 'boolean'
      readonly text: Expression
      readonly part: Expression
    }
  | {
      readonly op: 'choose'
      readonly kind: ValueKind
      readonly scale: number
      readonly condition: Expression
      readonly then: Expression
      readonly otherwise: Expression
    }
  | NumberExpression
  | { readonly op: 'concat'; readonly kind: 'text'; readonly left: Expression; readonly right: Expression }

/** A value computed from numbers; null if there is no result. `scale`: decimal places, for decimals. */
export type NumberExpression =
  /** The result is a decimal if one operand is a decimal, and a number if one is a number. */
  | {
      readonly op: 'arithmetic'
      readonly kind: NumberKind
      readonly scale: number
      readonly how: Arithmetic
      readonly left: Expression
      readonly right: Expression
    }
  /**
   * An integer or a decimal with more decimal places. `bounded`: null if it then has more than 18 digits. A value that
   * is only compared needs no bounds.
   */
  | {
      readonly op: 'decimal'
      readonly kind: 'decimal'
      readonly scale: number
      readonly of: Expression
      readonly bounded: boolean
    }
  /** How a number compares with a decimal: -1, 0 or 1. */
  | { readonly op: 'order'; readonly kind: 'integer'; readonly left: Expression; readonly right: Expression }
  | {
      readonly op: 'round'
      readonly kind: 'integer' | 'decimal'
      readonly scale: number
      readonly of: Expression
    }
  | { readonly op: 'abs'; readonly kind: NumberKind; readonly scale: number; readonly of: Expression }
  /** The least or the greatest of several values; null if one of them is. */
  | {
      readonly op: 'min' | 'max'
      readonly kind: ValueKind
      readonly scale: number
      readonly of: readonly Expression[]
    }

export type Literal = Extract<Expression, { op: 'literal' }>

export type FieldValue = Extract<Expression, { op: 'value' }>

/** The folded form of a value: without capitals and accents. Undefined if it is not stored. */
export function foldedValue({ folded, ...value }: FieldValue): FieldValue | undefined {
  return folded === undefined ? undefined : { ...value, place: { ...value.place, column: folded.column } }
}

/** Whether an expression uses a folded text of the Entity itself. */
export function asksFolded(expression: Expression): boolean {
  const place = 'place' in expression ? expression.place : undefined
  if (place?.root.of === 'self' && place.hops.length === 0 && isFoldedColumn(place.column)) return true
  return operandsOf(expression).some(asksFolded)
}

/** Expressions that are values; all others are conditions. */
export type ValueExpression = Extract<
  Expression,
  {
    op:
      | 'constant'
      | 'literal'
      | 'now'
      | 'value'
      | 'shift'
      | 'size'
      | 'lower'
      | 'part'
      | 'choose'
      | 'concat'
      | NumberExpression['op']
  }
>

export const yes: Expression = Object.freeze({ op: 'constant', kind: 'boolean', value: true })
export const no: Expression = Object.freeze({ op: 'constant', kind: 'boolean', value: false })
/** Neither true nor false: the result for a missing value. */
export const unknown: Expression = Object.freeze({ op: 'constant', kind: 'boolean', value: null })

/** The number of decimal places; 0 for everything but decimals. */
export function scaleOf(expression: Expression): number {
  return expression.kind === 'decimal' ? expression.scale : 0
}

/** The direct operands of an expression. */
export function operandsOf(expression: Expression): readonly Expression[] {
  switch (expression.op) {
    case 'and':
    case 'or':
    case 'min':
    case 'max':
      return expression.of
    case 'in':
      return [expression.value, ...expression.of]
    case 'made':
    case 'size':
      return 'op' in expression.of ? [expression.of] : []
    case 'member':
      return [expression.value]
    case 'exists':
    case 'all':
      return [expression.condition]
    case 'startsWith':
    case 'endsWith':
    case 'contains':
    case 'matches':
      return [expression.text, expression.part]
    case 'choose':
      return [expression.condition, expression.then, expression.otherwise]
    default:
      if ('left' in expression) return [expression.left, expression.right]
      return 'of' in expression ? [expression.of] : []
  }
}
