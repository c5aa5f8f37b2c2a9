import { budget } from '../../budget.ts'
import { addError, type Errors, invalid } from '../../errors.ts'
import type { Position } from '../../journal/position.ts'
import { badToken } from '../account/identify.ts'
import { redeemTicket } from '../account/ticket.ts'
import type { Call } from '../call.ts'
import type { AnyAnswer, Context } from '../context.ts'
import { CHANGES, refTo } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { changeFeedSchemas, exampleChanges } from './changes-schemas.ts'
import { STREAM, streamOf } from './changes-stream.ts'
import {
  checkPosition,
  type FollowedPage,
  type FollowRequest,
  pageAfter,
  parseFollow,
  unlessGone,
} from './follow-request.ts'
import { limitOf } from './list.ts'

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

/** A request whose answer may wait for a change. */
interface PollRequest extends FollowRequest {
  readonly limit: number
  readonly waitMs: number
}

/** `GET /api/changes/`: what has changed since a position, or as it comes. */
async function changes(context: Context, call: Call<ParameterNames>): Promise<AnyAnswer> {
  const errors: Errors = new Map()
  const given = call.query.take(errors)
  const caller =
    given.ticket === undefined ? call.caller : await redeemTicket(context, given.ticket, call.signal)
  const isStream = call.type === STREAM
  const since = (isStream ? call.lastEventId : null) ?? given.since
  const following: PollRequest = {
    ...parseFollow(context, caller, { ...given, since }, errors),
    limit: limitOf(given.limit, errors, budget.pageEntities),
    waitMs: parseWait(given.wait, isStream, errors) * 1000,
  }
  if (errors.size > 0) throw invalid(errors)
  if (!isStream) return unlessGone(() => poll(context, call, following))
  await checkPosition(context, following)
  return streamOf(context, call, [following])
}

function parseWait(text: string | undefined, isStream: boolean, errors: Errors): number {
  if (text === undefined) return 0
  if (isStream) addError(errors, 'wait', 'is not for streams: they wait anyway')
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : -1
  if (seconds < 0 || seconds > budget.feedWaitSeconds)
    addError(errors, 'wait', `must be a whole number of seconds from 0 to ${budget.feedWaitSeconds}`)
  return seconds
}

async function poll(
  context: Context,
  call: Call<ParameterNames>,
  following: PollRequest,
): Promise<AnyAnswer> {
  const { waitMs, limit } = following
  const { hub, positions } = context
  const since = following.since ?? (await hub.now())
  let page: FollowedPage = { delivery: undefined, next: since, more: false }
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
  following: PollRequest,
  first: FollowedPage,
): Promise<FollowedPage> {
  const close = call.keepOpen(following.caller)
  try {
    const over = AbortSignal.any([AbortSignal.timeout(following.waitMs), call.stopping, call.signal])
    let page = first
    while (page.delivery === undefined && !page.more && !over.aborted) {
      const since = page.next
      await untilChange(context, following, since, over)
      page = await pageAfter(context, following, since, following.limit)
    }
    return page
  } finally {
    close()
  }
}

/** Resolves once there is a change after the position that the caller sees, or at the latest when `over` is aborted. */
function untilChange(
  context: Context,
  following: PollRequest,
  since: Position,
  over: AbortSignal,
): Promise<void> {
  const { hub } = context
  const { subscription, callerId } = following
  return new Promise((resolve) => {
    const done = () => {
      listener.isOver = true
      over.removeEventListener('abort', done)
      hub.leave(listener)
      resolve()
    }
    const listener = {
      subscription,
      callerId,
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
