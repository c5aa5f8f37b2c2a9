import { isRecent } from '../../account/tokens.ts'
import { budget } from '../../budget.ts'
import { type Errors, Failure, invalid } from '../../errors.ts'
import type { Context } from '../context.ts'
import { type LoginRequest, takeText } from './login.ts'
import { confirmPassword, type Self } from './session.ts'

type ConfirmingRequest = Pick<LoginRequest, 'body' | 'address' | 'device' | 'signal'>

/**
 * Throws unless the owner of the account is asking: a stolen token must not be enough to take over an account for good.
 * The owner sends the password. An account that a provider's login created has none, and its sessions begin at the
 * provider or with a passkey. There a recent login is the proof. Also throws if `errors` has any.
 */
export async function confirmOwner(
  context: Context,
  self: Self,
  request: ConfirmingRequest,
  errors: Errors,
): Promise<void> {
  const body = request.body as Record<string, unknown>
  const account = { entity: self.plan.type.name, id: self.id }
  const hasNone = body.password === undefined && (await context.linked.isUnset(account, self.hash))
  const password = hasNone ? '' : takeText(body, 'password', errors)
  if (errors.size > 0) throw invalid(errors)
  if (!hasNone) return confirmPassword(context, self, password, request)
  if (!isRecent(self.session)) throw new Failure('recent_login_required')
}

/**
 * Throws unless the login is recent, or the body has the right password: for calls that give lasting access, which users
 * often make just after a login. Also throws if `errors` has any.
 */
export async function confirmRecentLogin(
  context: Context,
  self: Self,
  request: ConfirmingRequest,
  errors: Errors,
): Promise<void> {
  const body = request.body as Record<string, unknown>
  const password = body.password === undefined ? undefined : takeText(body, 'password', errors)
  if (errors.size > 0) throw invalid(errors)
  if (password !== undefined) return confirmPassword(context, self, password, request)
  if (isRecent(self.session)) return
  throw new Failure('recent_login_required', {
    message: 'This needs a recent login. Send your password as well, or log in again.',
  })
}

/** Sentences for the descriptions of endpoints. */
export const ownerConfirmed = `\`password\` is required, unless the account has none: then the login must be at most ${budget.recentLoginMinutes} minutes old.`
export const loginConfirmed = `If the login is more than ${budget.recentLoginMinutes} minutes old, \`password\` is required, except from admins.`
