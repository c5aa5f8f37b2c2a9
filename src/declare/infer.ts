/**
 * The TypeScript types that follow from an app's declarations. Nothing is generated, and nothing here runs. A
 * declaration is read by its shape, so this file imports nothing.
 */

/** Shows a type as one object, not as the types that it is composed of. */
export type Simplified<T> = { [Key in keyof T]: T[Key] } & {}

/** A reference in bodies and answers. */
export interface Reference {
  id: number
}

/** Declared fields, by name. */
type FieldMap = object

/** Removes the index signature that TypeScript sometimes adds to the fields of an object. */
type Named<Fields> = { [Name in keyof Fields as string extends Name ? never : Name]: Fields[Name] }

type IsOptional<Field> = Field extends { readonly optional: true } ? true : false
type OrNull<Field, Value> = IsOptional<Field> extends true ? Value | null : Value

/** The value of a field without inner fields. */
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

// Bodies.

/** The names of the fields that may be left out of a new Entity. */
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

/** The fields of a body with a whole Entity. */
export type NewFields<Fields extends FieldMap, Ref = Reference> = Simplified<
  {
    -readonly [Name in Exclude<keyof Fields, Spared<Fields>>]: OrNull<Fields[Name], Sent<Fields[Name], Ref>>
  } & { -readonly [Name in Spared<Fields>]?: OrNull<Fields[Name], Sent<Fields[Name], Ref>> }
>

/** The operators that change a value relative to its current one. */
type Relative<Field, Ref> = Field extends { readonly type: 'integer' | 'number' }
  ? { $add: number }
  : Field extends { readonly type: 'decimal' }
    ? { $add: string }
    : Field extends { readonly type: 'list'; readonly items: infer Items }
      ? { $add?: readonly Sent<Items, Ref>[]; $remove?: readonly Sent<Items, Ref>[] }
      : never

/**
 * A value to merge. `null` removes it, or resets it to its default. `Patch`: operators are allowed. It is a condition
 * so that errors show its values, not its name.
 */
type Mergeable<Field, Ref, Patch extends boolean> = Field extends unknown
  ?
      | (Field extends { readonly type: 'object'; readonly fields: infer Fields extends FieldMap }
          ? ChangedFields<Named<Fields>, Ref, Patch>
          : Sent<Field, Ref>)
      | (Field extends { readonly optional: true } | { readonly default: unknown } ? null : never)
      | (Patch extends true ? Relative<Field, Ref> : never)
  : never

/** The fields of a body to merge. Fields that are left out keep their values. */
export type ChangedFields<Fields extends FieldMap, Ref, Patch extends boolean> = {
  -readonly [Name in keyof Fields]?: Mergeable<Fields[Name], Ref, Patch>
}

// Answers.

/** The value in an answer. `Hidden`: a field with a `read` rule may be missing. */
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

/** The fields that login adds to a type. */
interface LoginFields {
  readonly email: { readonly type: 'email' }
  readonly password: { readonly type: 'secret' }
}

/** All fields of a type, including those of its login. */
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

/** The names, if they are known; `string` gives never. */
type KnownName<Name> = string extends Name ? never : Extract<Name, string>

/** The fields that a body may have. */
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

/** The `user_type` at login; never if the type has no login. */
type UserTypeIn<Type> = Type extends { readonly login?: { readonly userType: infer UserType } }
  ? UserType
  : never

/** What every Entity has. */
export interface EntityKeys {
  id: number
  /** Incremented by each change. */
  version: number
  created_at: string
  updated_at: string
  /** `null` while the Entity is live. */
  deleted_at: string | null
}

/** The body of a create. */
export type NewEntity<Type, Ref = Reference> = NewFields<SentFields<Type>, Ref>
/** Some values of an Entity: those of an update, or of an incomplete create. */
export type EntityChanges<Type> = Simplified<ChangedFields<SentFields<Type>, Reference, false>>
/** The body of an update. Keys that are left out keep their values, and `{ $add: 1 }` adds. */
export type EntityPatch<Type, Ref = Reference> = Simplified<ChangedFields<SentFields<Type>, Ref, true>>
/** An Entity in an answer. A field with a `read` rule may be missing. */
export type SeenEntity<Type> = Simplified<
  EntityKeys & ReturnedFields<DeclaredFields<Type>, true> & Partial<ComputedFields<Type>>
>
/** An Entity as the system sees it. */
export type WholeEntity<Type> = Simplified<
  EntityKeys & ReturnedFields<DeclaredFields<Type>, false> & ComputedFields<Type>
>

/** A user of a login type, as rules know it: the Entity, with its `userType` as `type`. */
type UserOf<Type> = [UserTypeIn<Type>] extends [never]
  ? never
  : Simplified<{ type: UserTypeIn<Type> } & Omit<WholeEntity<Type>, 'type'>>

/** The caller: a user of one of the login types. */
export type AnyUser<Types> = { [Name in keyof Types]: UserOf<Types[Name]> }[keyof Types]
