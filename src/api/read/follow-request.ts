import { no } from '../../declare/cel/expression.ts'
import { didYouMean } from '../../declare/closest.ts'
import { addError, type Errors, Failure } from '../../errors.ts'
import { type Position, PositionGone } from '../../journal/position.ts'
import { type Delivery, deliveriesOf } from '../../live/delivery.ts'
import { type CallerId, callerIdOf, type Subscription, subscriptionOf } from '../../live/subscription.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Actor, Caller } from '../../plan/viewer/actor.ts'
import { allow, type Context, signInFirst } from '../context.ts'

/** The parameters that say what is followed. */
export const FOLLOWED = ['since', 'entity', 'filter', 'fields'] as const

/** Who follows what, from where on. */
export interface FollowRequest {
  readonly caller: Caller
  readonly subscription: Subscription
  readonly callerId: CallerId
  /** Undefined: from now on. */
  readonly since: Position | undefined
}

/** What is followed, as it is sent. */
export type Followed = { readonly [Name in (typeof FOLLOWED)[number]]?: string | undefined }

/** Adds what is wrong with it to `errors`. Throws if the caller may not read a type. */
export function parseFollow(
  context: Context,
  caller: Caller,
  { since, entity, filter, fields }: Followed,
  errors: Errors,
): FollowRequest {
  const { actor } = caller
  const plans = parseEntities(context, actor, entity, errors)
  const isOne = plans.length === 1
  for (const [name, given] of Object.entries({ filter, fields }))
    if (given !== undefined && !isOne) addError(errors, name, 'needs entity with exactly one Entity type')
  const chosen = isOne ? { filter, fields } : { filter: undefined, fields: undefined }
  const subscription = subscriptionOf(actor, { plans, ...chosen }, errors)
  return {
    caller,
    subscription,
    callerId: callerIdOf(subscription, actor),
    since: parsePosition(context, since, errors),
  }
}

function parseEntities(context: Context, actor: Actor, text: string | undefined, errors: Errors): Plan[] {
  const { plans } = context
  if (text === undefined) {
    const readable = [...plans.values()].filter((plan) => plan.view(actor).may.read !== no)
    if (readable.length === 0 && actor.kind === 'nobody') throw signInFirst()
    return readable
  }
  return [...new Set(text.split(','))].flatMap((name): Plan[] => {
    const plan = plans.get(name)
    if (plan === undefined) {
      addError(
        errors,
        'entity',
        () => `"${name}" is not an Entity type${didYouMean(name, [...plans.keys()])}`,
      )
      return []
    }
    allow(plan, 'read', actor, true)
    return [plan]
  })
}

function parsePosition(
  { positions }: Context,
  text: string | undefined,
  errors: Errors,
): Position | undefined {
  if (text === undefined) return undefined
  return (
    positions.parse(text) ??
    addError(errors, 'since', 'must be a position: the Takeback-Position of a list, or the next of an answer')
  )
}

/** Throws if the journal no longer reaches back to where it begins. */
export function checkPosition({ feed }: Context, { since, subscription }: FollowRequest): Promise<void> {
  return unlessGone(async () => {
    if (since !== undefined) await feed.check(since, subscription.entities)
  })
}

export async function unlessGone<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw error instanceof PositionGone ? new Failure('position_gone') : error
  }
}

/** A page of changes, in whole operations. */
export interface FollowedPage {
  readonly delivery: Delivery | undefined
  readonly next: Position
  readonly more: boolean
}

/** What comes after a position, in whole operations: up to the one that reaches the limit. */
export async function pageAfter(
  { feed, eventReader }: Context,
  { subscription, callerId }: FollowRequest,
  since: Position,
  limit: number,
): Promise<FollowedPage> {
  const page = await feed.after(since, { limit, entities: subscription.entities })
  const operationEvents = await eventReader.read({
    subscription,
    callerIds: [callerId],
    operations: page.operations,
  })
  let events = 0
  const end = operationEvents.findIndex((one) => {
    events += one.events.get(callerId)?.length ?? 0
    return events >= limit
  })
  const last = end < 0 || end === operationEvents.length - 1 ? undefined : operationEvents[end]
  const delivery = deliveriesOf(last === undefined ? operationEvents : operationEvents.slice(0, end + 1)).get(
    callerId,
  )
  return { delivery, next: last?.position ?? page.next, more: last !== undefined || page.more }
}
