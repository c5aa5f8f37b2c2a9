import type { Reversal } from '../../journal/reversal.ts'
import { type Actor, userOf } from '../../plan/viewer/actor.ts'
import { isSameAddress, needsRecentLogin } from '../write/own-email.ts'

/** Says why an undo cannot do this to the account of its caller; undefined if it can, or if it is another account. */
export function refusedForSelf(actor: Actor, reversal: Reversal): string | undefined {
  const { plan, amendment } = reversal
  const user = userOf(actor)
  // Nobody could undo the undo of the create of their own account.
  if (amendment.kind === 'delete' && plan.type.name === user?.entity && amendment.id === user.id)
    return 'is the account that makes this request'
  if (!returnsOwnEmail(actor, reversal)) return undefined
  return 'would get another e-mail address, which needs a recent login: log in again'
}

/** Whether a reversal gives the caller's own account a former address, although the login is not recent. */
export function returnsOwnEmail(actor: Actor, { plan, amendment, columns, now }: Reversal): boolean {
  if (!needsRecentLogin(plan, actor, amendment.id)) return false
  const at = columns.indexOf('email')
  return at >= 0 && !isSameAddress(now.snapshot.state.email, amendment.values[at])
}
