import { type Errors, invalid } from '../errors.ts'
import type { Actor } from '../plan/actor.ts'
import type { Plan } from '../plan/compile.ts'
import { type Answer, allow, type Context, entityAnswer } from './context.ts'
import type { Query } from './query.ts'

/** `GET /api/<entity>/<id>/` */
export async function read(
  context: Context,
  plan: Plan,
  actor: Actor,
  id: number,
  query: Query,
): Promise<Answer> {
  allow(plan, 'read', actor)
  const errors: Errors = new Map()
  const { fields } = query.take(['fields'], errors)
  const chosen = fields === undefined ? undefined : plan.lists.parseFields(fields, errors)
  if (errors.size > 0) throw invalid(errors)
  const statement = chosen === undefined ? plan.lists.read : plan.lists.readOnly(chosen)
  const [row] = await context.store.read(statement, { $id: id })
  return entityAnswer(200, row)
}
