import { no } from '../../declare/cel/expression.ts'
import type { Plan } from '../../plan/compile.ts'
import { type Actor, nobody } from '../../plan/viewer/actor.ts'

/** Whether a create is a sign-up: for a login type, by a caller who is not logged in. */
export function signsUp(plan: Plan, actor: Actor = nobody): boolean {
  return plan.login !== undefined && actor.kind === 'nobody' && plan.view(actor).may.create !== no
}

/**
 * Whether a create must not reveal that the e-mail is taken: a sign-up for a type whose users prove their addresses.
 * The owner of the address is told by mail.
 */
export function concealsSignUp(plan: Plan, actor: Actor): boolean {
  return plan.type.login?.verify === true && signsUp(plan, actor)
}

export const SIGN_UP_ALONE = 'must be sent alone, as one user: the e-mail address has to be confirmed first'
