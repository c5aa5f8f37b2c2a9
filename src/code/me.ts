import { type Context, callerParams } from '../api/context.ts'
import { entityRow } from '../plan/view/entity-row.ts'
import { type Actor, system, userOf } from '../plan/viewer/actor.ts'

/** Returns the caller for the user's code: their Entity and the name of its type. `null` if it is no user. */
export async function meOf({ plans, store }: Context, actor: Actor): Promise<object | null> {
  const user = userOf(actor)
  const plan = user && plans.get(user.entity)
  if (user === undefined || plan === undefined) return null
  const [row] = await store.read(plan.view(system).lists.read, { ...callerParams(system), $id: user.id })
  const found = entityRow(row)
  return found === undefined ? null : { ...JSON.parse(found.json), type: plan.type.login?.userType }
}
