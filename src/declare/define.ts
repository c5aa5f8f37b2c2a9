import type {
  CheckedEntities,
  FieldPath,
  IndexPath,
  ItemOf,
  LoginName,
  LoginNames,
  TextPath,
  UniquePath,
} from './checked.ts'
import type {
  AnyHooks,
  AnyJobs,
  AnyReactions,
  AnyRoutes,
  BeforeHooks,
  Jobs,
  KnownRoutes,
  Reactions,
  Routes,
} from './code.ts'
import type { FieldOptions, FieldRules, Labelled } from './fields/field.ts'
import type {
  DecimalDeclaration,
  DecimalOptions,
  IntegerDeclaration,
  NumberDeclaration,
  NumberOptions,
} from './fields/number.ts'
import type {
  BooleanDeclaration,
  BooleanOptions,
  JsonDeclaration,
  JsonOptions,
  SecretDeclaration,
  SecretOptions,
} from './fields/plain.ts'
import type {
  AddressOptions,
  ChoiceDeclaration,
  ChoiceOptions,
  EmailDeclaration,
  TextDeclaration,
  TextOptions,
  UrlDeclaration,
} from './fields/text.ts'
import type { DateDeclaration, DatetimeDeclaration, TimeOptions } from './fields/time.ts'

import type { MailDeclaration } from './mail.ts'
import type { Keep } from './retention.ts'
import type { Rule } from './rule.ts'
import type { CelValue, MeValue, ServerValue } from './server-value.ts'
import type { WebhookDeclaration, WebhookEvent } from './webhooks.ts'

export { everyone, type Rule, signedIn } from './rule.ts'
export { cel, me, now } from './server-value.ts'

/** What happens to the Entities that refer to an Entity when it is deleted. */
export type OnDelete = 'restrict' | 'cascade' | 'clear'

export interface ObjectOptions extends FieldRules {
  /** May be left out; it is then `null`. */
  readonly optional?: boolean
  /** Its old name: a rename keeps the data. */
  readonly was?: string
}
export interface ListOptions<Item = unknown> extends FieldOptions {
  /** The minimum number of items. */
  readonly min?: number
  /** The maximum number of items. */
  readonly max?: number
  readonly default?: readonly Item[]
}
export interface RefOptions extends FieldRules {
  /** May be left out; it is then `null`. */
  readonly optional?: boolean
  readonly onDelete?: OnDelete
  readonly unique?: boolean
  /** `me`, the user who makes the request, or `cel('…')`. */
  readonly default?: MeValue | CelValue
  /** The name that the target has for the Entities that refer to it, in `?expand=`, filters and rules. */
  readonly as?: string
  /** Its old name: a rename keeps the data. */
  readonly was?: string
}

export type Fields = Readonly<Record<string, FieldDeclaration>>

export interface ObjectDeclaration extends ObjectOptions {
  readonly type: 'object'
  readonly fields: Fields
}
export interface ListDeclaration extends ListOptions {
  readonly type: 'list'
  readonly items: FieldDeclaration
}
export interface RefDeclaration extends RefOptions {
  readonly type: 'ref'
  readonly target: string
}

export type FieldDeclaration =
  | TextDeclaration
  | EmailDeclaration
  | UrlDeclaration
  | ChoiceDeclaration
  | IntegerDeclaration
  | NumberDeclaration
  | DecimalDeclaration
  | BooleanDeclaration
  | DateDeclaration
  | DatetimeDeclaration
  | JsonDeclaration
  | SecretDeclaration
  | ObjectDeclaration
  | ListDeclaration
  | RefDeclaration

/** Refuses unknown options: TypeScript would accept them where the options are inferred. */
type Only<Options, Known> = Options & { readonly [Name in Exclude<keyof Options, keyof Known>]: never }

/** Infers from the given value only, not from where the result is used, which could be any declaration. */
type Given<T> = [T] extends [infer Same extends T] ? Same : never

/** A field with exactly the options that were given. */
export type Declared<Type extends string, Options> = Given<Options> & { readonly type: Type }

// biome-ignore lint/complexity/noBannedTypes: no options were given.
type None = {}

/** Text. Length is counted in characters. */
export const text = <const O extends TextOptions = None>(options?: Only<O, TextOptions>) =>
  declare<'text', O>('text', options)
/** An e-mail address. */
export const email = <const O extends AddressOptions = None>(options?: Only<O, AddressOptions>) =>
  declare<'email', O>('email', options)
/** An `http` or `https` address. */
export const url = <const O extends AddressOptions = None>(options?: Only<O, AddressOptions>) =>
  declare<'url', O>('url', options)
/** A whole number within ±(2^53 − 1). */
export const integer = <const O extends NumberOptions = None>(options?: Only<O, NumberOptions>) =>
  declare<'integer', O>('integer', options)
