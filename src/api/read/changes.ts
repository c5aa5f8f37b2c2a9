import { budget } from '../../budget.ts'
import { no } from '../../declare/cel/expression.ts'
import { didYouMean } from '../../declare/closest.ts'
import { type Errors, Failure, invalid, note } from '../../errors.ts'
import { type Position, PositionGone } from '../../journal/position.ts'
import { type Delivery, deliveriesOf } from '../../live/delivery.ts'
import { EventStream } from '../../live/stream.ts'
import { type Eyes, eyesOf, type Subscription, subscriptionOf } from '../../live/subscription.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Actor, Caller } from '../../plan/viewer/actor.ts'
import { badToken } from '../account/identify.ts'
import { redeemTicket } from '../account/ticket.ts'
import type { Call } from '../call.ts'
import { type AnyAnswer, allow, type Context, signInFirst } from '../context.ts'
import { CHANGES, refTo } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { changeFeedSchemas, exampleChanges } from './changes-schemas.ts'
import { limitOf } from './list.ts'

const STREAM = 'text/event-stream'
const PARAMETERS = [
  'position',
  'entities',
  'filter',
  'chosen',
  'changes',
  'wait',
  'ticket',
  'Last-Event-ID',
] as const

type ParameterNames = 'since' | 'entity' | 'filter' | 'fields' | 'limit' | 'wait' | 'ticket'

/** Who follows what, from where on. */
interface FollowRequest {
  readonly caller: Caller
  readonly subscription: Subscription
  readonly eyes: Eyes
  /** Undefined: from now on. */
  readonly since: Position | undefined
  readonly limit: number
  readonly waitMs: number
}

/** `GET /api/changes/`: what has changed since a position, or as it comes. */
async function changes(context: Context, call: Call<ParameterNames>): Promise<AnyAnswer> {
  const errors: Errors = new Map()
  const given = call.query.take(errors)
  const caller =
    given.ticket === undefined ? call.caller : await redeemTicket(context, given.ticket, call.signal)
  const { actor } = caller
  const isStream = call.type === STREAM
  const plans = parseEntities(context, actor, given.entity, errors)
  for (const name of ['filter', 'fields'] as const)
    if (given[name] !== undefined && plans.length !== 1)
      note(errors, name, 'needs entity with exactly one Entity type')
  const one = plans.length === 1 ? given : {}
  const subscription = subscriptionOf(actor, { plans, filter: one.filter, fields: one.fields }, errors)
  const resumed = (isStream ? call.lastEventId : null) ?? given.since
  const following: FollowRequest = {
    caller,
    subscription,
    eyes: eyesOf(subscription, actor),
    since: parsePosition(context, resumed, errors),
    limit: limitOf(given.limit, errors, budget.pageEntities),
    waitMs: parseWait(given.wait, isStream, errors) * 1000,
  }
  if (errors.size > 0) throw invalid(errors)
  return unlessGone(() => (isStream ? stream(context, call, following) : poll(context, call, following)))
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
      note(errors, 'entity', () => `"${name}" is not an Entity type${didYouMean(name, [...plans.keys()])}`)
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
    note(errors, 'since', 'must be a position: the Takeback-Position of a list, or the next of an answer')
  )
}

function parseWait(text: string | undefined, isStream: boolean, errors: Errors): number {
  if (text === undefined) return 0
  if (isStream) note(errors, 'wait', 'is not for streams: they wait anyway')
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : -1
  if (seconds < 0 || seconds > budget.feedWaitSeconds)
    note(errors, 'wait', `must be a whole number of seconds from 0 to ${budget.feedWaitSeconds}`)
  return seconds
}

async function unlessGone<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw error instanceof PositionGone ? new Failure('position_gone') : error
  }
}

interface ChangesPage {
  readonly delivery: Delivery | undefined
  readonly next: Position
  readonly more: boolean
}

/** What comes behind a position, in whole operations: up to the one that reaches the limit. */
async function pageAfter(
  { feed, teller }: Context,
  { subscription, eyes }: FollowRequest,
  since: Position,
  limit: number,
): Promise<ChangesPage> {
  const page = await feed.after(since, { limit, entities: subscription.entities })
  const told = await teller.tell({ subscription, eyes: [eyes], operations: page.operations })
  let events = 0
  const end = told.findIndex((one) => {
    events += one.events.get(eyes)?.length ?? 0
    return events >= limit
  })
  const last = end < 0 || end === told.length - 1 ? undefined : told[end]
  const delivery = deliveriesOf(last === undefined ? told : told.slice(0, end + 1)).get(eyes)
  return { delivery, next: last?.position ?? page.next, more: last !== undefined || page.more }
}

