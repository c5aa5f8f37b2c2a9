import { isRecent } from '../../account/tokens.ts'
import { type Code, type Errors, Failure, invalid } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { entityRow } from '../../plan/view/entity-row.ts'
import { type Actor, system } from '../../plan/viewer/actor.ts'
import type { EntityWriteOptions } from '../../plan/write/write.ts'
import { type Act, read } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import type { AboutEntity } from '../description.ts'
import { refuseForbidden } from '../faults.ts'

/**
 * Whether it is the caller's own account, and the login is too old to change its e-mail. Whoever has the address of an
 * account can set its password: a stolen token must not be enough to take over an account for good. Admins set passwords
 * anyway.
 */
export function needsRecentLogin({ type }: Plan, actor: Actor, id: number): boolean {
  if (actor.kind !== 'user' || actor.admin || actor.entity !== type.name || actor.id !== id) return false
  return actor.loginAt !== undefined && !isRecent({ started: actor.loginAt })
}

/** Throws if the values change the address. `email` is the present one. */
export function refuseOtherEmail(email: unknown, values: Params): void {
  if (values.email !== undefined && !isSameAddress(email, values.email)) throw needsLogin()
}

/** The refusal of another address. */
export function needsLogin(): Failure {
  return new Failure('recent_login_required', {
    message: 'A new e-mail address needs a recent login. Log in again, or use /api/auth/email.',
  })
}

/**
 * Whether mails to both go to the same address. That of another spelling may be somebody else's, even if it has the same
 * key, so only the case of ASCII letters may differ.
 */
export function isSameAddress(one: unknown, other: unknown): boolean {
  const folded = (email: unknown) => String(email).replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  return folded(one) === folded(other)
}

/** Throws if this changes the caller's own e-mail. Only callers who may change it learn that they must log in again. */
export function* refuseNewEmail(
  plan: Plan,
  actor: Actor,
  values: Params,
  options: EntityWriteOptions,
): Act<void> {
  const errors: Errors = new Map()
  yield* refuseForbidden(plan, actor, { action: 'update', params: values, options, errors })
  if (errors.size > 0) throw invalid(errors)
  const [row] = yield* read(plan.view(system).lists.read, values)
  const whole = entityRow(row)
  if (whole !== undefined) refuseOtherEmail(JSON.parse(whole.json).email, values)
}

/** The codes of this refusal, for the descriptions of endpoints. */
export function emailCodes({ type }: AboutEntity): Code[] {
  return type.login === undefined ? [] : ['recent_login_required']
}
