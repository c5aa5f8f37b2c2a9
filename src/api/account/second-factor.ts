import type { AccountId } from '../../account/account-id.ts'
import { codeAccount } from '../../account/second-factors.ts'
import type { CallingSession } from '../../account/sessions.ts'
import type { Attempt } from '../../account/throttle.ts'
import { Failure } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import type { Caller } from '../../plan/viewer/actor.ts'
import type { Context } from '../context.ts'
import type { Proven } from './sign-in.ts'

/** The client that sends a code. */
export interface CodeSender {
  readonly address: string
}

/**
 * Asks for a code if a user with the right password, or from a provider, has a second factor. Before that, nothing
 * reveals whether they have one.
 */
export async function provenTwice(
  context: Context,
  user: Proven,
  code: string | undefined,
  sender: CodeSender,
): Promise<Proven> {
  const { plan, id } = user
  const owner = { entity: plan.type.name, id }
  if (!(await hasFactor(context, plan, id))) return user
  if (code === undefined) throw new Failure('second_factor_required')
  await judgeCode(context, owner, sender, () => context.factors.use(owner, code))
  return { ...user, strong: true }
}

/**
 * The same for a user with the right password. If a second factor is required, a passkey counts as one: then a password
 * alone must not be enough to set up another.
 */
export async function provenByPassword(
  context: Context,
  user: Proven,
  code: string | undefined,
  sender: CodeSender,
): Promise<Proven> {
  const proven = await provenTwice(context, user, code, sender)
  const { plan, id, strong } = proven
  if (strong || !requiresFactor(context, plan.type.name)) return proven
  const passkeys = await context.passkeys.list({ entity: plan.type.name, id })
  if (passkeys.length > 0) throw new Failure('second_factor_required')
  return proven
}

/**
 * Throws if a required factor was set up during a login that did not use one. Setting it up ends the sessions that exist
 * by then, so this comes after the session has begun. `prove` is what the login has asked before.
 */
export async function refuseOvertaken(
  context: Context,
  user: Proven,
  prove: typeof provenTwice,
  sender: CodeSender,
): Promise<void> {
  if (requiresFactor(context, user.plan.type.name) && user.strong !== true)
    await prove(context, user, undefined, sender)
}

/**
 * The session of the caller, who sets up a factor. If their type requires one, all other sessions end: those that began
 * with a password alone could only set up a factor, and must not be worth more once somebody else has done it.
 */
export function settingUp(context: Context, caller: Caller, entity: string): CallingSession {
  const { sessions } = context
  return requiresFactor(context, entity) ? sessions.holdingAlone(caller) : sessions.holding(caller)
}

function requiresFactor({ model }: Context, entity: string): boolean {
  return model.entities.get(entity)?.login?.second === 'required'
}

/** Whether logins of a user need a code. */
export async function hasFactor(context: Context, { type }: Plan, id: number): Promise<boolean> {
  if (type.login?.second === undefined) return false
  return (await context.factors.state({ entity: type.name, id })) !== undefined
}

/**
 * Throws if a code is wrong. A code has only six digits, so guesses are counted apart from passwords, and no place
 * becomes known: whoever guesses must wait longer and longer, from wherever.
 */
export async function judgeCode<T>(
  { throttle }: Context,
  owner: AccountId,
  { address }: CodeSender,
  judge: () => Promise<T | false | undefined>,
): Promise<T> {
  // Has its own account and address: the surrounding login is pending, and the two would wait for each other.
  const attempt: Attempt = {
    account: codeAccount(owner),
    address: `code ${address}`,
    device: null,
    remembered: false,
  }
  const passed = await throttle.attempt(attempt, async () => (await judge()) || undefined)
  if (passed === undefined) throw new Failure('second_factor_failed')
  return passed.found
}
