import { accountState, type LinkHolder } from '../../account/links.ts'
import type { Attempt, AttemptAccount } from '../../account/throttle.ts'
import { emailKey } from '../../declare/email-key.ts'
import type { LinkKind } from '../../declare/mail.ts'
import { addError, type Errors, Failure, invalid } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { EMAIL_KEY } from '../../plan/tables/schema.ts'
import type { Actor } from '../../plan/viewer/actor.ts'
import { type Task, taskParams } from '../../work/queues.ts'
import type { Call } from '../call.ts'
import { type Answer, type Context, callerParams, type KeptAnswer } from '../context.ts'
import { closedObject } from '../description.ts'
import { takeText, takeTypes } from './login.ts'
import { mailTask } from './mail-queue.ts'

/** A request that asks for a mailed link, or has the token of one. */
export type LinkRequest = Pick<Call, 'body' | 'address' | 'signal' | 'note' | 'recordAccount'>

/**
 * Mails a link to the accounts with an e-mail. The answer and the work before it are the same for every e-mail: there
 * is one task for each login type, and tasks for nobody do nothing. The mail is made later, in the background.
 */
export async function mailByEmail(
  context: Context,
  request: LinkRequest,
  mail: 'reset' | 'verify',
): Promise<Answer> {
  const body = request.body as Record<string, unknown>
  const errors: Errors = new Map()
  refuseOthers(body, ['email', 'user_type'], errors)
  const email = takeText(body, 'email', errors)
  const types = takeTypes(context, body.user_type, errors)
  if (errors.size > 0) throw invalid(errors)
  const key = emailKey(email)
  request.recordAccount(context.digestOf(key))
  await countMail(context, request.address, `${mail === 'reset' ? 'forgot' : mail} ${key}`, async () => {
    const mailed = types.filter(({ login }) => mail !== 'verify' || login?.verify === true)
    const tasks = await Promise.all(mailed.map(({ name }) => taskFor(context, mail, name, key)))
    await context.store.write([context.work.enqueue], taskParams(tasks))
  })
  context.work.wake()
  return messageAnswer('If there is such an account, a mail with a link is on its way.')
}

/** The task of a mail to the account with an e-mail. The id 0 is nobody. */
async function taskFor(
  { plans, store }: Context,
  mail: 'reset' | 'verify',
  entity: string,
  key: string,
): Promise<Task> {
  const login = plans.get(entity)?.login
  const [row = []] = login === undefined ? [] : await store.read(login.idByEmail, { [EMAIL_KEY]: key })
  return mailTask({ mail, entity, id: Number(row[0] ?? 0) })
}

/**
 * Counts a requested mail as a failed attempt, apart from logins. Nobody is locked out by it, and nobody is flooded
 * with mails. Throws if there were too many.
 */
export async function countMail(
  { throttle }: Context,
  address: string,
  account: AttemptAccount,
  run: () => Promise<void>,
): Promise<void> {
  await throttle.attempt({ account, address, device: null }, async () => {
    await run()
    return undefined
  })
}

/** The account of a valid link. */
export interface Linked {
  readonly plan: Plan
  readonly purpose: LinkKind
  readonly actor: Actor
  readonly id: number
  readonly epoch: number
  readonly version: number
  readonly email: string
  /** The key of the e-mail. */
  readonly key: string
  /** The e-mail address that the link is for, if it is not that of the account. */
  readonly address: string | undefined
  /** The state of the account that the transaction of the link requires. */
  readonly holder: LinkHolder
}

/** Finds the account of a link. Throws if the link is not valid. Wrong tokens count as failed attempts. */
export async function accountOfLink(
  context: Context,
  request: Pick<LinkRequest, 'address' | 'recordAccount'>,
  purposes: readonly LinkKind[],
  token: string,
): Promise<Linked> {
  const { address } = request
  const attempt: Attempt = { account: `link ${token}`, address, device: null, remembered: false }
  const passed = await context.throttle.attempt(attempt, () => findLinked(context, purposes, token))
  if (passed === undefined) throw new Failure('invalid_link')
  request.recordAccount(context.digestOf(passed.found.key))
  return passed.found
}

/** The same, without counting; undefined if the link is not valid. */
export async function findLinked(
  context: Context,
  purposes: readonly LinkKind[],
  token: string,
): Promise<Linked | undefined> {
  const all = await Promise.all(purposes.map((one) => context.links.find(one, token)))
  const at = all.findIndex((one) => one !== undefined)
  const [found, purpose] = [all[at], purposes[at]]
  const plan = found && context.plans.get(found.entity)
  if (found === undefined || purpose === undefined || plan?.login === undefined) return undefined
  const { entity, id, bound, address } = found
  const actor: Actor = { kind: 'user', entity, id, admin: entity === context.model.admins }
  const [row] = await context.store.read(plan.login.self, { ...callerParams(actor), $id: id })
  const self = row && plan.login.readSelf(row)
  if (self === undefined) return undefined
  const { key, hash, bound: present } = accountState(self)
  if (bound !== '' && present !== bound) return undefined
  const { version } = JSON.parse(String(self.json)) as { version: number }
  const { epoch, email } = self
  const state = bound === '' ? undefined : { key, hash }
  const now = { epoch: Number(epoch), version, email: String(email), key }
  return { plan, purpose, actor, id, ...now, address, holder: { entity, id, state } }
}

export function refuseOthers(body: object, known: readonly string[], errors: Errors): void {
  for (const name of Object.keys(body))
    if (!known.includes(name)) addError(errors, name, 'is not a field here')
}

/** Reads the token of a request whose body has nothing else. */
export function takeToken({ body }: Pick<LinkRequest, 'body'>): string {
  const errors: Errors = new Map()
  refuseOthers(body, ['token'], errors)
  const token = takeText(body as Record<string, unknown>, 'token', errors)
  if (errors.size > 0) throw invalid(errors)
  return token
}

export function messageAnswer(message: string, status = 200): KeptAnswer {
  return { status, body: JSON.stringify({ message }), shows: [] }
}

export const someMessage = closedObject({ message: { type: 'string' } }, ['message'])
