import type { Action, OnDelete, Rule } from './define.ts'
import type { Check, ColumnKind, JsonSchema } from './fields/field.ts'
import type { Retention } from './retention.ts'

/** A value in one column: all types but objects and references. */
export interface ValueField {
  readonly kind: 'value'
  readonly name: string
  readonly path: string
  readonly type: string
  readonly column: ColumnKind
  /** Digits behind the point, of a decimal. */
  readonly scale: number
  readonly optional: boolean
  /** Already in its normal form; undefined where there is none. */
  readonly default: unknown
  readonly secret: boolean
  readonly unique: boolean
  /** Its words are found by `?search=`. */
  readonly search: boolean
  /** What it was called before. */
  readonly was: string | undefined
  readonly check: Check
  readonly schema: JsonSchema
  readonly example: unknown
}

interface ObjectField {
  readonly kind: 'object'
  readonly name: string
  readonly path: string
  readonly optional: boolean
  readonly was: string | undefined
  readonly fields: readonly Field[]
}

export interface ReferenceField {
  readonly kind: 'reference'
  readonly name: string
  readonly path: string
  readonly optional: boolean
  readonly target: string
  readonly onDelete: OnDelete
  readonly unique: boolean
  readonly was: string | undefined
}

export type Field = ValueField | ObjectField | ReferenceField

export interface Login {
  readonly userType: string
}

/** One key of a sort or an index. */
export interface IndexKey {
  readonly column: string
  readonly descending: boolean
}

export interface EntityType {
  readonly name: string
  /** What it was called before. */
  readonly was: string | undefined
  readonly fields: readonly Field[]
  readonly login: Login | undefined
  /** Columns whose values together are unique among the live, single ones included. */
  readonly uniques: readonly (readonly string[])[]
  /** Sorts that an index of the live serves, `id` included. */
  readonly indexes: readonly (readonly IndexKey[])[]
  readonly access: Readonly<Partial<Record<Action, Rule>>>
  readonly retention: Retention
}

/** An arrow of the reference graph: `from`'s column points at `to`. */
export interface Edge {
  readonly from: string
  readonly path: string
  readonly column: string
  /** The optional object that it stands in, if any: the innermost one. */
  readonly within: string | undefined
  readonly to: string
  readonly onDelete: OnDelete
}

/** The declarations, resolved and frozen. */
export interface Model {
  readonly entities: ReadonlyMap<string, EntityType>
  readonly admins: string | undefined
  /** Login types in the order of declaration. */
  readonly logins: readonly EntityType[]
  readonly edges: readonly Edge[]
}

/** The column in which a field lives: its dot path, and the id's for a reference. */
export function columnOf(field: Field): string {
  return field.kind === 'reference' ? `${field.path}.id` : field.path
}

/** All fields, outer ones first, objects included. */
export function* walk(fields: readonly Field[]): Generator<Field> {
  for (const field of fields) {
    yield field
    if (field.kind === 'object') yield* walk(field.fields)
  }
}
