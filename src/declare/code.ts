import type { Api, LooseApi, LooseUser, SystemApi } from './api-types.ts'
import type { Labelled } from './fields/field.ts'
import type { AnyUser, EntityChanges, ReturnedFields, WholeEntity } from './infer.ts'
import type { Rule } from './rule.ts'

/** The types of the user's own code. Nothing here runs. */

type Awaitable<T> = T | Promise<T>
// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return may be async.
type Nothing = void | undefined

// Hooks, which run before a write.

/** What a hook can use. A type is declared before the other types are known, so `api` takes any name. */
export interface HookCall {
  /** The caller; `null` for nobody and for the server itself. */
  readonly me: LooseUser | null
  /** The API with the caller's rights; `api.system` passes every rule. */
  readonly api: LooseApi
  /** Aborted when the hook has taken too long. */
  readonly signal: AbortSignal
}

/**
 * Code that runs before a write of one Entity. It may return another body, or refuse: `throw invalid({ … })`,
 * `throw forbidden('…')`. The values of the body have the right types, but fields may be missing.
 */
export interface BeforeHooks<Type> {
  /** Before a create. */
  create?(body: EntityChanges<Type>, call: HookCall): Awaitable<EntityChanges<Type> | Nothing>
  /** Before a PATCH or a PUT: the keys that were sent. */
  update?(
    changes: EntityChanges<Type>,
    call: HookCall & { readonly before: WholeEntity<Type> },
  ): Awaitable<EntityChanges<Type> | Nothing>
  /** Before a delete, not before a restore or a purge. */
  delete?(entity: WholeEntity<Type>, call: HookCall): Awaitable<void>
}

// biome-ignore lint/suspicious/noExplicitAny: it stands for what any hook returns, and must fit every type's own.
type Anything = any

/** Hooks of any type. */
export interface AnyHooks {
  create?(body: never, call: never): Anything
  update?(changes: never, call: never): Anything
  delete?(entity: never, call: never): Anything
}

export const hookNames = ['create', 'update', 'delete'] as const
export type HookName = (typeof hookNames)[number]

// Routes.

/** The names of the parameters in a path: `id` in `/api/rooms/:id/free/`. */
export type PathNames<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

/** A request to a route. */
export interface RouteCall<Types, Body, Path> {
  /** The caller; `null` for nobody. */
  readonly me: AnyUser<Types> | null
  /** The checked body, with defaults. `undefined` if the route declares none. */
  readonly body: Body extends { readonly fields: infer Fields extends object }
    ? ReturnedFields<Fields, false>
    : undefined
  /** The path parameters, as they were sent. */
  readonly params: Readonly<Record<PathNames<Path>, string>>
  /** The declared query parameters, as they were sent. */
  readonly query: Readonly<Record<string, string | undefined>>
  /** The API with the caller's rights; `api.system` passes every rule. */
  readonly api: Api<Types>
  /** Aborted when the route has taken too long. */
  readonly signal: AbortSignal
}

/** An endpoint of your own. */
export interface RouteDeclaration<Types, Body, Path> extends Labelled {
  /** Who may call it: `everyone`, `signedIn`, or a condition on `me.type`. Without it, only admins. */
  readonly access?: Rule
  /** The fields of the body: `object({ … })`. */
  readonly body?: Body
  /** The names of the parameters that it takes in the query. Others are refused. */
  readonly query?: readonly string[]
  /** Returns the answer, which is sent as JSON. Without a result the answer is 204. */
  run(call: RouteCall<Types, Body, Path>): unknown
}

/** Routes by method and path: `'POST /api/checkout/'`. */
export type Routes<Types, Bodies> = {
  readonly [Path in keyof Bodies]: RouteDeclaration<Types, Bodies[Path], Path>
}

/** Routes of any types. */
export type AnyRoutes = Readonly<Record<string, KnownRoute<unknown>>>

/** A declared route and the type of its body. */
export interface KnownRoute<Body> extends Labelled {
  readonly access?: Rule
  readonly body?: Body
  run(call: never): Anything
}

export type KnownRoutes<Bodies> = { readonly [Path in keyof Bodies]: KnownRoute<Bodies[Path]> }

// Jobs.

/** What a job can use. */
export interface JobCall<Types> {
  /** The API. A job passes every rule. In the history, its writes are by `jobs/<name>`. */
  readonly api: SystemApi<Types>
  /** Aborted when the server stops or another instance has taken over: end soon. */
  readonly signal: AbortSignal
}

/** Code that runs at certain times, on one instance. */
export interface JobDeclaration<Types> {
  /** A cron expression: minute, hour, day, month, weekday. `'0 3 * * *'` is every night at three. */
  readonly every: string
  /** The time zone of `every`: `'Europe/Berlin'`. Default: UTC. */
  readonly zone?: string
  run(call: JobCall<Types>): unknown
}

/** Jobs by name. */
export type Jobs<Types> = Readonly<Record<string, JobDeclaration<Types>>>

/** Jobs of any types. */
export type AnyJobs = Readonly<
  Record<string, { readonly every: string; readonly zone?: string; run(call: never): Anything }>
>

// Reactions.

export const reactionKinds = ['create', 'update', 'delete', 'restore', 'purge'] as const
export type ReactionKind = (typeof reactionKinds)[number]

/** The Entity before and after each kind of change. */
interface States<Entity> {
  readonly create: { readonly before: null; readonly after: Entity }
  readonly update: { readonly before: Entity; readonly after: Entity }
  readonly delete: { readonly before: Entity; readonly after: Entity }
  readonly restore: { readonly before: Entity; readonly after: Entity }
  readonly purge: { readonly before: null; readonly after: null }
  readonly '*': { readonly before: Entity | null; readonly after: Entity | null }
}

/** A committed change, as a reaction gets it. */
export type ReactionCall<Types, Key> =
  Key extends `${infer Name extends keyof Types & string}.${infer Kind extends ReactionKind | '*'}`
    ? States<WholeEntity<Types[Name]>>[Kind] & {
        /** The id of the Entity. */
        readonly id: number
        readonly kind: Kind extends '*' ? ReactionKind : Kind
        /** The operation that changed it. */
        readonly operation: ReactionCause
        /** The API. A reaction passes every rule. In the history, its writes are by `reactions/<name>`. */
        readonly api: SystemApi<Types>
        /** Which attempt this is, from 1. */
        readonly attempt: number
        /** Aborted when the server stops, or the reaction has taken too long. */
        readonly signal: AbortSignal
      }
    : never

/** The operation that a reaction reacts to. */
export interface ReactionCause {
  readonly id: string
  readonly at: string
  readonly actor: string | null
  /** The operation that caused this one, if a reaction made it. */
  readonly cause: string | null
}

/** Reactions by Entity type and kind of change: `'orders.update'`, `'orders.*'`. */
export type Reactions<Types> = {
  readonly [Key in `${keyof Types & string}.${ReactionKind | '*'}`]?: (
    call: ReactionCall<Types, Key>,
  ) => unknown
}

/** Reactions of any types. */
export type AnyReactions = Readonly<Record<string, ((call: never) => Anything) | undefined>>
