import type { Expression } from './cel/expression.ts'
import type { Computed, NamedRule } from './cel/scope.ts'
import type { HookName, ReactionKind } from './code.ts'
import type { Action, OnDelete } from './define.ts'
import type { Check, ColumnKind, JsonSchema } from './fields/field.ts'
import type { LinkKind, MailKind } from './mail.ts'
import type { RetentionTimes } from './retention.ts'
import type { Rule } from './rule.ts'
import type { ServerValue } from './server-value.ts'

/** Words for people. */
interface Named {
  readonly label: string | undefined
  readonly description: string | undefined
}

/** Rules and words of one field. The rules of an object also apply to its fields. */
interface Ruled extends Named {
  readonly read: Rule | undefined
  readonly write: Rule | undefined
}

/** What the server puts into a field: a value that it finds when an Entity is written, or a constant. */
export type Providing = ServerValue | { readonly constant: unknown }

/** What the server provides for a field: unless it is sent (`default`), or always on an action. */
export interface Provided {
  readonly default?: ServerValue
  readonly create?: Providing
  readonly update?: Providing
}

/** What a value may be, as it is declared: numbers of characters, numbers, decimals as texts, or numbers of items. */
export interface ValueLimits {
  readonly min?: number | string
  readonly max?: number | string
  readonly pattern?: string
  readonly choices?: readonly string[]
}

/** A value in one column: all types but objects, references and lists of those. */
export interface ValueField extends Ruled {
  readonly kind: 'value'
  readonly name: string
  readonly path: string
  readonly type: string
  readonly column: ColumnKind
  /** Digits behind the point, of a decimal. */
  readonly scale: number
  readonly optional: boolean
  /** Normalised; undefined if there is none. */
  readonly default: unknown
  readonly provided: Provided | undefined
  readonly secret: boolean
  readonly unique: boolean
  /** Its words are found by `?search=`. */
  readonly search: boolean
  /** Whether `fold(…)` of it is kept, and whether it is sorted by that. */
  readonly fold: boolean
  readonly sortsFolded: boolean
  /** Its old name. */
  readonly was: string | undefined
  readonly check: Check
  readonly schema: JsonSchema
  readonly example: unknown
  readonly limits: ValueLimits
  /** What each item of a list is. */
  readonly item: Field | undefined
}

export interface ObjectField extends Ruled {
  readonly kind: 'object'
  readonly name: string
  readonly path: string
  readonly optional: boolean
  readonly was: string | undefined
  readonly fields: readonly Field[]
}

export interface ReferenceField extends Ruled {
  readonly kind: 'reference'
  readonly name: string
  readonly path: string
  readonly optional: boolean
  readonly target: string
  readonly onDelete: OnDelete
  readonly unique: boolean
  /** What the target calls those that refer to it. */
  readonly as: string | undefined
  readonly provided: Provided | undefined
  readonly was: string | undefined
}

/** A list of references, or of objects with a reference each: a column has the list as it is shown, and a table beside it a row for each member. */
export interface LinksField extends Ruled {
  /** What the target calls those that refer to it. */
  readonly as: string | undefined
  readonly kind: 'links'
  readonly name: string
  readonly path: string
  readonly optional: boolean
  readonly target: string
  readonly onDelete: OnDelete
  readonly min: number
  readonly max: number | undefined
  /** In a list of objects, what each item is; undefined if the items are the references themselves. */
  readonly item: ObjectField | undefined
  /** The name of the reference in such an item; otherwise empty. */
  readonly member: string
  /** If there is one, it is empty: no Entities exist yet. */
  readonly default: readonly [] | undefined
  readonly was: string | undefined
  readonly example: unknown
}

export type Field = ValueField | ObjectField | ReferenceField | LinksField

/** The fields of a new account, from what a provider says about its owner. */
export type ClaimsMapping = (claims: Readonly<Record<string, unknown>>) => unknown

export interface Login {
  readonly userType: string
  /** Whether users log in only with an e-mail address that was proved. */
  readonly verify: boolean
  /** Whether users can set up a second factor, or must. */
  readonly second?: 'optional' | 'required' | undefined
  /** What new accounts take from the claims of a provider, by its name. */
  readonly providers: ReadonlyMap<string, ClaimsMapping>
}

