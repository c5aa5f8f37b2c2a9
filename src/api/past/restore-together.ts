import { type Errors, Failure, invalid } from '../../errors.ts'
import { UNMET } from '../../plan/past/amendment.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import { type Act, read, write } from '../../store/act.ts'
import { allowed, type Context, operationOf, stateOf } from '../context.ts'

interface Restored {
  readonly type: string
  readonly id: number
  /** The operation that all restores are part of. */
  readonly operation: string
}

/**
 * Restores an Entity, and first all deleted Entities that it, or whatever is restored with it, refers to. To be run in
 * one transaction. False if there is nothing to restore.
 */
export function* restoreTogether(
  context: Context,
  actor: Actor,
  { type, id, operation }: Restored,
  underWay: ReadonlySet<string> = new Set(),
): Act<boolean> {
  const plan = context.plans.get(type)
  if (plan === undefined) return false
  const view = plan.view(actor)
  const { removals } = view
  const params = { ...operationOf(actor, undefined, operation), $id: id }
  const { deletion } = allowed(plan, 'restore', actor, yield* stateOf(view, params))
  if (deletion === null) return false
  const restoring = { ...params, $deletion: deletion }
  const within = new Set([...underWay, `${type}/${id}`])
  for (const known = new Set<string>(); ; ) {
    const outcome = yield* write(removals.restore, restoring)
    if (outcome.done) return true
    const errors: Errors = new Map()
    if (outcome.step === 'unique') {
      removals.explainConflicts(yield* read(removals.conflicts, restoring), errors, id)
      throw invalid(errors)
    }
    if (outcome.step === UNMET) {
      removals.explainUnmet(outcome.rows, errors, id)
      throw invalid(errors)
    }
    if (outcome.step !== 'dead') throw new Failure('busy')
    removals.explainDead(outcome.rows, errors, id)
    const dead = removals.deadTargets(outcome.rows).filter((one) => !known.has(one.join('/')))
    if (dead.length === 0) throw new Failure('target_deleted', { errors })
    for (const [target, targetId] of dead) {
      known.add(`${target}/${targetId}`)
      if (within.has(`${target}/${targetId}`)) throw new Failure('target_deleted', { errors })
      yield* restoreTogether(context, actor, { type: target, id: targetId, operation }, within)
    }
    // If it was deleted together with its target, it was restored with it.
    if ((yield* stateOf(view, params))?.deletion === null) return true
  }
}
