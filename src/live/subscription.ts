import { addError, type Errors } from '../errors.ts'
import type { Plan, Plans } from '../plan/compile.ts'
import type { FollowPlan } from '../plan/view/follow.ts'
import { type Actor, userOf } from '../plan/viewer/actor.ts'
import type { Params } from '../store/dialect.ts'

/** What of a type is followed, and how. */
export interface FollowedType {
  readonly name: string
  readonly plan: FollowPlan
  /** Of its filter. */
  readonly params: Params
}

/** What somebody follows. All callers with the same `key` share one: they differ in their id at most. */
export interface Subscription {
  readonly key: string
  readonly types: readonly FollowedType[]
  /** Whether what they see depends on who they are. */
  readonly usesMe: boolean
  /** The login type of the callers, if they are signed in. */
  readonly login: string | undefined
  /** The types whose changes matter: those that are followed, and those that decide who sees what. */
  readonly entities: readonly string[]
}

interface SubscriptionRequest {
  readonly plans: readonly Plan[]
  readonly filter: string | undefined
  readonly fields: string | undefined
}

/** `filter` and `fields` are of the only type. Adds what is wrong with them to `errors`. */
export function subscriptionOf(
  actor: Actor,
  { plans, filter, fields }: SubscriptionRequest,
  errors: Errors,
): Subscription {
  const types = plans.map((plan): FollowedType => {
    const { lists, follow } = plan.view(actor)
    const parsed = filter === undefined ? undefined : lists.parse(filter, errors)
    const chosen = fields === undefined ? undefined : lists.parseFields(fields, errors)
    const followed = follow({ filter: parsed, fields: chosen })
    addFoldErrors(plan.type.name, followed, errors)
    return { name: plan.type.name, plan: followed, params: parsed?.params ?? {} }
  })
  const login = userOf(actor)?.entity
  const usesMe = types.some(({ plan }) => plan.usesMe)
  const own = types.some(({ plan }) => plan.mine.size > 0) && login !== undefined ? [login] : []
  const others = types.flatMap(({ plan }) => plan.dependencies.map(({ type }) => type))
  const [first] = plans
  return {
    key: JSON.stringify([first?.view(actor).viewer.name, types.map(({ name }) => name), filter, fields]),
    types,
    usesMe,
    login,
    entities: [...new Set([...types.map(({ name }) => name), ...others, ...own])],
  }
}

/** Folded texts are not in the journal, so what depends on them is unknown for former versions. */
function addFoldErrors(name: string, { folds }: FollowPlan, errors: Errors): void {
  if (folds === 'filter') addError(errors, 'filter', 'uses fold(), which changes cannot be filtered by')
  if (folds === 'rules')
    addError(errors, 'entity', `must not include ${name}: its rules or computed fields use fold()`)
}

/** The id of the caller; `null` if it does not matter, because all callers of the subscription see the same. */
export type CallerId = number | null

export function callerIdOf({ usesMe }: Subscription, actor: Actor): CallerId {
  return usesMe ? (userOf(actor)?.id ?? null) : null
}

/** The plans of types by name. */
export function plansOf(plans: Plans, names: readonly string[]): Plan[] {
  return names.flatMap((name) => plans.get(name) ?? [])
}
