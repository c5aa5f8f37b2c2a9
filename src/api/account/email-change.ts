import { randomBytes } from 'node:crypto'
import type { AccountId } from '../../account/account-id.ts'
import { LINK, stateDigest } from '../../account/links.ts'
import { loginAccount } from '../../account/throttle.ts'
import { emailKey } from '../../declare/email-key.ts'
import { type Errors, Failure, invalid, invalidAt } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { memberColumns } from '../../plan/read/login.ts'
import { EMAIL_KEY } from '../../plan/tables/schema.ts'
import { type Actor, type Caller, userOf } from '../../plan/viewer/actor.ts'
import type { Act } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import type { Step } from '../../store/step.ts'
import { taskParams } from '../../work/queues.ts'
import { type Answer, allow, type Context, operationOf, TRIES } from '../context.ts'
import { refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { bindEmailKey, guardedIn, hashSecrets, refuseForbidden } from '../faults.ts'
import { refuseUnchangeable } from '../live.ts'
import { annotated } from '../notes.ts'
import { perform, withSteps } from '../perform.ts'
import { Query } from '../query.ts'
import { beforeUpdate, hasHook, hookCallerOf } from '../write/hooks.ts'
import { update } from '../write/update.ts'
import {
  accountOfLink,
  countMail,
  type Linked,
  type LinkRequest,
  messageAnswer,
  refuseOthers,
  someMessage,
  takeToken,
} from './account-link.ts'
import { confirmOwner, ownerConfirmed } from './confirm-owner.ts'
import { PASSWORD_BYTES } from './invite.ts'
import { credentials, type LoginRequest, takeText } from './login.ts'
import { mailTask } from './mail-queue.ts'
import { setPassword, signedInUser } from './session.ts'
import { markingVerified } from './verified.ts'

/**
 * `POST /api/auth/email`: mails a link to a new address. Nothing changes until somebody follows the link. The answer is
 * the same if another account has that address.
 */
async function askForEmailChange(context: Context, caller: Caller, request: LoginRequest): Promise<Answer> {
  const self = await signedInUser(context, caller)
  const { plan, id } = self
  request.recordAccount(context.digestOf(self.key))
  const errors: Errors = new Map()
  refuseOthers(request.body as object, ['email', 'password'], errors)
  const email = takeText(request.body as Record<string, unknown>, 'email', errors)
  const actor = userOf(caller.actor) ?? caller.actor
  const checked = errors.size > 0 ? '' : await perform(context.store, checkEmail(plan, actor, { id, email }))
  await confirmOwner(context, self, request, errors)
  const target = { entity: plan.type.name, id, bound: stateDigest(self.key, self.hash), address: checked }
  const { steps, params } = context.links.reserving('email', target)
  const task = mailTask({ mail: 'email', entity: plan.type.name, id })
  await countMail(context, request.address, `email ${emailKey(checked)}`, async () => {
    await context.store.write([...steps, context.work.enqueue], { ...params, ...taskParams([task]) })
  })
  context.work.wake()
  return messageAnswer(
    'A mail with a link is on its way to the new address. Nothing changes until you follow it.',
  )
}

/** Returns the address as it is stored. Throws if a PATCH could not set it, unless only because it is taken. */
function* checkEmail(
  plan: Plan,
  actor: Actor,
  { id, email }: { readonly id: number; readonly email: string },
): Act<string> {
  allow(plan, 'update', actor)
  yield* refuseUnchangeable(plan, actor, id)
  const errors: Errors = new Map()
  const view = plan.view(actor)
  const values = view.check('partial', { email }, errors)
  if (errors.size > 0) throw invalid(errors)
  const params = { ...operationOf(actor), $id: id }
  plan.bind(values, params)
  bindEmailKey(plan, params)
  const guarded = guardedIn(view.guarded.update, values)
  const options = { partial: true, guarded }
  yield* refuseForbidden(plan, actor, { action: 'update', params, options, errors })
  if (errors.size > 0) throw invalid(errors)
  return String(values.email)
}

/** `POST /api/auth/email/confirm`: changes the e-mail, as an operation of the user, and tells the old address. */
export async function confirmEmail(context: Context, request: LinkRequest): Promise<Answer> {
  const token = takeToken(request)
  const operation = await retried(async () => {
    const linked = await accountOfLink(context, request, ['email'], token)
    return changeByLink(context, linked, { token, request })
  })
  const answer = messageAnswer('The e-mail address was changed. Log in with it from now on.')
  return { ...answer, headers: { 'Takeback-Operation': operation } }
}

/** Retries if others change the account at the same time. */
async function retried(run: () => Promise<string>): Promise<string> {
  for (let tries = 1; ; tries++)
    try {
      return await run()
    } catch (error) {
      if (tries >= TRIES || !(error instanceof Failure) || error.code !== 'stale') throw error
    }
}

async function changeByLink(
  context: Context,
  { plan, actor, id, version, email, address = '', holder }: Linked,
  { token, request }: { readonly token: string; readonly request: LinkRequest },
): Promise<string> {
  const entity = plan.type.name
  const when = { ifMatch: `|${version}|` }
  const hookCaller = hookCallerOf({ caller: { actor, session: undefined, expired: false } })
  const sent = { email: address }
  const { body, own } = hasHook(plan, 'update')
    ? await beforeUpdate(context, plan, hookCaller, { id, body: sent, when })
    : { body: sent, own: undefined }
  const link = context.links.using('email', token, holder)
  const mark = markingVerified(context, plan, { id, key: emailKey(address) })
  const act = update(context, plan, actor, { id, body, own, sent, mode: 'partial', when, query: Query.empty })
  const first = await context.links.findRevert({ entity, id }, emailKey(address))
  const whole = withSteps(act, (operation) => {
    const former = forFormer(context, { entity, id, email, first, operation })
    return {
      steps: [...link.steps, ...mark.steps, ...former.steps],
      params: { ...link.params, ...mark.params, ...former.params },
    }
  })
  const { headers } = await perform(
    context.store,
    annotated(context, request.note, refusingUsed(whole)),
    request.signal,
  )
  context.work.wake()
  return headers?.['Takeback-Operation'] ?? ''
}

/**
 * Tells the former address, with a link that takes the change back. Not if the owner takes back an earlier change by this
 * one: then the addresses since may be those of an attacker, and their links end.
 */
function forFormer(
  context: Context,
  { entity, id, email, first, operation }: FormerAddress,
): { steps: readonly Step[]; params: Params } {
  if (first !== undefined) return context.links.endingLater({ entity, id }, first)
  const target = { entity, id, bound: '', address: email, slot: operation }
  const { steps, params } = context.links.reservingFor('revert', target)
  const task = mailTask({ mail: 'revert', entity, id, operation })
  return { steps: [...steps, context.work.enqueue], params: { ...params, ...taskParams([task]) } }
}

interface FormerAddress extends AccountId {
  readonly email: string
  /** The slot of the first link that can give the account its new address back. */
  readonly first: string | undefined
  readonly operation: string
}

/** Throws if the link was used meanwhile, since the write must then not be retried. */
function* refusingUsed<T>(act: Act<T>): Act<T> {
  let next = act.next()
  while (!next.done) {
    const outcome = yield next.value
    if (!outcome.done && outcome.step === LINK) throw new Failure('invalid_link')
    next = act.next(outcome)
  }
  return next.value
}

/**
 * `POST /api/auth/email/revert`: gives an account back to its former address, whatever has changed since. All sessions
 * end. The password ends too, and a link to set a new one is mailed to that address.
 */
export async function revertEmail(context: Context, request: LinkRequest): Promise<Answer> {
  const token = takeToken(request)
  const linked = await accountOfLink(context, request, ['revert'], token)
  const { plan, actor, id, address = '', holder } = linked
  const entity = plan.type.name
  const key = emailKey(address)
  const link = context.links.using('revert', token, holder, context.reclaim)
  const mark = markingVerified(context, plan, { id, key })
  const params = {
    ...operationOf(actor),
    ...link.params,
    ...mark.params,
    ...taskParams([mailTask({ mail: 'reset', entity, id })]),
    $id: id,
    // A password that was changed meanwhile is replaced too.
    $epoch: null,
    email: address,
    [EMAIL_KEY]: key,
    password: randomBytes(PASSWORD_BYTES).toString('base64url'),
  }
  await perform(context.store, hashSecrets(plan, params, 'login'), request.signal)
  const before = [...link.steps, ...mark.steps, context.work.enqueue]
  const act = setPassword(context, plan, params, before)
  if (!(await perform(context.store, annotated(context, request.note, act), request.signal)))
    throw await whyNot(context, request, linked, token)
  context.identities.forget()
  context.work.wake()
  await context.throttle.unlock(loginAccount(plan.type, key))
  const answer = messageAnswer(
    'Your account has its old e-mail address again, and all sessions have ended. A mail with a link to set a new password is on its way.',
  )
  return { ...answer, headers: { 'Takeback-Operation': params.$operation } }
}

async function whyNot(
  context: Context,
  request: LinkRequest,
  { plan, id, address = '' }: Linked,
  token: string,
): Promise<Failure> {
  await accountOfLink(context, request, ['revert'], token)
  const [row] =
    plan.login === undefined
      ? []
      : await context.store.read(plan.login.byEmail, { [EMAIL_KEY]: emailKey(address) })
  return row === undefined || Number(memberColumns.read(row).id) === id
    ? new Failure('busy')
    : invalidAt('email', 'is taken by another account now: ask an admin')
}

const open = { method: 'POST', tag: SESSIONS, parameters: [], body: 'object', access: 'everyone' } as const
const byToken = { schema: refTo('LinkToken'), example: { token: 'l3vYp7yqM0…' } }
const changed = (description: string) => [
  { status: 200, description, headers: ['Takeback-Operation'], schema: someMessage } as const,
]

export const askForEmail = serverEndpoint({
  ...open,
  name: 'changeEmail',
  path: '/api/auth/email',
  access: 'signed-in',
  ownLogin: true,
  answer: 'kept',
  describe: () => ({
    summary: 'Change your e-mail address',
    description: `Mails a link to the new address. The address changes when the link is followed. The answer is the same if somebody else has that address. ${ownerConfirmed}`,
    body: {
      schema: refTo('EmailChange'),
      example: { email: 'ada.lovelace@example.com', password: credentials.password },
    },
    answers: [{ status: 200, description: 'The new address gets a mail.', headers: [], schema: someMessage }],
    codes: [
      'unauthenticated',
      'recent_login_required',
      'forbidden',
      'not_found',
      'too_many_attempts',
      'disk_full',
    ],
  }),
  run: (context, call) => askForEmailChange(context, call.caller, call),
})

export const confirmEmailByLink = serverEndpoint({
  ...open,
  name: 'confirmEmail',
  path: '/api/auth/email/confirm',
  answer: 'kept',
  describe: () => ({
    summary: 'Confirm a new e-mail address by a mailed link',
    description:
      'Takes the token of the newest link, once, and changes the address. The old address gets a mail with a link that takes the change back.',
    body: byToken,
    answers: changed('The address was changed.'),
    codes: ['invalid_link', 'forbidden', 'not_found', 'busy', 'too_many_attempts', 'disk_full'],
  }),
  run: confirmEmail,
})

export const revertEmailByLink = serverEndpoint({
  ...open,
  name: 'revertEmail',
  path: '/api/auth/email/revert',
  answer: 'kept',
  describe: () => ({
    summary: 'Take back a change of the e-mail address by a mailed link',
    description:
      'For the owner of the old address. Works even if the password or the address was changed again. Ends all sessions and the password, and mails a link to set a new one.',
    body: byToken,
    answers: changed('The account has its old address again.'),
    codes: ['invalid_link', 'busy', 'too_many_attempts', 'disk_full'],
  }),
  run: revertEmail,
})
