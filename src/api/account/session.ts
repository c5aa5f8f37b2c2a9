import { verifyInLane } from '../../account/passwords.ts'
import type { Visitor } from '../../account/sessions.ts'
import { expiryOf } from '../../account/temporary.ts'
import { loginAccount } from '../../account/throttle.ts'
import { renew } from '../../account/tokens.ts'
import { no } from '../../declare/cel/expression.ts'
import { addError, type Errors, Failure, invalid, invalidAt } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import type { LoginPlan } from '../../plan/read/login.ts'
import { type Caller, type KeyActor, type Session, system, userOf } from '../../plan/viewer/actor.ts'
import { type Act, write } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import type { Step } from '../../store/step.ts'
import { type Answer, type Context, callerParams, operationOf, signInFirst, TRIES } from '../context.ts'
import { refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { addPasswordErrors, hashSecrets } from '../faults.ts'
import { annotated } from '../notes.ts'
import { perform } from '../perform.ts'
import { badToken } from './identify.ts'
import { credentials, type LoginRequest, takeText } from './login.ts'
import { sealFormer } from './seal.ts'
import { describeUser, ownerOf, selfOf, signedInAnswer, signIn, startSession } from './sign-in.ts'
import { isVerified, refuseUnverified } from './verified.ts'

/** A logged-in user. */
export interface Self {
  readonly plan: Plan
  readonly login: LoginPlan
  readonly id: number
  readonly session: Session
  readonly hash: string
  readonly json: string
  readonly email: string
  /** The key of the e-mail. */
  readonly key: string
  /** When the password expires, if it is temporary. */
  readonly passwordExpiry: string | undefined
}

/** Returns the calling user, with hash and session. */
export async function signedInUser(context: Context, { actor, session }: Caller): Promise<Self> {
  const user = userOf(actor)
  if (actor.kind === 'key') throw new Failure('own_login_required')
  if (user === undefined || session === undefined) throw signInFirst()
  const plan = context.plans.get(user.entity)
  const login = plan?.login
  const [row] =
    login === undefined ? [] : await context.store.read(login.self, { ...callerParams(actor), $id: user.id })
  if (plan === undefined || login === undefined || row === undefined) throw badToken()
  const self = login.readSelf(row)
  // Checks the token's own epoch: an ended token must not be exchanged for a valid one.
  if (Number(self.epoch) !== session.epoch) throw badToken()
  return {
    plan,
    login,
    id: user.id,
    session,
    hash: String(self.hash),
    json: String(self.json),
    email: String(self.email),
    key: String(self.key),
    passwordExpiry: expiryOf(self),
  }
}

/** `GET /api/auth/me` */
export async function readSelf(context: Context, caller: Caller): Promise<Answer> {
  if (caller.actor.kind === 'key') return readOwner(context, caller.actor)
  const self = await signedInUser(context, caller)
  const verified = await isVerified(context, self.plan, self.id)
  return { status: 200, body: JSON.stringify(describeUser(self.plan, self.json, { ...self, verified })) }
}

/** Returns the user in whose name a key acts, if the key may read users of that type. */
async function readOwner(context: Context, actor: KeyActor): Promise<Answer> {
  const plan = context.plans.get(actor.user.entity)
  const self = plan && (await selfOf(context, plan, actor.user.id))
  if (plan === undefined || self === undefined) throw badToken()
  if (plan.view(actor).may.read === no) throw new Failure('forbidden')
  const verified = await isVerified(context, plan, actor.user.id)
  const user = describeUser(plan, self.json, { ...self, verified, session: {} })
  return { status: 200, body: JSON.stringify(user) }
}

/** `POST /api/auth/refresh`: a new token of the same session; the old one stops working. Of many at once, one wins. */
export async function refresh(context: Context, caller: Caller, request: Refresh): Promise<Answer> {
  const self = await signedInUser(context, caller)
  await refuseUnverified(context, self)
  const former = self.session
  const next = renew(former)
  const owner = ownerOf({ ...self, epoch: former.epoch })
  const done = await context.sessions.renew(owner, { former, next, visitor: request }, request.signal)
  context.identities.forget()
  if (!done) throw badToken()
  return signIn(context, self, next)
}

type Refresh = Visitor & { readonly signal: AbortSignal }

/** `POST /api/auth/logout`: ends all tokens of this session. An admin who acts as a user only stops acting as them. */
export async function logout(context: Context, caller: Caller, signal: AbortSignal): Promise<Answer> {
  const { session } = await signedInUser(context, caller)
  const ended = session.by === undefined ? session.id : session.token
  await context.sessions.endOwn(ended, signal)
  context.identities.forget()
  return { status: 204 }
}

/** `POST /api/auth/password`: all tokens of the user stop working, and a new one is returned. */
export async function changePassword(
  context: Context,
  caller: Caller,
  request: LoginRequest,
): Promise<Answer> {
  const self = await signedInUser(context, caller)
  request.recordAccount(context.digestOf(self.key))
  const { password, fresh, endsKeys } = parseChange(self, request.body as Record<string, unknown>)
  await refuseUnverified(context, self)
  await confirmPassword(context, self, password, request)
  const whose = { $keys_entity: self.plan.type.name, $keys_of: self.id }
  const own = { $id: self.id, $epoch: self.session.epoch, password: fresh, ...whose }
  const params = { ...operationOf(caller.actor), ...own }
  await perform(context.store, hashSecrets(self.plan, params, 'login'), request.signal)
  const done = await perform(
    context.store,
    annotated(
      context,
      request.note,
      setPassword(context, self.plan, params, endsKeys ? [context.keys.endAll] : []),
    ),
    request.signal,
  )
  if (!done) throw badToken()
  context.identities.forget()
  const [row] = await context.store.read(self.login.self, { ...callerParams(caller.actor), $id: self.id })
  const json = row === undefined ? self.json : String(self.login.readSelf(row).json)
  const next = {
    ...self,
    json,
    passwordExpiry: undefined,
    epoch: self.session.epoch + 1,
    strong: self.session.strong === true,
  }
  const answer = await startSession(context, next, 'password', request)
  return { ...answer, headers: { 'Takeback-Operation': params.$operation } }
}

/**
 * Sets a password. False if it was changed since `$epoch`, or if one of the steps `before` is refused. Other changes of
 * the user do not matter.
 */
export function* setPassword(
  context: Context,
  plan: Plan,
  params: Params,
  before: readonly Step[] = [],
): Act<boolean> {
  const steps = plan.view(system).writes.update(params, { partial: true, guarded: [] })
  for (let tries = 0; tries < TRIES; tries++) {
    params.$versions = null
    const seals = yield* sealFormer(context, plan, params)
    const outcome = yield* write([...before, ...seals, ...steps], params)
    if (outcome.done) return true
    if (before.some(({ name }) => name === outcome.step)) return false
  }
  return false
}

/** Throws if this is not the user's password. */
export async function confirmPassword(
  { throttle }: Context,
  { plan, key, hash, session }: Self,
  password: string,
  { address, device, signal }: Pick<LoginRequest, 'address' | 'device' | 'signal'>,
): Promise<void> {
  const account = loginAccount(plan.type, key)
  const right = await throttle.attempt({ account, address, device, session: session.id }, () =>
    verifyInLane(signal, async (verify) => (await verify(password, hash)) || undefined),
  )
  if (right === undefined) throw invalidAt('password', 'is wrong')
}

function parseChange(
  { plan, key }: Self,
  body: Record<string, unknown>,
): { password: string; fresh: string; endsKeys: boolean } {
  const errors: Errors = new Map()
  for (const name of Object.keys(body))
    if (!['password', 'new_password', 'keys'].includes(name))
      addError(errors, name, 'is not a field of a change of password')
  const { keys = 'keep' } = body
  if (keys !== 'keep' && keys !== 'end') addError(errors, 'keys', 'must be keep or end')
  const password = takeText(body, 'password', errors)
  const fresh = takeText(body, 'new_password', errors)
  const weak: Errors = new Map()
  if (!errors.has('new_password')) plan.view(system).check('partial', { password: fresh }, weak)
  addPasswordErrors(plan, { password: fresh, email: key }, weak)
  for (const sentence of weak.get('password') ?? []) addError(errors, 'new_password', sentence)
  if (errors.size > 0) throw invalid(errors)
  return { password, fresh, endsKeys: keys === 'end' }
}

const ofSession = { tag: SESSIONS, parameters: [], access: 'signed-in' } as const

export const readMe = serverEndpoint({
  ...ofSession,
  name: 'getUser',
  method: 'GET',
  path: '/api/auth/me',
  withoutFactor: true,
  describe: () => ({
    summary: 'Current user',
    description: 'Returns the user that the token belongs to.',
    answers: [{ status: 200, description: 'The user.', headers: [], schema: refTo('User') }],
    codes: ['unauthenticated'],
  }),
  run: (context, { caller }) => readSelf(context, caller),
})

export const refreshToken = serverEndpoint({
  ...ofSession,
  name: 'refreshToken',
  method: 'POST',
  path: '/api/auth/refresh',
  ownLogin: true,
  answer: 'token',
  describe: () => ({
    summary: 'Get a new token',
    description:
      'Replaces the token that was sent, which stops working. The session stays the same and ends 30 days after the login.',
    answers: [signedInAnswer],
    codes: ['unauthenticated', 'unverified', 'disk_full'],
  }),
  run: (context, call) => refresh(context, call.caller, call),
})

export const logOut = serverEndpoint({
  ...ofSession,
  name: 'logout',
  method: 'POST',
  path: '/api/auth/logout',
  withoutFactor: true,
  answer: 'kept',
  describe: () => ({
    summary: 'Log out',
    description: 'Ends the session. Its tokens stop working at once, on every instance.',
    answers: [{ status: 204, description: 'The session has ended.', headers: [] }],
    codes: ['unauthenticated', 'disk_full'],
  }),
  run: (context, { caller, signal }) => logout(context, caller, signal),
})

export const changeMyPassword = serverEndpoint({
  ...ofSession,
  name: 'changePassword',
  method: 'POST',
  path: '/api/auth/password',
  ownLogin: true,
  body: 'object',
  expired: true,
  withoutFactor: true,
  answer: 'token',
  describe: () => ({
    summary: 'Change the password',
    description: 'Ends all sessions of the user and starts a new one, whose token it returns.',
    body: {
      schema: refTo('PasswordChange'),
      example: { password: credentials.password, new_password: 'a longer and better password' },
    },
    answers: [{ ...signedInAnswer, headers: ['Takeback-Operation'] }],
    codes: ['unauthenticated', 'unverified', 'too_many_attempts', 'disk_full'],
  }),
  run: (context, call) => changePassword(context, call.caller, call),
})
