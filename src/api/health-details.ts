import { Failure } from '../errors.ts'
import type { Actor } from '../plan/viewer/actor.ts'
import { type Answer, type Context, signInFirst } from './context.ts'
import type { Query } from './query.ts'

/** How the server is, for admins. */
export async function healthDetails({ health, feed }: Context, actor: Actor, query: Query): Promise<Answer> {
  if (actor.kind === 'nobody') throw signInFirst()
  if (actor.kind === 'user' && !actor.admin) throw new Failure('forbidden')
  query.refuseAll()
  const details = await health.details()
  const followed = await feed.lag().then(
    (lag) => ({ lag_ms: lag }),
    () => null,
  )
  return { status: 200, body: JSON.stringify({ ...details, feed: followed }) }
}
