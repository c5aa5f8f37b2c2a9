/**
 * What the declarations of an app make of TypeScript's types: nothing is generated, and nothing here runs. A declaration
 * is read by its shape, so this imports nothing.
 */

/** Simplified as one object, not as the types that it was made from. */
export type Simplified<T> = { [Key in keyof T]: T[Key] } & {}

/** How a reference is sent and comes back. */
export interface Reference {
  id: number
}

/** Fields as they are declared, by name. */
type FieldMap = object

/** Without the index signature that TypeScript sometimes adds to the fields of an object. */
type Named<Fields> = { [Name in keyof Fields as string extends Name ? never : Name]: Fields[Name] }

type IsOptional<Field> = Field extends { readonly optional: true } ? true : false
type OrNull<Field, Value> = IsOptional<Field> extends true ? Value | null : Value

/** The value of a field that has no fields in it. */
type Plain<Field, Ref> = Field extends { readonly type: 'choice'; readonly values: readonly (infer Value)[] }
  ? Value
  : Field extends { readonly type: 'integer' | 'number' }
    ? number
    : Field extends { readonly type: 'boolean' }
      ? boolean
      : Field extends { readonly type: 'json' }
        ? unknown
        : Field extends { readonly type: 'ref' }
          ? Ref
          : string

// What is sent.

/** The names of the fields that a new Entity need not have. */
type Spared<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends { readonly optional: true } | { readonly default: unknown }
    ? Name
    : never
}[keyof Fields]

type Sent<Field, Ref> = Field extends {
  readonly type: 'object'
  readonly fields: infer Fields extends FieldMap
}
  ? NewFields<Named<Fields>, Ref>
  : Field extends { readonly type: 'list'; readonly items: infer Items }
    ? readonly Sent<Items, Ref>[]
    : Plain<Field, Ref>

/** Fields of a body with a whole Entity. */
export type NewFields<Fields extends FieldMap, Ref = Reference> = Simplified<
  {
    -readonly [Name in Exclude<keyof Fields, Spared<Fields>>]: OrNull<Fields[Name], Sent<Fields[Name], Ref>>
  } & { -readonly [Name in Spared<Fields>]?: OrNull<Fields[Name], Sent<Fields[Name], Ref>> }
>

/** What changes a value relative to what it is when the write is made. */
type Relative<Field, Ref> = Field extends { readonly type: 'integer' | 'number' }
  ? { $add: number }
  : Field extends { readonly type: 'decimal' }
    ? { $add: string }
    : Field extends { readonly type: 'list'; readonly items: infer Items }
      ? { $add?: readonly Sent<Items, Ref>[]; $remove?: readonly Sent<Items, Ref>[] }
      : never

/** A `null` takes a value away, or sets it back to its default. `Patch`: with operators. */
type Mergeable<Field, Ref, Patch extends boolean> =
  | (Field extends { readonly type: 'object'; readonly fields: infer Fields extends FieldMap }
      ? ChangedFields<Named<Fields>, Ref, Patch>
      : Sent<Field, Ref>)
  | (Field extends { readonly optional: true } | { readonly default: unknown } ? null : never)
  | (Patch extends true ? Relative<Field, Ref> : never)

/** Fields of a body that is merged: those that are left out stay as they are. */
export type ChangedFields<Fields extends FieldMap, Ref, Patch extends boolean> = {
  -readonly [Name in keyof Fields]?: Mergeable<Fields[Name], Ref, Patch>
}

// What comes back.

/** `Hidden`: a field with a `read` rule may not be there. */
type Returned<Field, Hidden extends boolean> = Field extends {
  readonly type: 'object'
  readonly fields: infer Fields extends FieldMap
}
  ? ReturnedFields<Named<Fields>, Hidden>
  : Field extends { readonly type: 'list'; readonly items: infer Items }
    ? Returned<Items, Hidden>[]
    : Plain<Field, Reference>

type Secret<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends { readonly type: 'secret' } ? Name : never
}[keyof Fields]

type Ruled<Fields, Hidden> = Hidden extends true
  ? { [Name in keyof Fields]: Fields[Name] extends { readonly read: unknown } ? Name : never }[keyof Fields]
  : never

