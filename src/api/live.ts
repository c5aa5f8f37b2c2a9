import { Failure } from '../errors.ts'
import type { Plan } from '../plan/compile.ts'
import type { EntityState } from '../plan/view/entity-row.ts'
import type { Actor } from '../plan/viewer/actor.ts'
import { type Act, read } from '../store/act.ts'
import { allowed, callerParams, refusal, stateOf } from './context.ts'

/** Checks the update rule on the present Entity before any mistake in the body is reported. */
export function* refuseUnchangeable(plan: Plan, actor: Actor, id: number): Act<void> {
  yield* live(plan, actor, id)
  const { changeable } = plan.view(actor)
  if (changeable === undefined) return
  const [row] = yield* read(changeable, { ...callerParams(actor), $id: id })
  if (row !== undefined && Number(row[0]) !== 1) throw refusal(plan, 'update', actor, true)
}

/** Returns the Entity if it is live and visible to the caller. */
export function* live(plan: Plan, actor: Actor, id: number): Act<EntityState> {
  const state = yield* stateOf(plan.view(actor), { ...callerParams(actor), $id: id })
  if (state === undefined || state.deletion !== null) throw new Failure('not_found')
  return allowed(plan, 'read', actor, state)
}
