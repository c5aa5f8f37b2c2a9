import { no } from '../declare/cel/expression.ts'
import type { Plan } from '../plan/compile.ts'
import { type Actor, nobody } from '../plan/viewer/actor.ts'

/** Whether whoever creates one of these is not signed in, and can be from then on. */
export function signsUp(plan: Plan, actor: Actor = nobody): boolean {
  return plan.login !== undefined && actor.kind === 'nobody' && plan.view(actor).may.create !== no
}