/** A condition that every Entity must meet when it is written; only a false one fails, not one that is unknown. */
export interface EntityCheck {
  /** The condition, in CEL. */
  readonly that: string
  /** The dot path of the field whose error it is. */
  readonly at: string
  /** The error. */
  readonly says: string
}

/** One key of a sort or an index. */
export interface IndexKey {
  readonly column: string
  readonly descending: boolean
}

export interface EntityType extends Named {
  readonly name: string
  /** The dot path of the text that names an Entity for people. */
  readonly title: string | undefined
  /** Its old name. */
  readonly was: string | undefined
  readonly fields: readonly Field[]
  readonly login: Login | undefined
  /** Columns whose values together are unique among the live, single ones included. */
  readonly uniques: readonly (readonly string[])[]
  /** Sorts that an index of the live serves, `id` included. */
  readonly indexes: readonly (readonly IndexKey[])[]
  readonly checks: readonly EntityCheck[]
  /** Fields that are not stored, by their names. */
  readonly computed: ReadonlyMap<string, Computed>
  readonly access: Readonly<Partial<Record<Action, Rule>>>
  /** Its named rules, and those of the app. */
  readonly rules: ReadonlyMap<string, NamedRule>
  readonly retention: RetentionTimes
  /** The user's code before writes, if there is any. */
  readonly before: Hooks | undefined
}

/** What a hook is given, and what else it works with. */
export type Hook = (given: object, call: object) => unknown
export type Hooks = Readonly<Partial<Record<HookName, Hook>>>

/** The table that tells the members of a list of references, a row for each; the database keeps it as the list is. */
export interface LinkTable {
  readonly table: string
  /** Its columns: whose list it is, who is in it, and where, from 0. */
  readonly source: 'source'
  readonly target: 'target'
  readonly place: 'place'
}

/** What every database keeps of a name. */
const NAME_MAX = 60

/** The link table of a list of references at a dot path of a type. No type's own table can be called so: it has a dot. */
export function linkTableOf(type: string, path: string): LinkTable {
  const name = `${type}.${path}`
  const table = name.length <= NAME_MAX ? name : `${name.slice(0, 40)}.${Bun.hash(name).toString(36)}`
  return { table, source: 'source', target: 'target', place: 'place' }
}

/** An arrow of the reference graph: `from`'s column points at `to`. */
export interface Edge {
  readonly from: string
  readonly path: string
  readonly column: string
  /** The innermost optional object that it is in, if any. */
  readonly within: string | undefined
  readonly to: string
  readonly onDelete: OnDelete
  /** Where it points at many: the table that tells which, and how many there must and may be. */
  readonly list:
    | {
        readonly links: string
        /** The name of the reference in an item of a list of objects; otherwise empty. */
        readonly member: string
        readonly min: number
        readonly max: number | undefined
      }
    | undefined
}

/** An endpoint of the user's own. */
export interface RouteType extends Named {
  /** As it is declared: `POST /api/checkout/`. */
  readonly key: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** As the OpenAPI document writes it: `/api/rooms/{id}/free/`. */
  readonly path: string
  readonly params: readonly string[]
  /** The names of its query parameters. */
  readonly query: readonly string[]
  /** The body as a type that is not stored. */
  readonly body: EntityType | undefined
  /** The login types that may call it; `''` is nobody. Admins always may. */
  readonly admitted: ReadonlySet<string>
  run(call: object): unknown
}

/** The user's code, besides the hooks of the types. */
export interface UserCode {
  readonly routes: readonly RouteType[]
  readonly jobs: readonly JobType[]
  readonly reactions: readonly ReactionType[]
}

/** What is to be done after a change of an Entity. */
export interface ReactionType {
  /** As it is declared: `orders.update`. */
  readonly name: string
  readonly entity: string
  readonly kinds: readonly ReactionKind[]
  run(call: object): unknown
}

/** What is to be done at certain times. */
export interface JobType {
  readonly name: string
  /** As it is declared, in this time zone. */
  readonly every: string
  readonly zone: string
  next(after: Date): Date
  run(call: object): unknown
}

