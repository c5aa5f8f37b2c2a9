import type { Expression } from './cel/expression.ts'
import type { Computed, NamedRule } from './cel/scope.ts'
import type { HookName, ReactionKind } from './code.ts'
import type { Action, OnDelete } from './define.ts'
import type { Check, ColumnKind, JsonSchema } from './fields/field.ts'
import type { LinkKind, MailKind } from './mail.ts'
import type { RetentionTimes } from './retention.ts'
import type { Rule } from './rule.ts'
import type { ServerValue } from './server-value.ts'

/** Texts for people. */
interface Named {
  readonly label: string | undefined
  readonly description: string | undefined
}

/** Rules and texts of one field. The rules of an object also apply to its fields. */
interface Ruled extends Named {
  readonly read: Rule | undefined
  readonly write: Rule | undefined
}

/** What the server puts into a field: a value that it determines when an Entity is written, or a constant. */
export type Providing = ServerValue | { readonly constant: unknown }

/** The values that the server provides for a field: `default` if it is not sent, the others always on that action. */
export interface Provided {
  readonly default?: ServerValue
  readonly create?: Providing
  readonly update?: Providing
}

/** The declared limits of a value: characters, numbers, decimals (as texts) or items. */
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
  /** Decimal places, for a decimal. */
  readonly scale: number
  readonly optional: boolean
  /** Normalised; undefined if there is none. */
  readonly default: unknown
  readonly provided: Provided | undefined
  readonly secret: boolean
  readonly unique: boolean
  /** Whether `?search=` finds its words. */
  readonly search: boolean
  /** Whether its folded form is stored, and whether sorts use that. */
  readonly fold: boolean
  readonly sortsFolded: boolean
  /** Its old name. */
  readonly was: string | undefined
  readonly check: Check
  readonly schema: JsonSchema
  readonly example: unknown
  readonly limits: ValueLimits
  /** For a list: the field of each item. */
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
  /** The name that the target has for the Entities that refer to it. */
  readonly as: string | undefined
  readonly provided: Provided | undefined
  readonly was: string | undefined
}

/** A list of references, or of objects with one each. A column has the list, a link table a row per member. */
export interface LinksField extends Ruled {
  /** The name that the target has for the Entities that refer to it. */
  readonly as: string | undefined
  readonly kind: 'links'
  readonly name: string
  readonly path: string
  readonly optional: boolean
  readonly target: string
  readonly onDelete: OnDelete
  readonly min: number
  readonly max: number | undefined
  /** For a list of objects: the item. Undefined if the items are references. */
  readonly item: ObjectField | undefined
  /** The name of the reference in such an item; otherwise empty. */
  readonly member: string
  /** The default can only be an empty list: no Entities exist yet. */
  readonly default: readonly [] | undefined
  readonly was: string | undefined
  readonly example: unknown
}

export type Field = ValueField | ObjectField | ReferenceField | LinksField

/** The fields of a new account, from what a provider says about its owner. */
export type ClaimsMapping = (claims: Readonly<Record<string, unknown>>) => unknown

export interface Login {
  readonly userType: string
  /** Whether users can log in only after they have proved their e-mail address. */
  readonly verify: boolean
  /** Whether users can or must set up a second factor. */
  readonly second?: 'optional' | 'required' | undefined
  /** How new accounts are filled from the claims of a provider, by the provider's name. */
  readonly providers: ReadonlyMap<string, ClaimsMapping>
}

/** A condition that every written Entity must meet. A false one fails; an unknown one does not. */
export interface EntityCheck {
  /** The condition, in CEL. */
  readonly that: string
  /** The dot path of the field that gets the error. */
  readonly at: string
  /** The text of the error. */
  readonly says: string
}

/** One key of a sort or an index. */
export interface IndexKey {
  readonly column: string
  readonly descending: boolean
}

export interface EntityType extends Named {
  readonly name: string
  /** The dot path of the text that people know an Entity by. */
  readonly title: string | undefined
  /** Its old name. */
  readonly was: string | undefined
  readonly fields: readonly Field[]
  readonly login: Login | undefined
  /** Sets of columns whose values together are unique among live rows. Single columns are included. */
  readonly uniques: readonly (readonly string[])[]
  /** Sorts that an index of the live rows serves, `id` included. */
  readonly indexes: readonly (readonly IndexKey[])[]
  readonly checks: readonly EntityCheck[]
  /** The computed fields, by name. */
  readonly computed: ReadonlyMap<string, Computed>
  readonly access: Readonly<Partial<Record<Action, Rule>>>
  /** Its named rules, including those of the app. */
  readonly rules: ReadonlyMap<string, NamedRule>
  readonly retention: RetentionTimes
  /** The hooks that run before writes, if there are any. */
  readonly before: Hooks | undefined
}