async function poll(
  context: Context,
  call: Call<ParameterNames>,
  following: FollowRequest,
): Promise<AnyAnswer> {
  const { waitMs, limit } = following
  const { hub, positions } = context
  const since = following.since ?? (await hub.now())
  let page: ChangesPage = { delivery: undefined, next: since, more: false }
  if (following.since !== undefined) page = await pageAfter(context, following, since, limit)
  if (waitMs > 0) {
    page = await waitFor(context, call, following, page)
    if (!(await context.identities.isAlive(following.caller))) throw badToken()
  }
  const data = page.delivery?.operations.flatMap(({ events }) => events) ?? []
  const body = `{"data":[${data.join(',')}],"next":${JSON.stringify(positions.textOf(page.next))},"more":${page.more}}`
  return { status: 200, body }
}

/** The same page, or what comes behind it within the time that was asked for. */
async function waitFor(
  context: Context,
  call: Call<ParameterNames>,
  following: FollowRequest,
  first: ChangesPage,
): Promise<ChangesPage> {
  const close = call.keepOpen(following.caller)
  try {
    const over = AbortSignal.any([AbortSignal.timeout(following.waitMs), call.stopping, call.signal])
    let page = first
    while (page.delivery === undefined && !page.more && !over.aborted) {
      const since = page.next
      await untilTold(context, following, since, over)
      page = await pageAfter(context, following, since, following.limit)
    }
    return page
  } finally {
    close()
  }
}

/** Until there is something to be told behind the position, or it is over. */
function untilTold(
  context: Context,
  following: FollowRequest,
  since: Position,
  over: AbortSignal,
): Promise<void> {
  const { hub } = context
  const { subscription, eyes } = following
  return new Promise((resolve) => {
    const done = () => {
      listener.isOver = true
      over.removeEventListener('abort', done)
      hub.leave(listener)
      resolve()
    }
    const listener = {
      subscription,
      eyes,
      position: since,
      isOver: over.aborted,
      deliver: done,
      tick() {},
      end: done,
    }
    const page = async () => {
      const found = await pageAfter(context, following, listener.position, following.limit)
      listener.position = found.next
      if (found.delivery !== undefined) done()
      return found.more
    }
    over.addEventListener('abort', done)
    hub.join(listener, { page, read: async () => {} }).catch(done)
  })
}

async function stream(
  context: Context,
  call: Call<ParameterNames>,
  following: FollowRequest,
): Promise<AnyAnswer> {
  const { hub, positions, feed, identities } = context
  const { subscription, eyes, caller, limit } = following
  const from = following.since
  // A position that is gone is refused before the stream begins.
  if (from !== undefined) await feed.check(from, subscription.entities)
  const over = call.keepOpen(caller)
  const events = new EventStream({
    hub,
    subscription,
    eyes,
    from,
    textOf: (position) => positions.textOf(position),
    pageAfter: (position) => pageAfter(context, following, position, limit),
    isAlive: () => identities.isAlive(caller),
    stopping: call.stopping,
    hangUp: () => call.hangUp(),
    over,
  })
  const body = events.open()
  await events.begun
  return { status: 200, type: STREAM, body, headers: { 'X-Accel-Buffering': 'no' } }
}

export const followChanges = serverEndpoint({
  name: 'followChanges',
  method: 'GET',
  path: '/api/changes/',
  tag: CHANGES,
  parameters: PARAMETERS,
  produces: ['application/json', STREAM],
  access: 'everyone',
  schemas: () => changeFeedSchemas,
  describe: ({ model, isPublic }) => ({
    open: [...model.entities.values()].some((type) => isPublic(type, 'read')),
    summary: 'Follow changes',
    description:
      'What has changed since a position, in the order of commits: `upsert` for what you see now, `remove` for what you no longer see, `reset` if you should read a type again. The rules are those of reads. With `Accept: text/event-stream`, a stream of server-sent events.',
    answers: [
      {
        status: 200,
        description: 'The changes.',
        headers: [],
        schema: refTo('Changes'),
        example: exampleChanges,
      },
    ],
    codes: ['unauthenticated', 'forbidden', 'position_gone'],
  }),
  run: changes,
})
