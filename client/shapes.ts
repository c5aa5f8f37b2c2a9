import type { Page } from '../src/declare/api-types.ts'
import type { DeclaredFields, EntityKeys, SeenEntity, Simplified } from '../src/declare/infer.ts'

/** The shapes of answers with `expand` and `fields`. Types only. */

/** The keys of an Entity. */
export type KeyOf<Type> = keyof SeenEntity<Type> & string

/** A dot path. Only its first name is checked. */
export type PathOf<Type> = KeyOf<Type> | `${KeyOf<Type>}.${string}`

/** A dot path, with a minus if descending: `-starts_at`. */
export type SortOf<Type> = PathOf<Type> | `-${PathOf<Type>}`

/** The names of the fields that are references. */
type ReferenceKey<Type> = Type extends { readonly fields: infer Fields }
  ? { [Name in keyof Fields]: Fields[Name] extends { readonly type: 'ref' } ? Name : never }[keyof Fields] &
      string
  : never

/** A dot path within the Entity: of a reference, it has only the `id`. */
type OwnPathOf<Type, Key extends string = Exclude<KeyOf<Type>, ReferenceKey<Type>>> =
  | Key
  | `${Key}.${string}`
  | `${ReferenceKey<Type>}.id`

/** What a list can be sorted by in the client. */
export type OwnSortOf<Type> = OwnPathOf<Type> | `-${OwnPathOf<Type>}`

// Expansions.

/** The names of fields that are references, or may contain some. */
type ReferringKey<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends { readonly type: 'ref' | 'object' | 'list' } ? Name : never
}[keyof Fields] &
  string

/** The `as` names of all fields that refer to `Target`. */
type ReferrerIn<Fields, Target> = {
  [Name in keyof Fields]: Fields[Name] extends { readonly target: Target; readonly as: infer As }
    ? As
    : Fields[Name] extends { readonly items: { readonly target: Target; readonly as: infer As } }
      ? As
      : never
}[keyof Fields]

/** The names under which each type's Entities can be expanded as referrers of `Name`. */
type Referrers<Types, Name> = { [From in keyof Types]: ReferrerIn<DeclaredFields<Types[From]>, Name> }

type ExpandKey<Types, Name extends keyof Types> =
  | ReferringKey<DeclaredFields<Types[Name]>>
  | (Referrers<Types, Name>[keyof Types] & string)

/** A path to expand: `room`, `room.house`, `bookings(limit=5)`. Only its first name is checked. */
export type ExpandOf<Types, Name extends keyof Types> =
  | ExpandKey<Types, Name>
  | `${ExpandKey<Types, Name>}${'.' | '('}${string}`

/** A path without its options. */
type Bare<Path> = Path extends `${infer Name}(${string}` ? Name : Path

/** The rest of each path after a name: `''` for the name itself. */
type Behind<Path, Name extends string> = Path extends Name
  ? ''
  : Path extends `${Name}.${infer Rest}`
    ? Rest
    : never

type ExpandedValue<Types, Field, Value, Path> = [Path] extends [never]
  ? Value
  : Field extends { readonly type: 'ref'; readonly target: infer Target extends keyof Types }
    ? Expanded<Types, Target, SeenEntity<Types[Target]>, Exclude<Path, ''>> | Extract<Value, null | undefined>
    : Field extends { readonly type: 'list'; readonly items: infer Items }
      ? Value extends readonly (infer Item)[]
        ? ExpandedValue<Types, Items, Item, Path>[]
        : Value
      : Field extends { readonly type: 'object'; readonly fields: infer Fields }
        ? Value extends object
          ? Simplified<ExpandedFields<Types, Fields, Value, Path>>
          : Value
        : Value

type ExpandedFields<Types, Fields, Shape, Path> = {
  [Name in keyof Shape]: Name extends keyof Fields & string
    ? ExpandedValue<Types, Fields[Name], Shape[Name], Behind<Path, Name>>
    : Shape[Name]
}

/** The pages of referrers that are expanded, by their `as` names. */
type ExpandedReferrers<Types, Name, Path> = {
  [From in keyof Types as Referrers<Types, Name>[From] & Heads<Path> & string]: Page<
    Expanded<
      Types,
      From,
      SeenEntity<Types[From]>,
      Exclude<Behind<Path, Referrers<Types, Name>[From] & string>, ''>
    >
  >
}

type Heads<Path> = Path extends `${infer Head}.${string}` ? Head : Path

/** An Entity with its expanded references and referrers. */
type Expanded<Types, Name extends keyof Types, Shape, Path> = [Path] extends [never]
  ? Shape
  : Simplified<
      ExpandedFields<Types, DeclaredFields<Types[Name]>, Shape, Path> & ExpandedReferrers<Types, Name, Path>
    >

// Chosen fields.

type Chosen<Shape, Path> = {
  [Name in keyof Shape & string as [Behind<Path, Name>] extends [never] ? never : Name]: ChosenIn<
    Shape[Name],
    Behind<Path, Name>
  >
}

type ChosenIn<Value, Path> = '' extends Path
  ? Value
  : Value extends readonly unknown[]
    ? Value
    : Value extends object
      ? Chosen<Value, Path>
      : Value

type ChosenShape<Type, Path> = [Path] extends [never]
  ? SeenEntity<Type>
  : Simplified<Chosen<SeenEntity<Type>, Path | 'id'>>

/** The chosen fields, and also the references that are expanded. */
type WithExpanded<Type, Shape, Path> = Shape &
  Pick<SeenEntity<Type>, Exclude<Heads<Path> & KeyOf<Type>, keyof Shape>>

/** An Entity as `list` and `get` return it. `id` is always there. */
export type Answered<Types, Name extends keyof Types, Expand, Chosen> = [Expand] extends [never]
  ? ChosenShape<Types[Name], Chosen>
  : Expanded<
      Types,
      Name,
      WithExpanded<Types[Name], ChosenShape<Types[Name], Chosen>, Bare<Expand>>,
      Bare<Expand>
    >

/** A user of one login type, as a login returns it. */
type LoginUser<Type> = Type extends { readonly login?: { readonly userType: infer UserType extends string } }
  ? [UserType] extends [never]
    ? never
    : Simplified<SeenEntity<Type> & { user_type: UserType; password_expires_at?: string; acting?: string }>
  : never

/** The caller, of any login type. */
export type SignedInUser<Types> = [{ [Name in keyof Types]: LoginUser<Types[Name]> }[keyof Types]] extends [
  infer User,
]
  ? [User] extends [never]
    ? EntityKeys & { user_type: string; email: string }
    : User
  : never
