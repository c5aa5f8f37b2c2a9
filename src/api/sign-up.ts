import { no } from '../declare/cel/expression.ts'
import type { Plan } from '../plan/compile.ts'
import { type Actor, nobody } from '../plan/viewer/actor.ts'

/** Whether a create is a sign-up: of a login type, by a caller who is not signed in. */
export function signsUp(plan: Plan, actor: Actor = nobody): boolean {
  return plan.login !== undefined && actor.kind === 'nobody' && plan.view(actor).may.create !== no
}