/** A hook: `given` is the body or Entity, `call` what else it can use. */
export type Hook = (given: object, call: object) => unknown
export type Hooks = Readonly<Partial<Record<HookName, Hook>>>

/** The link table: one row per member of a list of references. Triggers keep it in step with the list. */
export interface LinkTable {
  readonly table: string
  /** Its columns: the owner of the list, the member, and the member's place from 0. */
  readonly source: 'source'
  readonly target: 'target'
  readonly place: 'place'
}

/** The longest name that every database keeps unshortened. */
const NAME_MAX = 60

/** The link table of a list of references. Its name has a dot, so it never clashes with the table of a type. */
export function linkTableOf(type: string, path: string): LinkTable {
  const name = `${type}.${path}`
  const table = name.length <= NAME_MAX ? name : `${name.slice(0, 40)}.${Bun.hash(name).toString(36)}`
  return { table, source: 'source', target: 'target', place: 'place' }
}

/** An edge of the reference graph: a column of `from` points at `to`. */
export interface Edge {
  readonly from: string
  readonly path: string
  readonly column: string
  /** The innermost optional object around the column, if any. */
  readonly within: string | undefined
  readonly to: string
  readonly onDelete: OnDelete
  /** For a list: its link table, and how many members there must and may be. */
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
  /** The body as an Entity type that is not stored. */
  readonly body: EntityType | undefined
  /** The login types that may call it; `''` is nobody. Admins always may. */
  readonly admitted: ReadonlySet<string>
  run(call: object): unknown
}

/** The user's code, except for hooks, which are part of the types. */
export interface UserCode {
  readonly routes: readonly RouteType[]
  readonly jobs: readonly JobType[]
  readonly reactions: readonly ReactionType[]
}

/** Code that runs after a change of an Entity. */
export interface ReactionType {
  /** As it is declared: `orders.update`. */
  readonly name: string
  readonly entity: string
  readonly kinds: readonly ReactionKind[]
  run(call: object): unknown
}

/** Code that runs at certain times. */
export interface JobType {
  readonly name: string
  /** The cron expression as it is declared, in the time zone `zone`. */
  readonly every: string
  readonly zone: string
  next(after: Date): Date
  run(call: object): unknown
}

/** Another server that is told of changes. */
export interface Webhook {
  readonly name: string
  /** A valid URL. */
  readonly to: string
  /** The signing keys, as base64. */
  readonly secrets: readonly string[]
  /** The kinds of changes to send, by Entity type. */
  readonly kinds: ReadonlyMap<string, ReadonlySet<string>>
  /** A condition that the Entity must meet after the change. Only for webhooks with a single type. */
  readonly filter: Expression | undefined
  /** Whether `allow` lists its host, which may then be private. */
  readonly allowed: boolean
}

/** Mail texts and links that replace Takeback's own. */
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

/** Whether this process runs code of the user. */
export function hasCode({ entities, code, mail }: Model): boolean {
  const inTypes = [...entities.values()].some(({ before }) => before !== undefined)
  return inTypes || mail.texts.size > 0 || Object.values(code).some((declared) => declared.length > 0)
}

const nothing: Provided = Object.freeze({})

export function providedOf(field: Field): Provided {
  return (field.kind === 'value' || field.kind === 'reference' ? field.provided : undefined) ?? nothing
}

/** Whether the server sets a field on some action, so that it is never sent. For an object: all of its fields. */
export function isReadOnly(field: Field): boolean {
  if (field.kind === 'object') return field.fields.every(isReadOnly)
  const { create, update } = providedOf(field)
  return create !== undefined || update !== undefined
}

/** Whether the server fills a field of a new Entity that is not sent. */
export function isFilled(field: Field): boolean {
  if (field.kind === 'object') return isReadOnly(field)
  const { create, default: given } = providedOf(field)
  return create !== undefined || given !== undefined
}

/** The column of a field: its dot path; for a reference, with `.id`. */
export function columnOf(field: Field): string {
  return field.kind === 'reference' ? `${field.path}.id` : field.path
}

/** A field that refers to one or many Entities. */
export type PointingField = ReferenceField | LinksField

export function isPointing(field: Field): field is PointingField {
  return field.kind === 'reference' || field.kind === 'links'
}

/** A reference with an `as` name, as its target sees it: the referrers by that name. */
export interface Reverse {
  readonly name: string
  readonly from: EntityType
  readonly field: PointingField
}

/** Cached for each Model, since every expression needs them. */
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

/** The dot paths of all fields, including those inside of objects. */
export function pathsIn(fields: readonly Field[]): ReadonlySet<string> {
  return new Set([...walk(fields)].map(({ path }) => path))
}

/** The minimum length of passwords of a login type. */
export function passwordMin({ fields }: EntityType): number | undefined {
  const password = fields.find(({ path }) => path === 'password')
  const min = password?.kind === 'value' ? password.limits.min : undefined
  return typeof min === 'number' ? min : undefined
}
