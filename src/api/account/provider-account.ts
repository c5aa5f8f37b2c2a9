import { randomBytes } from 'node:crypto'
import type { AccountName, Identity } from '../../account/providers/handoffs.ts'
import type { ProviderClaims } from '../../account/providers/openid.ts'
import { emailKey } from '../../declare/email-key.ts'
import type { EntityType } from '../../declare/model.ts'
import { isRecord } from '../../declare/record.ts'
import { Failure } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { memberColumns } from '../../plan/read/login.ts'
import { EMAIL_KEY } from '../../plan/tables/schema.ts'
import { nobody, system } from '../../plan/viewer/actor.ts'
import { type Act, read, write } from '../../store/act.ts'
import { type Context, callerParams, type KeptAnswer } from '../context.ts'
import { transact } from '../perform.ts'
import { create } from '../write/create.ts'
import { beforeCreate, hasHook, hookCallerOf } from '../write/hooks.ts'
import { anonymous } from './identify.ts'
import { PASSWORD_BYTES } from './invite.ts'
import { takeTypes } from './login.ts'
import { selfOf } from './sign-in.ts'
import { signsUp } from './sign-up.ts'
import { markVerified, vouching } from './verified.ts'

/** A person whom a provider has sent back. */
export interface Arrival {
  readonly claims: ProviderClaims
  readonly identity: Identity
  readonly userType: string | null
  /** Counts a sign-up. Throws if there are too many. */
  signUp(): Promise<void>
}

/**
 * Finds the account to log in to: the one with this identity, or one with the same e-mail if both sides have verified
 * it, or a new one if anybody may sign up.
 */
export async function accountFor(context: Context, arrival: Arrival): Promise<AccountName> {
  const types = takeTypes(context, arrival.userType, new Map())
  const known = await linkedTo(context, types, arrival)
  if (known !== undefined) return known
  try {
    const owner = arrival.claims.emailVerified ? await ownerOfEmail(context, types, arrival) : undefined
    return owner ?? (await signUpBy(context, types, arrival))
  } catch (error) {
    // The same person may have finished the login in another window.
    const meanwhile = error instanceof Failure ? await linkedTo(context, types, arrival) : undefined
    if (meanwhile === undefined) throw error
    return meanwhile
  }
}

/** Finds the live account that an identity belongs to. */
async function linkedTo(
  context: Context,
  types: readonly EntityType[],
  { identity, claims }: Arrival,
): Promise<AccountName | undefined> {
  for (const { name: entity } of types) {
    const id = await context.linked.find(identity, entity)
    const plan = context.plans.get(entity)
    if (id === undefined || plan === undefined || (await selfOf(context, plan, id)) === undefined) continue
    const { email, emailVerified } = claims
    if (emailVerified && email !== undefined) await markVerified(context, plan, { id, key: emailKey(email) })
    return { entity, id }
  }
  return undefined
}

/** Throws if an account has this e-mail, and the provider's word is not enough to log in to it. */
async function ownerOfEmail(
  context: Context,
  types: readonly EntityType[],
  { claims, identity }: Arrival,
): Promise<AccountName | undefined> {
  if (claims.email === undefined) return undefined
  const key = emailKey(claims.email)
  for (const { name: entity } of types) {
    const login = context.plans.get(entity)?.login
    const [row] = login === undefined ? [] : await context.store.read(login.byEmail, { [EMAIL_KEY]: key })
    if (row === undefined) continue
    const account = { entity, id: Number(memberColumns.read(row).id) }
    if (!(await isProvedHere(context, account, key))) throw new Failure('account_exists')
    const { steps, params } = context.linked.linking(identity, account)
    const { done } = await context.store.write(steps, params)
    // The identity belongs to a deleted account, or to one that was just created.
    if (!done) throw new Failure('account_exists')
    return account
  }
  return undefined
}

/** Whether an address was proved to belong to the account. Never for admins: they must link a provider themselves. */
async function isProvedHere(
  { model, verified }: Context,
  account: AccountName,
  key: string,
): Promise<boolean> {
  const isAsked = model.entities.get(account.entity)?.login?.verify === true
  return isAsked && account.entity !== model.admins && verified.wasProved({ ...account, key })
}

/** Creates an account as a sign-up does, with a password that nobody knows. */
async function signUpBy(
  context: Context,
  types: readonly EntityType[],
  arrival: Arrival,
): Promise<AccountName> {
  const { claims, identity } = arrival
  const plan = types.map(({ name }) => context.plans.get(name)).find((one) => one && signsUp(one))
  if (plan === undefined) throw new Failure('sign_up_closed')
  if (claims.email === undefined) throw new Failure('sign_up_incomplete')
  if (plan.type.login?.verify === true && !claims.emailVerified)
    throw new Failure('provider_email_unverified')
  await arrival.signUp()
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const whole = { ...(await fieldsFrom(plan, arrival)), email: claims.email, password }
  try {
    const { body, sent } = hasHook(plan, 'create')
      ? await beforeCreate(context, plan, hookCallerOf({ caller: anonymous }), whole)
      : { body: whole, sent: undefined }
    const made = () => create(plan, nobody, body, { sent, proved: claims.emailVerified })
    const act = claims.emailVerified ? () => vouching(context, plan, made()) : made
    const former = await context.linked.find(identity, plan.type.name)
    return await transact(context.store, () => withIdentity(context, plan, { identity, former }, act()))
  } catch (error) {
    throw error instanceof Failure ? refusedSignUp(error) : error
  }
}

/** Links the account that an act creates to the identity. */
function* withIdentity(
  context: Context,
  plan: Plan,
  { identity, former }: { readonly identity: Identity; readonly former: number | undefined },
  act: Act<KeptAnswer>,
): Act<AccountName> {
  const { shows } = yield* act
  const [[entity, id] = [plan.type.name, 0]] = shows
  const [row] =
    plan.login === undefined ? [] : yield* read(plan.login.self, { ...callerParams(system), $id: id })
  const hash = row === undefined ? '' : String(plan.login?.readSelf(row).hash)
  const { step, params } = context.linked.making(identity, { entity, id }, { hash, former })
  const { done } = yield* write([step], params)
  if (!done) throw new Failure('identity_taken')
  return { entity, id }
}

/** Makes the fields of the account from the claims, as declared. */
async function fieldsFrom({ type }: Plan, { claims, identity }: Arrival): Promise<object> {
  const make = type.login?.providers.get(identity.provider)
  const fields = make === undefined ? {} : await make(claims.all)
  if (!isRecord(fields)) throw new Error(`login.providers.${identity.provider} must return an object`)
  return fields
}

/** Turns the failure of a create into one of a login, which has no body with fields to name. */
function refusedSignUp(failure: Failure): Failure {
  if (failure.code === 'invalid_data') {
    const errors = failure.errors ?? new Map<string, string[]>()
    const isTaken = errors.size === 1 && errors.has('email')
    return new Failure(isTaken ? 'account_exists' : 'sign_up_incomplete', { errors, cause: failure })
  }
  const isRule = failure.code === 'forbidden' || failure.code === 'unauthenticated'
  return isRule ? new Failure('sign_up_closed', { cause: failure }) : failure
}