/** A double-precision number. For money use `decimal`. */
export const number = <const O extends NumberOptions = None>(options?: Only<O, NumberOptions>) =>
  declare<'number', O>('number', options)
/** An exact decimal, a text in JSON: `"10.50"`. */
export const decimal = <const O extends DecimalOptions = None>(options?: Only<O, DecimalOptions>) =>
  declare<'decimal', O>('decimal', options)
/** `true` or `false`. */
export const boolean = <const O extends BooleanOptions = None>(options?: Only<O, BooleanOptions>) =>
  declare<'boolean', O>('boolean', options)
/** A calendar day: `"2026-12-31"`. */
export const date = <const O extends TimeOptions = None>(options?: Only<O, TimeOptions>) =>
  declare<'date', O>('date', options)
/** An instant, kept and shown in UTC with milliseconds: `"2026-12-31T18:00:00.000Z"`. */
export const datetime = <const O extends TimeOptions = None>(options?: Only<O, TimeOptions>) =>
  declare<'datetime', O>('datetime', options)
/** One of the given texts. */
export const choice = <const V extends readonly string[], const O extends ChoiceOptions<V[number]> = None>(
  values: V,
  options?: Only<O, ChoiceOptions>,
) => declare('choice', { ...options, values } as O & { readonly values: V })
/** Any JSON, kept as it is. */
export const json = <const O extends JsonOptions = None>(options?: Only<O, JsonOptions>) =>
  declare<'json', O>('json', options)
/** Can be written but never read: only its hash is stored. */
export const secret = <const O extends SecretOptions = None>(options?: Only<O, SecretOptions>) =>
  declare<'secret', O>('secret', options)
/** Fields under a common name; each has its own column. */
export const object = <const F extends Fields, const O extends ObjectOptions = None>(
  fields: F,
  options?: Only<O, ObjectOptions>,
) => declare('object', { ...options, fields } as O & { readonly fields: F })
/** A list of values of one type. A list of references is ordered and has no duplicates. */
export const list = <const I extends FieldDeclaration, const O extends ListOptions<ItemOf<I>> = None>(
  items: I,
  options?: Only<O, ListOptions>,
) => declare('list', { ...options, items } as O & { readonly items: I })
/** A reference to an Entity of another type, or of the same: `{"id": 5}`. */
export const ref = <const T extends string, const O extends RefOptions = None>(
  target: T,
  options?: Only<O, RefOptions>,
) => declare('ref', { ...options, target } as O & { readonly target: T })

function declare<const T extends string, O extends object>(type: T, options: O | undefined): Declared<T, O> {
  return Object.freeze({ ...options, type }) as Declared<T, O>
}

export const actions = ['create', 'read', 'update', 'delete', 'restore', 'purge', 'history'] as const
export type Action = (typeof actions)[number]

