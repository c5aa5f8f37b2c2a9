import { perform } from '../src/api/perform.ts'
import { create } from '../src/api/write/create.ts'
import type { App } from '../src/app.ts'
import type { Actor } from '../src/plan/viewer/actor.ts'

/** Adds a user of a login type, as `POST /api/<entity>/` does it for this actor. Returns the id. */
export async function addMember(
  { context }: Pick<App, 'context'>,
  entity: string,
  { body, actor }: { body: object; actor: Actor },
): Promise<number> {
  const plan = context.plans.get(entity)
  if (plan === undefined) throw new Error(`There is no Entity type ${entity}.`)
  const answer = await perform(context.store, create(plan, actor, body))
  return (JSON.parse(answer.body ?? '{}') as { id: number }).id
}
