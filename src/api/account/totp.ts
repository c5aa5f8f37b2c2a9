import { base32, otpauthUri } from '../../account/totp.ts'
import { addError, type Errors, Failure, invalid } from '../../errors.ts'
import { actorName } from '../../plan/viewer/actor.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { refuseOthers } from './account-link.ts'
import { type ChosenAccount, chosenAccount } from './chosen-account.ts'
import { confirmOwner } from './confirm-owner.ts'
import { takeText } from './login.ts'
import { judgeCode, settingUp } from './second-factor.ts'
import { confirmPassword, signedInUser } from './session.ts'
import { ownerOf } from './sign-in.ts'

type Body = Readonly<Record<string, unknown>>
type SelfCall = Pick<Call, 'caller' | 'body' | 'address' | 'device' | 'signal'>

/** `GET /api/auth/totp/` */
export async function factorState(context: Context, { caller, query }: Call<'user'>): Promise<Answer> {
  const errors: Errors = new Map()
  const account = await chosenAccount(context, caller, query.take(errors).user, errors)
  const state = hasSecond(context, account.entity) ? await context.factors.state(account) : undefined
  return answerOf({
    active: state !== undefined,
    since: state?.since ?? null,
    recovery_codes: state?.codes ?? 0,
  })
}

/** `POST /api/auth/totp/` `{password}`: returns a secret for an authenticator app. Logins do not ask for codes yet. */
export async function beginFactor(context: Context, call: SelfCall): Promise<Answer> {
  const self = await signedInUser(context, call.caller)
  const { entity, id } = ownerOf({ ...self, epoch: self.session.epoch })
  if (!hasSecond(context, entity)) throw new Failure('not_found')
  const errors: Errors = new Map()
  refuseOthers(call.body, ['password'], errors)
  await confirmOwner(context, self, call, errors)
  const secret = await context.factors.begin({ entity, id })
  if (secret === undefined) throw new Failure('second_factor_exists')
  const text = base32(secret)
  return answerOf({ secret: text, uri: otpauthUri(text, issuerOf(context), self.email) })
}

/** `POST /api/auth/totp/confirm` `{code}`: from now on logins ask for a code. */
export async function confirmFactor(context: Context, call: SelfCall): Promise<Answer> {
  const owner = await ownOf(context, call)
  const errors: Errors = new Map()
  refuseOthers(call.body, ['code'], errors)
  const code = takeText(call.body as Body, 'code', errors)
  if (errors.size > 0) throw invalid(errors)
  if ((await context.factors.state(owner)) !== undefined) throw new Failure('second_factor_exists')
  const calling = settingUp(context, call.caller, owner.entity)
  const codes = await judgeCode(context, owner, call, async () => {
    const made = await context.factors.confirm(owner, code, calling)
    if (made === undefined) await context.identities.refuseEnded(call.caller)
    return made
  })
  context.identities.forget()
  logChange(context, call, owner, 'set up')
  return answerOf({ recovery_codes: codes })
}

/** `POST /api/auth/totp/recovery-codes` `{password}` or `{code}` */
export async function renewRecoveryCodes(context: Context, call: SelfCall): Promise<Answer> {
  const owner = await ownOf(context, call)
  await proveAgain(context, call)
  const codes = await context.factors.renewCodes(owner)
  if (codes === undefined) throw new Failure('not_found')
  logChange(context, call, owner, 'given new recovery codes')
  return answerOf({ recovery_codes: codes })
}

/** `DELETE /api/auth/totp/` `{password}` or `{code}`; an admin removes it for another user with `?user=users/5`. */
export async function removeFactor(context: Context, call: Call<'user'>): Promise<Answer> {
  const errors: Errors = new Map()
  const account = await chosenAccount(context, call.caller, call.query.take(errors).user, errors)
  if ((await context.factors.state(account)) === undefined) throw new Failure('not_found')
  if (account.own) await proveAgain(context, call)
  if (!(await context.factors.remove(account))) throw new Failure('not_found')
  context.identities.forget()
  logChange(context, call, account, 'removed')
  return { status: 204 }
}

/** Requires the password or a code: a token may be stolen. */
async function proveAgain(context: Context, call: SelfCall): Promise<void> {
  const self = await signedInUser(context, call.caller)
  const body = call.body as Body
  const errors: Errors = new Map()
  refuseOthers(body, ['password', 'code'], errors)
  const name = Object.hasOwn(body, 'code') ? 'code' : 'password'
  if (name === 'code' && Object.hasOwn(body, 'password'))
    addError(errors, 'code', 'cannot be combined with password')
  const proof = takeText(body, name, errors)
  if (errors.size > 0) throw invalid(errors)
  if (name === 'password') return confirmPassword(context, self, proof, call)
  const owner = { entity: self.plan.type.name, id: self.id }
  await judgeCode(context, owner, call, () => context.factors.use(owner, proof))
}

async function ownOf(context: Context, { caller }: SelfCall): Promise<ChosenAccount> {
  const account = await chosenAccount(context, caller, undefined, new Map())
  if (!hasSecond(context, account.entity)) throw new Failure('not_found')
  return account
}

function hasSecond({ model }: Context, entity: string): boolean {
  return model.entities.get(entity)?.login?.second !== undefined
}

function logChange(
  { observer }: Context,
  { caller }: SelfCall,
  { entity, id }: ChosenAccount,
  change: 'set up' | 'removed' | 'given new recovery codes',
): void {
  const by = actorName(caller.actor) ?? ''
  const what = 'The second factor'
  observer.emit({ kind: 'credential_changed', what, account: `${entity}/${id}`, change, by })
}

/** The name that authenticator apps show: people know the address of the app. */
function issuerOf({ settings: { mail } }: Context): string {
  return new URL(mail.appUrl ?? mail.url).hostname
}

function answerOf(body: object): Answer {
  return { status: 200, body: JSON.stringify(body) }
}