export interface LoginDeclaration<UserType extends string = string> {
  /** The value of `user_type` at login. */
  readonly userType: UserType
  /** The minimum length of a password. Default 12, at least 8. */
  readonly passwordMin?: number
  /** Whether users must confirm their e-mail address by a mailed link before they can log in. */
  readonly verify?: boolean
  /** Whether users can or must set up a second factor. Default: they cannot. */
  readonly second?: 'optional' | 'required'
  /** The fields of a new account, from the claims of a provider: `{ google: (claims) => ({ name: claims.name }) }`. */
  readonly providers?: Readonly<
    Record<string, (claims: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>>
  >
  /** Rules for the e-mail, as for any field. */
  readonly email?: { readonly read?: Rule; readonly write?: Rule }
}

/** A condition on Entities. A write that would make it false is answered with 422. */
export interface CheckDeclaration<Path extends string = string> {
  /** A condition in CEL over the Entity as it will be: `'ends_at > starts_at'`, `'quantity <= product.stock'`. */
  readonly that: string
  /** The dot path of the field that gets the error. */
  readonly at: Path
  /** The text of the error: `'must be after starts_at'`. */
  readonly says: string
}

/** `me`, `now`, `cel('…')`, or a constant. */
export type SetValue = ServerValue | string | number | boolean | null

/** Values that the server always sets: `{ create: { … }, update: { edited_by: me, edited_at: now } }`. */
export interface SetDeclaration<Path extends string = string> {
  readonly create?: { readonly [P in Path]?: SetValue }
  readonly update?: { readonly [P in Path]?: SetValue }
}

/**
 * One Entity type. `F`: its fields. `UserType`: its `user_type`, never if it has no login. `Kept`: the dot paths that
 * only the server sets. `Computed`: the names of its computed fields.
 */
export interface EntityDeclaration<
  F extends Fields = Fields,
  UserType extends string = string,
  Kept extends string = string,
  Computed extends string = string,
> extends Labelled {
  readonly fields: F
  /** Lets Entities of this type log in: adds `email`, unique, and `password`, secret. */
  readonly login?: LoginDeclaration<UserType>
  /** The dot path of the text that people know an Entity by: `name`, `address.city`. */
  readonly title?: string
  /** Sets of dot paths whose values together must be unique among the live Entities. */
  readonly unique?: readonly (readonly string[])[]
  /** Sorts that an index of the live Entities serves: lists of dot paths, `-` for descending. */
  readonly index?: readonly (readonly string[])[]
  /** Values that the server always sets on an action, by dot path. Bodies must not contain these fields. */
  readonly set?: SetDeclaration<Kept>
  /** Read-only fields that are computed from others, by their names: `{ total: 'quantity * price' }`. */
  readonly computed?: { readonly [Name in Computed]: string }
  /** Conditions that every Entity must meet when it is written. */
  readonly check?: readonly CheckDeclaration[]
  /** Its old name: a rename keeps the data, the journal and the references to it. */
  readonly was?: string
  /** How long deleted Entities and the journal are kept. Default: as declared in the app. */
  readonly trash?: Keep
  readonly journal?: Keep
  /** Rules by action. An action without one is for admins only. */
  readonly access?: Readonly<Partial<Record<Action, Rule>>>
  /** Conditions by name, which the rules of this type can use: `{ own: 'owner.id == me.id' }`. */
  readonly rules?: Readonly<Record<string, string>>
  /** Code that runs before creates, updates and deletes. It may change the body, or refuse. */
  readonly before?: AnyHooks
}

/** An Entity type as users write it: paths must exist. Template literal types make type errors list them. */
export interface EntityOptions<
  F extends Fields,
  UserType extends string,
  Kept extends string,
  Computed extends string,
> extends EntityDeclaration<F, UserType, Kept, Computed> {
  readonly title?: `${TextPath<F, UserType>}`
  readonly unique?: readonly (readonly `${UniquePath<F, UserType>}`[])[]
  readonly index?: readonly (readonly `${IndexPath<F, UserType>}`[])[]
  readonly check?: readonly CheckDeclaration<`${FieldPath<F, UserType>}`>[]
  readonly before?: BeforeHooks<EntityDeclaration<F, UserType, Kept, Computed>>
}

export type Entities = Readonly<Record<string, EntityDeclaration>>

/** The whole backend. `E`: its Entity types. `R`: its routes, as a client sees them. */
export interface AppDeclaration<E = Entities, R = AnyRoutes> {
  readonly entities: E
  /** The login type whose members pass every rule. */
  readonly admins?: string
  /** Conditions by name, which the rules of all types can use: `{ own: 'owner.id == me.id' }`. */
  readonly rules?: Readonly<Record<string, string>>
  /** How long deleted Entities are kept before they are purged. Default: forever. */
  readonly trash?: Keep
  /** How long the journal keeps old versions. Default: forever. */
  readonly journal?: Keep
  /** Your own endpoints, by method and path. */
  readonly routes?: R
  /** Code that runs at certain times, by name. */
  readonly jobs?: AnyJobs
  /** Other servers to tell about changes, by name. */
  readonly webhooks?: Readonly<Record<string, WebhookDeclaration>>
  /** Code that runs after changes, by Entity type and kind of change. */
  readonly reactions?: AnyReactions
  /** Texts of mails in place of Takeback's own, and where their links lead. */
  readonly mail?: MailDeclaration
}

/** The app as users write it: names must be those of its Entity types. */
export interface AppOptions<E, Bodies>
  extends Omit<AppDeclaration<E>, 'routes' | 'jobs' | 'reactions' | 'mail'> {
  readonly admins?: LoginName<LoginNames<E>[keyof E & string]>
  readonly routes?: Routes<E, Bodies>
  readonly jobs?: Jobs<E>
  readonly webhooks?: Readonly<Record<string, WebhookDeclaration<WebhookEvent<keyof E & string>>>>
  readonly reactions?: Reactions<E>
  readonly mail?: MailDeclaration<E>
}

/** Declares one Entity type. */
export function entity<
  const F extends Fields,
  const UserType extends string = never,
  const Kept extends `${FieldPath<F, UserType>}` = never,
  const Computed extends string = never,
>(
  declaration: EntityOptions<F, UserType, Kept, Computed>,
): EntityDeclaration<Given<F>, Given<UserType>, Given<Kept>, Given<Computed>> {
  return Object.freeze(declaration) as unknown as ReturnType<typeof entity<F, UserType, Kept, Computed>>
}

/** Declares the whole backend: the default export of `takeback.config.ts`. */
export function app<const E extends CheckedEntities<E, EntityDeclaration>, const Bodies = unknown>(
  declaration: AppOptions<E, Bodies>,
): AppDeclaration<Given<E>, KnownRoutes<Bodies>> {
  return Object.freeze(declaration) as unknown as AppDeclaration<Given<E>, KnownRoutes<Bodies>>
}
