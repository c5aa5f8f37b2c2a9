/**
 * Type checks of declarations. The server reports the same mistakes at start; these types underline them in the editor.
 * Names and paths that are known only at run time are accepted.
 */

/** The value type of an item of a list. Only a choice says more than its field type. */
export type ItemOf<Item> = Item extends { readonly type: 'choice'; readonly values: readonly (infer Value)[] }
  ? Value
  : unknown

/** The dot paths of the values of these field types. A reference has its id. */
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

/** The path that login adds. */
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

/** The name of a login type. If there is none, a message that says more than "never". */
export type LoginName<Name> = [Name] extends [never] ? '(no Entity type has login)' : Name

/** By Entity type: its name if it can log in, otherwise never. */
export type LoginNames<Entities> = {
  [Name in keyof Entities & string]: Entities[Name] extends { readonly login?: infer Login }
    ? UserTypeOf<Login> extends never
      ? never
      : Name
    : never
}

type UserTypeOf<Login> = Login extends { readonly userType: infer UserType } ? UserType : never

/**
 * Accepts any valid declaration of each Entity type. For a wrong one, the type has only the wrong fields in their
 * correct form, so that TypeScript reports just those.
 */
export type CheckedEntities<Entities, Declaration> = {
  readonly [Name in keyof Entities]: Entities[Name] extends { readonly fields: infer F }
    ? [TargetsOf<F>] extends [keyof Entities]
      ? Declaration
      : { readonly fields: Mended<F, keyof Entities> }
    : Declaration
}

/** The targets of the references among these fields. */
type TargetsOf<F> = string extends keyof F ? never : { [Name in keyof F]: TargetOf<F[Name]> }[keyof F]

type TargetOf<Field> = Field extends { readonly target: infer Target }
  ? Target
  : Field extends { readonly items: infer Item }
    ? TargetOf<Item>
    : Field extends { readonly fields: infer Inner }
      ? TargetsOf<Inner>
      : never

/** The fields that refer to an undeclared type, with the targets that they could have. */
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
