import { type Errors, invalid } from '../errors.ts'
import type { Actor } from '../plan/actor.ts'
import type { Plan } from '../plan/compile.ts'
import { AS_OF } from '../plan/past.ts'
import { type Answer, allow, type Context, entityAnswer } from './context.ts'
import { parsePast, type Query } from './query.ts'

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
  const given = query.take(['fields', 'at'], errors)
  const chosen = given.fields === undefined ? undefined : plan.lists.parseFields(given.fields, errors)
  const at = parsePast(given.at, plan.type.retention.journal, errors)
  if (at !== undefined) allow(plan, 'history', actor)
  if (errors.size > 0) throw invalid(errors)
  if (at !== undefined) {
    const [row] = await context.store.read(plan.lists.readAsOf(chosen), { $id: id, [AS_OF]: at })
    return entityAnswer(200, row)
  }
  const statement = chosen === undefined ? plan.lists.read : plan.lists.readOnly(chosen)
  const [row] = await context.store.read(statement, { $id: id })
  return entityAnswer(200, row)
}
