import type { Handoff, ReturnedCode } from '../../account/providers/handoffs.ts'
import { isDigestOf } from '../../account/providers/handoffs.ts'
import type { OpenIdProvider } from '../../account/providers/openid.ts'
import type { Attempt } from '../../account/throttle.ts'
import { catalogue, Failure } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { messagePage } from './account-pages.ts'
import { accountFor } from './provider-account.ts'
import { cookieName, loginChecks, providerOf } from './provider-start.ts'
import { hasFactor } from './second-factor.ts'
import { selfOf } from './sign-in.ts'

type Returned = Call<'state' | 'code' | 'error' | 'iss'>

/** `GET /api/auth/providers/<name>/callback`: the address to which a provider sends a browser back. */
async function handleCallback(context: Context, call: Returned): Promise<Answer> {
  const provider = providerOf(context, call.params?.name)
  const query = new URLSearchParams()
  // Providers add their own parameters.
  const known = call.query.take(new Map(), (name, value) => query.set(name, value))
  for (const [name, value] of Object.entries(known)) query.set(name, value)
  const { state = '' } = known
  const { address } = call
  const attempt: Attempt = { account: `provider-state ${state}`, address, device: null, remembered: false }
  const began = await context.throttle.attempt(attempt, () =>
    findStartedLogin(context, provider, call, state),
  )
  if (began === undefined) throw new Failure('login_expired')
  const { found } = began
  try {
    const done = await finishLogin(context, call, { provider, found, query, state })
    const kind = (await needsSecondFactor(context, done)) ? 'slow_code' : 'code'
    const code = await context.handoffs.make(kind, done)
    return redirectBack(found.returnTo, 'code', code)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { code } = error
    const reasons = reasonsFor(error)
    context.observer.emit({ kind: 'provider_login_failed', provider: provider.name, code, reasons })
    return redirectBack(found.returnTo, 'error', code)
  }
}

/** Returns sentences only: other parts of an error may be secret. */
function reasonsFor({ message, errors = new Map(), cause }: Failure): string[] {
  const reasons = [...errors].map(([path, sentences]) => `${path} ${sentences.join(', ')}`)
  if (reasons.length > 0) return reasons
  const messages = [message]
  for (let one = cause; one instanceof Error && messages.length < 3; one = one.cause)
    messages.push(one.message)
  return messages
}

/** Finds the login that this browser has started. It is used up, whoever asks. */
async function findStartedLogin(
  { handoffs, ...context }: Context,
  { name }: OpenIdProvider,
  call: Returned,
  state: string,
): Promise<Handoff['state'] | undefined> {
  const found = await handoffs.use('state', state)
  const browser = call.cookie(cookieName({ handoffs, ...context }))
  if (found?.provider !== name || browser === null || !isDigestOf(found.browser, browser)) return undefined
  return found
}

/** Whether the user must first look for a second factor. Without the factor, the code is worth nothing. */
async function needsSecondFactor(context: Context, { account, identity }: ReturnedCode): Promise<boolean> {
  const plan = context.plans.get(account.entity)
  return identity === null && plan !== undefined && (await hasFactor(context, plan, account.id))
}

interface CallbackState {
  readonly provider: OpenIdProvider
  readonly found: Handoff['state']
  readonly query: URLSearchParams
  readonly state: string
}

/** Makes the payload of the code. */
async function finishLogin(
  context: Context,
  call: Returned,
  { provider, found, query, state }: CallbackState,
): Promise<ReturnedCode> {
  const { challenge, link, userType } = found
  const claims = await provider.claims(query, loginChecks(context, state))
  const { issuer, subject } = claims
  const identity = { provider: provider.name, issuer, subject }
  // Only the owner of the account can finish the linking, with a token.
  if (link !== null) return { challenge, account: link, identity }
  const account = await accountFor(context, { claims, identity, userType, signUp: () => call.signUp(1) })
  const plan = context.plans.get(account.entity)
  const self = plan && (await selfOf(context, plan, account.id))
  // Whoever reclaims an account ends its sessions and unlinks identities. This comes before both or after both.
  if (self === undefined || (await context.linked.find(identity, account.entity)) !== account.id)
    throw new Failure('login_expired')
  return { challenge, account, identity: null, epoch: self.epoch }
}

/** Redirects to an address that was checked when the login began. */
function redirectBack(address: string, name: 'code' | 'error', value: string): Answer {
  const url = new URL(address)
  for (const one of ['code', 'error']) url.searchParams.delete(one)
  url.searchParams.set(name, value)
  return { status: 303, headers: { Location: url.href } }
}

export const finishProviderLogin = serverEndpoint({
  name: 'finishProviderLogin',
  method: 'GET',
  path: '/api/auth/providers/{name}/callback',
  tag: SESSIONS,
  parameters: ['provider', 'state', 'provider_code', 'provider_error', 'iss'],
  access: 'everyone',
  writes: true,
  produces: ['application/json', 'text/html'],
  describe: () => ({
    summary: 'Return from a provider',
    description:
      'The redirect URI to register with the provider, which sends browsers here. Redirects to `return_to`, with a `code` that works once, or with the code of a failure as `error`. Failures without a `return_to` are answered with a page, or with JSON if `Accept` prefers that.',
    answers: [{ status: 303, description: 'Back to the app.', headers: ['Location'] }],
    codes: [
      'not_found',
      'login_expired',
      'too_many_attempts',
      'disk_full',
      // These errors are in the URL of the app, as `error`.
      'provider_denied',
      'provider_failed',
      'provider_unavailable',
      'provider_email_unverified',
      'account_exists',
      'sign_up_closed',
      'sign_up_incomplete',
    ],
  }),
  async run(context, call) {
    try {
      return await handleCallback(context, call)
    } catch (error) {
      if (call.type !== 'text/html' || !(error instanceof Failure) || catalogue[error.code].status >= 500)
        throw error
      return messagePage(context, call, error)
    }
  },
})
