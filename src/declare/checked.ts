/**
 * What TypeScript says of a declaration that is wrong. The same mistakes are reported at start; here they are underlined
 * while one writes. Names and paths that are not known before the program runs are let through.
 */

/** The value of each item of a list, as far as its declaration says more than its type. */
export type ItemOf<Item> = Item extends { readonly type: 'choice'; readonly values: readonly (infer Value)[] }
  ? Value
  : unknown

/** The dot paths of the single values of a type that pass; a reference has its id. */
type PathsOf<F, Type> = F extends unknown
  ? string extends keyof F
    ? string
    : { [Name in keyof F & string]: PathsIn<Name, F[Name], Type> }[keyof F & string]
  : never

type PathsIn<Name extends string, Field, Type> = Field extends { readonly type: Type }
  ? Field extends { readonly target: unknown }
    ? `${Name}.id`
    : Name
  : Field extends { readonly fields: infer Inner }
    ? `${Name}.${PathsOf<Inner, Type>}`
    : never

type TextType = 'text' | 'email' | 'url' | 'choice'
type SingleType = TextType | 'integer' | 'number' | 'decimal' | 'boolean' | 'date' | 'datetime' | 'ref'

/** What login adds. */
type LoginPath<UserType> = [UserType] extends [never] ? never : 'email'

export type TextPath<F, UserType> = PathsOf<F, TextType> | LoginPath<UserType>

export type UniquePath<F, UserType> = PathsOf<F, SingleType> | LoginPath<UserType>

type SortPath<F, UserType> = UniquePath<F, UserType> | 'id' | 'version' | 'created_at' | 'updated_at'

type IndexKeyPath<F, UserType> = SortPath<F, UserType> | `fold(${PathsOf<F, 'text'>})`

export type IndexPath<F, UserType> = IndexKeyPath<F, UserType> | `-${IndexKeyPath<F, UserType>}`

/** The dot path of any field, objects included. */
export type FieldPath<F, UserType> = FieldsIn<F> | LoginPath<UserType>

type FieldsIn<F> = F extends unknown
  ? string extends keyof F
    ? string
    : { [Name in keyof F & string]: Name | InnerPath<Name, F[Name]> }[keyof F & string]
  : never

type InnerPath<Name extends string, Field> = Field extends { readonly fields: infer Inner }
  ? `${Name}.${FieldsIn<Inner>}`
  : never

/** The name of a login type; where there is none, a message that says more than "never". */
export type LoginName<Name> = [Name] extends [never] ? '(no Entity type has login)' : Name

/** By name, the names of the Entity types that can log in. */
export type LoginNames<Entities> = {
  [Name in keyof Entities & string]: Entities[Name] extends { readonly login?: infer Login }
    ? UserTypeOf<Login> extends never
      ? never
      : Name
    : never
}

type UserTypeOf<Login> = Login extends { readonly userType: infer UserType } ? UserType : never

/**
 * The Entity types, each any declaration. Where one is wrong, only what would be right there, so that TypeScript names
 * just that.
 */
export type CheckedEntities<Entities, Declaration> = {
  readonly [Name in keyof Entities]: Entities[Name] extends { readonly fields: infer F }
    ? [TargetsOf<F>] extends [keyof Entities]
      ? Declaration
      : { readonly fields: Mended<F, keyof Entities> }
    : Declaration
}

/** The Entity types that fields refer to. */
type TargetsOf<F> = string extends keyof F ? never : { [Name in keyof F]: TargetOf<F[Name]> }[keyof F]

type TargetOf<Field> = Field extends { readonly target: infer Target }
  ? Target
  : Field extends { readonly items: infer Item }
    ? TargetOf<Item>
    : Field extends { readonly fields: infer Inner }
      ? TargetsOf<Inner>
      : never

/** The fields that refer to something that is not declared, with what they could refer to. */
type Mended<F, Names> = string extends keyof F
  ? unknown
  : {
      readonly [Name in keyof F as [TargetOf<F[Name]>] extends [Names] ? never : Name]: MendedField<
        F[Name],
        Names
      >
    }

type MendedField<Field, Names> = Field extends { readonly items: infer Item }
  ? { readonly items: MendedField<Item, Names> }
  : Field extends { readonly fields: infer Inner }
    ? { readonly fields: Mended<Inner, Names> }
    : { readonly target: Names }