export type ReturnedFields<Fields extends FieldMap, Hidden extends boolean> = Simplified<
  {
    -readonly [Name in Exclude<keyof Fields, Secret<Fields> | Ruled<Fields, Hidden>>]: OrNull<
      Fields[Name],
      Returned<Fields[Name], Hidden>
    >
  } & {
    -readonly [Name in Exclude<Ruled<Fields, Hidden>, Secret<Fields>>]?: Returned<Fields[Name], Hidden> | null
  }
>

// Whole Entities.

/** What login adds to a type. */
interface LoginFields {
  readonly email: { readonly type: 'email' }
  readonly password: { readonly type: 'secret' }
}

/** All fields of a type, those of its login included. */
export type DeclaredFields<Type> = Type extends { readonly fields: infer Fields extends FieldMap }
  ? [UserTypeIn<Type>] extends [never]
    ? Named<Fields>
    : LoginFields & Named<Fields>
  : never

/** The dot paths that only the server sets. */
type KeptIn<Type> = Type extends {
  readonly set?: { readonly create?: infer Create; readonly update?: infer Update }
}
  ? KnownName<keyof NonNullable<Create> | keyof NonNullable<Update>>
  : never

/** The names of computed fields. */
type ComputedIn<Type> = Type extends { readonly computed?: infer Computed }
  ? KnownName<keyof NonNullable<Computed>>
  : never

/** Names that are known. */
type KnownName<Name> = string extends Name ? never : Extract<Name, string>

/** The fields that can be sent. */
type SentFields<Type> = [KeptIn<Type>] extends [never]
  ? DeclaredFields<Type>
  : WithoutKept<DeclaredFields<Type>, KeptIn<Type>>

type WithoutKept<Fields, Kept> = {
  [Name in keyof Fields as Name extends Kept ? never : Name]: Fields[Name] extends {
    readonly type: 'object'
    readonly fields: infer Inner
  }
    ? Omit<Fields[Name], 'fields'> & { readonly fields: WithoutKept<Inner, Behind<Kept, Name>> }
    : Fields[Name]
}

type Behind<Path, Name> = Path extends `${Name & string}.${infer Rest}` ? Rest : never

type ComputedFields<Type> = { [Name in ComputedIn<Type>]: string | number | boolean | null }

/** What `user_type` says at login; never where nobody can log in. */
type UserTypeIn<Type> = Type extends { readonly login?: { readonly userType: infer UserType } }
  ? UserType
  : never

/** What every Entity has. */
export interface EntityKeys {
  id: number
  /** Grows by one with each change. */
  version: number
  created_at: string
  updated_at: string
  /** `null` while it is not deleted. */
  deleted_at: string | null
}

/** The body of a create. */
export type NewEntity<Type, Ref = Reference> = NewFields<SentFields<Type>, Ref>
/** Some values of an Entity: what an update sets, or a create that is not whole yet. */
export type EntityChanges<Type> = Simplified<ChangedFields<SentFields<Type>, Reference, false>>
/** The body of an update: the keys that are left out stay, and `{ $add: 1 }` adds. */
export type EntityPatch<Type, Ref = Reference> = Simplified<ChangedFields<SentFields<Type>, Ref, true>>
/** An Entity as it comes back: a field with a `read` rule may not be there. */
export type SeenEntity<Type> = Simplified<
  EntityKeys & ReturnedFields<DeclaredFields<Type>, true> & Partial<ComputedFields<Type>>
>
/** An Entity as the system sees it. */
export type WholeEntity<Type> = Simplified<
  EntityKeys & ReturnedFields<DeclaredFields<Type>, false> & ComputedFields<Type>
>

/** The users of one login type, as rules call them: the Entity, and its `userType` as `type`. */
type UserOf<Type> = [UserTypeIn<Type>] extends [never]
  ? never
  : Simplified<{ type: UserTypeIn<Type> } & Omit<WholeEntity<Type>, 'type'>>

/** Who calls: a user of one of the login types. */
export type AnyUser<Types> = { [Name in keyof Types]: UserOf<Types[Name]> }[keyof Types]
