import type { LooseApi, LooseUser } from './api-types.ts'
import type { EntityChanges, WholeEntity } from './infer.ts'

/** The types of the user's own code. Nothing here runs. */

type Awaitable<T> = T | Promise<T>
// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return may be async.
type Nothing = void | undefined

// Before a write.

/** What a hook works with. The other types are not known where one of them is declared, so `api` takes any name. */
export interface HookCall {
  /** Who calls; `null` for nobody and for the server itself. */
  readonly me: LooseUser | null
  /** The API as the caller may use it; `api.system` passes every rule. */
  readonly api: LooseApi
  /** Aborted when the hook has taken too long. */
  readonly signal: AbortSignal
}

/**
 * Code that runs before a write of one Entity. It may return another body, or refuse: `throw invalid({ … })`,
 * `throw forbidden('…')`. What was sent has the right types, but fields may be missing.
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
