import { type Verify, verifyInLane } from '../../account/passwords.ts'
import { loginAccount } from '../../account/throttle.ts'
import { emailKey } from '../../declare/email-key.ts'
import { isStorable } from '../../declare/fields/text.ts'
import type { EntityType } from '../../declare/model.ts'
import { addError, type Errors, Failure, invalid } from '../../errors.ts'
import { memberColumns } from '../../plan/read/login.ts'
import { EMAIL_KEY } from '../../plan/tables/schema.ts'
import type { Answer, Context } from '../context.ts'
import { refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import type { Note } from '../notes.ts'
import { accountSchemas } from './account-schemas.ts'
import { provenByPassword, refuseOvertaken } from './second-factor.ts'
import { type Proven, selfOf, signedInAnswer, startSession } from './sign-in.ts'

/** `POST /api/auth/login`, and `POST /api/login`, which also takes `username`. */
export async function login(context: Context, request: LoginRequest, alias: boolean): Promise<Answer> {
  const { email, password, code, types } = parseLogin(context, request.body as Record<string, unknown>, alias)
  const account = emailKey(email)
  request.recordAccount(context.digestOf(account))
  const { address, device, signal } = request
  let unverified = false
  const attempts = types.map((type) => ({ account: loginAccount(type, account), address, device }))
  const passed = await context.throttle.attemptEach(attempts, async (at, isRight) => {
    const guess = { key: account, password, type: types[at] }
    const { user, isTried } = await verifyInLane(signal, (verify) => findMember(context, guess, verify))
    unverified ||= isTried
    if (user === undefined) return undefined
    isRight(user.hash)
    return provenByPassword(context, user, code, request)
  })
  if (passed === undefined) throw new Failure(unverified ? 'unverified' : 'login_failed')
  const answer = await startSession(context, passed.found, 'password', request)
  await refuseOvertaken(context, passed.found, provenByPassword, request)
  return { ...answer, headers: { 'Takeback-Device': passed.device } }
}

/** A request with a password. */
export interface LoginRequest {
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal
  readonly body: unknown
  readonly address: string
  /** `Takeback-Device` */
  readonly device: string | null
  /** `User-Agent` */
  readonly agent: string | null
  /** The run and the reason of a write. */
  readonly note: Note | null
  /** Puts the digest of the account into the log. */
  recordAccount(digest: string): void
}

/** The user whose password it is, and whether it is that of an unverified sign-up. */
interface MemberFound {
  readonly user: (Proven & { readonly hash: string }) | undefined
  readonly isTried: boolean
}

/**
 * Finds the user with a password. For a wrong password it does the same work whether or not the e-mail exists, so
 * neither the answer nor its time reveals that. Types with `verify` take two hashes: that of the account, and that of
 * the last sign-up which found the e-mail taken. Until the address is proved, only the password of the last sign-up is
 * answered with `unverified`, whether or not there was an account before: sign-ups and logins reveal nothing. It counts
 * as a failed attempt.
 */
async function findMember(
  context: Context,
  { key, password, type }: { key: string; password: string; type: EntityType | undefined },
  verify: Verify,
): Promise<MemberFound> {
  const plan = context.plans.get(type?.name ?? '')
  if (type === undefined || plan?.login === undefined) return { user: undefined, isTried: false }
  const [row] = await context.store.read(plan.login.byEmail, { [EMAIL_KEY]: key })
  const member = row && memberColumns.read(row)
  const id = Number(member?.id ?? NOBODY)
  const account = { entity: type.name, id, key }
  const asks = type.login?.verify === true
  const isVerified = !asks || (await context.verified.has(account))
  const right = await verify(password, member && String(member.hash))
  if (right && isVerified) {
    const self = await selfOf(context, plan, id)
    const user = self && { ...self, plan, id, epoch: Number(member?.epoch), hash: String(member?.hash) }
    if (user !== undefined) return { user, isTried: false }
  }
  if (!asks) return { user: undefined, isTried: false }
  const tried = await context.tried.of(account)
  const isTried = await verify(password, tried)
  return { user: undefined, isTried: tried === undefined ? right : isTried }
}

/** An id that no account has. */
const NOBODY = 0

function parseLogin(
  context: Context,
  body: Record<string, unknown>,
  alias: boolean,
): { email: string; password: string; code: string | undefined; types: readonly EntityType[] } {
  const errors: Errors = new Map()
  const known = ['email', 'password', 'code', 'user_type', ...(alias ? ['username'] : [])]
  for (const name of Object.keys(body))
    if (!known.includes(name)) addError(errors, name, 'is not a field of a login')
  const name =
    alias && !Object.hasOwn(body, 'email') && Object.hasOwn(body, 'username') ? 'username' : 'email'
  if (name === 'email' && Object.hasOwn(body, 'username') && alias)
    addError(errors, 'username', 'cannot be combined with email')
  const email = takeText(body, name, errors)
  const password = takeText(body, 'password', errors)
  const code = Object.hasOwn(body, 'code') ? takeText(body, 'code', errors) : undefined
  const types = takeTypes(context, body.user_type, errors)
  if (errors.size > 0) throw invalid(errors)
  return { email, password, code, types }
}

/** Longer texts are neither an e-mail nor a password, and are not worth a hash. */
const TEXT_MAX = 1024

export function takeText(body: Record<string, unknown>, name: string, errors: Errors): string {
  const value = Object.hasOwn(body, name) ? body[name] : undefined
  if (value === undefined) addError(errors, name, 'is required')
  else if (typeof value !== 'string') addError(errors, name, 'must be a text')
  else if (value === '') addError(errors, name, 'is required')
  else if (!isStorable(value)) addError(errors, name, 'must not contain U+0000 or half of a surrogate pair')
  else if (Buffer.byteLength(value) > TEXT_MAX) addError(errors, name, `must have at most ${TEXT_MAX} bytes`)
  else return value
  return ''
}

/** If it is empty, `null` or absent, all login types are meant, in the order of their declaration. */
export function takeTypes({ model }: Context, userType: unknown, errors: Errors): readonly EntityType[] {
  if (userType === undefined || userType === null || userType === '') return model.logins
  const type = model.logins.find(({ login }) => login?.userType === userType)
  if (type !== undefined) return [type]
  const names = model.logins.map((one) => one.login?.userType).join(', ')
  addError(errors, 'user_type', typeof userType === 'string' ? `must be one of ${names}` : 'must be a text')
  return []
}

export const credentials = { email: 'ada@example.com', password: 'correct horse battery staple' }

const loggingIn = {
  method: 'POST',
  tag: SESSIONS,
  parameters: ['Takeback-Device'],
  body: 'object',
  access: 'everyone',
} as const
const described = {
  answers: [{ ...signedInAnswer, headers: ['Takeback-Device'] }],
  codes: [
    'login_failed',
    'second_factor_required',
    'second_factor_failed',
    'unverified',
    'too_many_attempts',
    'disk_full',
  ],
} as const

export const logIn = serverEndpoint({
  ...loggingIn,
  name: 'login',
  path: '/api/auth/login',
  answer: 'token',
  schemas: accountSchemas,
  describe: () => ({
    ...described,
    summary: 'Log in',
    description:
      'Returns a token for an e-mail and a password. A wrong e-mail and a wrong password get the same answer. If the user has a second factor, `code` is required: one from the authenticator app, or a recovery code.',
    body: { schema: refTo('Login'), example: credentials },
  }),
  run: (context, call) => login(context, call, false),
})

export const logInByUsername = serverEndpoint({
  ...loggingIn,
  name: 'loginByUsername',
  path: '/api/login',
  answer: 'token',
  describe: () => ({
    ...described,
    summary: 'Log in by username',
    description: 'The same as `/api/auth/login`, for clients that send the e-mail as `username`.',
    body: {
      schema: refTo('LoginByUsername'),
      example: { username: credentials.email, password: credentials.password },
    },
  }),
  run: (context, call) => login(context, call, true),
})