/** Somebody else's server that is told of changes. */
export interface Webhook {
  readonly name: string
  /** A valid URL. */
  readonly to: string
  /** The keys that sign, as bytes in base64. */
  readonly secrets: readonly string[]
  /** By type, the kinds of changes that it is told of. */
  readonly kinds: ReadonlyMap<string, ReadonlySet<string>>
  /** Of its only type: the condition that an Entity meets after the change. */
  readonly filter: Expression | undefined
  /** Whether its host was allowed by name: it may be private. */
  readonly allowed: boolean
}

/** Texts and links in place of Takeback's own. */
export interface MailModel {
  readonly texts: ReadonlyMap<MailKind, (call: object) => unknown>
  /** Paths of the app's pages, with `{token}`. */
  readonly links: ReadonlyMap<LinkKind, string>
}

/** The declarations, resolved and frozen. */
export interface Model {
  readonly code: UserCode
  readonly entities: ReadonlyMap<string, EntityType>
  readonly admins: string | undefined
  /** Login types in the order of declaration. */
  readonly logins: readonly EntityType[]
  readonly edges: readonly Edge[]
  readonly webhooks: readonly Webhook[]
  readonly mail: MailModel
}

/** Whether code of the user's runs in this process. */
export function hasCode({ entities, code, mail }: Model): boolean {
  const inTypes = [...entities.values()].some(({ before }) => before !== undefined)
  return inTypes || mail.texts.size > 0 || Object.values(code).some((declared) => declared.length > 0)
}

const nothing: Provided = Object.freeze({})

export function providedOf(field: Field): Provided {
  return (field.kind === 'value' || field.kind === 'reference' ? field.provided : undefined) ?? nothing
}

/** Whether it is set by the server on some action, and so never sent; of an object, all that is in it. */
export function isReadOnly(field: Field): boolean {
  if (field.kind === 'object') return field.fields.every(isReadOnly)
  const { create, update } = providedOf(field)
  return create !== undefined || update !== undefined
}

/** Whether a new Entity gets it from the server if it is not sent. */
export function isFilled(field: Field): boolean {
  if (field.kind === 'object') return isReadOnly(field)
  const { create, default: given } = providedOf(field)
  return create !== undefined || given !== undefined
}

/** The column in which a field lives: its dot path, and the id's for a reference. */
export function columnOf(field: Field): string {
  return field.kind === 'reference' ? `${field.path}.id` : field.path
}

/** A field that refers to Entities: to one, or to many. */
export type PointingField = ReferenceField | LinksField

export function isPointing(field: Field): field is PointingField {
  return field.kind === 'reference' || field.kind === 'links'
}

/** Those that refer to Entities of a type by a field for which it has a name. */
export interface Reverse {
  readonly name: string
  readonly from: EntityType
  readonly field: PointingField
}

/** Collected once for each Model, since every expression asks for them. */
const reverses = new WeakMap<Model['entities'], ReadonlyMap<string, readonly Reverse[]>>()

export function reversesOf({ entities }: Pick<Model, 'entities'>, target: string): readonly Reverse[] {
  const known = reverses.get(entities) ?? allReverses(entities)
  reverses.set(entities, known)
  return known.get(target) ?? []
}

function allReverses(entities: Model['entities']): ReadonlyMap<string, readonly Reverse[]> {
  const all = [...entities.values()].flatMap((from) =>
    [...walk(from.fields)].flatMap((field): Reverse[] =>
      isPointing(field) && field.as !== undefined ? [{ name: field.as, from, field }] : [],
    ),
  )
  return Map.groupBy(all, ({ field }) => field.target)
}

/** The field of a column. */
export function fieldIn({ fields }: EntityType, column: string): Field | undefined {
  for (const field of walk(fields)) if (columnOf(field) === column) return field
  return undefined
}

/** All fields, outer ones first, objects included. */
export function* walk(fields: readonly Field[]): Generator<Field> {
  for (const field of fields) {
    yield field
    if (field.kind === 'object') yield* walk(field.fields)
  }
}

/** The dot paths of all of them, those inside of objects too. */
export function pathsIn(fields: readonly Field[]): ReadonlySet<string> {
  return new Set([...walk(fields)].map(({ path }) => path))
}

/** The fewest characters of the passwords of a login type. */
export function passwordMin({ fields }: EntityType): number | undefined {
  const password = fields.find(({ path }) => path === 'password')
  const min = password?.kind === 'value' ? password.limits.min : undefined
  return typeof min === 'number' ? min : undefined
}
