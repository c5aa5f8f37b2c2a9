import { budget } from '../../budget.ts'
import { FollowedList } from '../../live/followed-list.ts'
import { EventStream } from '../../live/stream.ts'
import type { Call } from '../call.ts'
import type { AnyAnswer, Context } from '../context.ts'
import { type FollowRequest, pageAfter } from './follow-request.ts'

export const STREAM = 'text/event-stream'

/** A list on a stream. */
export interface StreamedList extends FollowRequest {
  /** The name of its events, if the stream has several lists. */
  readonly name?: string
  /** How many changes are read at a time. */
  readonly limit?: number
}

/** The changes of lists as server-sent events, after the events that are given. */
export async function streamOf(
  context: Context,
  call: Call,
  lists: readonly StreamedList[],
  first = '',
): Promise<AnyAnswer> {
  const { stopping } = call
  const stream = new EventStream({ stopping, hangUp: () => call.hangUp(), lists: lists.length })
  const body = stream.open()
  try {
    if (first !== '') stream.send(first)
    const followed = lists.map((list) => {
      stream.onEnd(call.keepOpen(list.caller))
      return followedList(context, stream, list)
    })
    for (const list of followed) await list.begin()
    if (followed.length > 0) follow(stream, followed)
    else stream.end()
  } catch (error) {
    stream.end()
    throw error
  }
  return { status: 200, type: STREAM, body, headers: { 'X-Accel-Buffering': 'no' } }
}

function followedList(context: Context, stream: EventStream, list: StreamedList): FollowedList {
  const { hub, positions, identities } = context
  const { subscription, callerId, caller, since, name, limit = budget.pageEntities } = list
  return new FollowedList(stream, {
    hub,
    subscription,
    callerId,
    from: since,
    ...(name !== undefined && { name }),
    textOf: (position) => positions.textOf(position),
    pageAfter: (position) => pageAfter(context, list, position, limit),
    isAlive: () => identities.isAlive(caller),
  })
}

/** One list after the other, so that what is sent and not read yet is never more than one page. */
function follow(stream: EventStream, lists: readonly FollowedList[]): void {
  const all = async () => {
    for (const list of lists) await list.catchUp()
  }
  all().catch(() => stream.end())
}
