import type { Handoff, ProviderLogin } from '../../account/providers/handoffs.ts'
import { randomText, sha256 } from '../../account/providers/handoffs.ts'
import type { LoginChecks, OpenIdProvider } from '../../account/providers/openid.ts'
import { budget } from '../../budget.ts'
import { addError, type Errors, Failure, invalid } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { closedObject, refTo, SESSIONS } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { takeTypes } from './login.ts'

export function providerOf({ providers }: Context, name = ''): OpenIdProvider {
  const provider = providers.get(name)
  if (provider === undefined) throw new Failure('not_found')
  return provider
}

/** Derives the nonce and the verifier from the state with the server's secret, so that neither has to be stored. */
export function loginChecks({ tokens }: Context, state: string): LoginChecks {
  const made = (purpose: string) => tokens.digest(`provider ${purpose}`).update(state).digest('base64url')
  return { state, nonce: made('nonce'), verifier: made('verifier') }
}

/** The cookie that ties a login to the browser that started it. Browsers send `__Host-` cookies only to this host. */
export function cookieName({ settings }: Context): string {
  return isSecure(settings.mail.url) ? '__Host-takeback_login' : 'takeback_login'
}

function isSecure(url: string): boolean {
  return url.startsWith('https:')
}

function cookieOf(context: Context, browser: string): string {
  const secure = isSecure(context.settings.mail.url) ? '; Secure' : ''
  const seconds = budget.providerLoginMinutes * 60
  return `${cookieName(context)}=${browser}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
}

type Start = Call<'return_to' | 'user_type' | 'code_challenge' | 'link'>

/** `GET /api/auth/providers/<name>/start`: sends a browser to the provider. */
async function start(context: Context, call: Start): Promise<Answer> {
  const { provider, login } = await parseStart(context, call)
  const known = call.cookie(cookieName(context))
  // One cookie for all windows of a browser: a second login must not end the first.
  const browser = known !== null && /^[\w-]{43}$/.test(known) ? known : randomText()
  const state = randomText()
  const url = await provider.startUrl(loginChecks(context, state))
  await context.handoffs.make('state', { ...login, browser: sha256(browser) }, state)
  return { status: 303, headers: { Location: url, 'Set-Cookie': cookieOf(context, browser) } }
}

async function parseStart(
  context: Context,
  { query, params }: Start,
): Promise<{ provider: OpenIdProvider; login: Omit<Handoff['state'], 'browser'> }> {
  const errors: Errors = new Map()
  const { link, user_type, ...given } = query.take(errors)
  if (link === undefined) takeTypes(context, user_type, errors)
  else
    for (const name of ['return_to', 'user_type', 'code_challenge'])
      if (query.has(name)) addError(errors, name, 'cannot be combined with link')
  const back = link === undefined ? parseReturn(context, given, errors) : undefined
  if (errors.size > 0) throw invalid(errors)
  const provider = providerOf(context, params?.name)
  const { name } = provider
  if (back !== undefined)
    return { provider, login: { ...back, provider: name, userType: user_type || null, link: null } }
  const began = await context.handoffs.use('link', link ?? '')
  if (began?.provider !== name) throw new Failure('login_expired')
  return { provider, login: { ...began, userType: null } }
}

/** Reads the address to return to, and the challenge of the code. */
export function parseReturn(
  { settings }: Context,
  given: { readonly return_to?: unknown; readonly code_challenge?: unknown },
  errors: Errors,
): Pick<ProviderLogin, 'returnTo' | 'challenge'> {
  const { return_to: to = settings.mail.appUrl, code_challenge: challenge } = given
  const url = typeof to === 'string' && URL.canParse(to) ? new URL(to) : undefined
  if (to === undefined) addError(errors, 'return_to', 'is required')
  else if (url === undefined || typeof to !== 'string') addError(errors, 'return_to', 'must be an address')
  else if (Buffer.byteLength(to) > budget.returnToBytes)
    addError(errors, 'return_to', `must have at most ${budget.returnToBytes} bytes`)
  else if (!settings.returnOrigins.has(url.origin) || url.username !== '' || url.password !== '')
    addError(errors, 'return_to', 'is not on an allowed origin (TAKEBACK_APP_URL, TAKEBACK_ALLOW_ORIGINS)')
  const isDigest = typeof challenge === 'string' && /^[\w-]{43}$/.test(challenge)
  if (challenge !== undefined && !isDigest)
    addError(errors, 'code_challenge', 'must be a SHA-256 digest in base64url, with 43 characters')
  return { returnTo: url?.href ?? '', challenge: isDigest ? challenge : null }
}

function listed({ providers, settings }: Context): Answer {
  const data = [...providers.keys()].map((name) => ({
    name,
    start: `${settings.mail.url}/api/auth/providers/${name}/start`,
  }))
  return { status: 200, body: JSON.stringify({ data }) }
}

export const listProviders = serverEndpoint({
  name: 'listProviders',
  method: 'GET',
  path: '/api/auth/providers/',
  tag: SESSIONS,
  parameters: [],
  access: 'everyone',
  schemas: () => ({
    Providers: closedObject(
      {
        data: {
          type: 'array',
          items: closedObject({ name: { type: 'string' }, start: { type: 'string', format: 'uri' } }, [
            'name',
            'start',
          ]),
        },
      },
      ['data'],
    ),
  }),
  describe: () => ({
    summary: 'List the providers',
    description: 'The providers through which users can log in, and where a browser goes to do so.',
    answers: [{ status: 200, description: 'The providers.', headers: [], schema: refTo('Providers') }],
    codes: [],
  }),
  run: listed,
})

export const startProviderLogin = serverEndpoint({
  name: 'startProviderLogin',
  method: 'GET',
  path: '/api/auth/providers/{name}/start',
  tag: SESSIONS,
  parameters: ['provider', 'return_to', 'user_type', 'code_challenge', 'link'],
  access: 'everyone',
  writes: true,
  describe: () => ({
    summary: 'Log in through a provider',
    description: `For browsers: leads to the provider. From there the browser comes back to \`return_to\`, with a \`code\` to [exchange](#exchangeCode) within ${budget.providerCodeSeconds} seconds, or with an \`error\`.`,
    query: '?return_to=https%3A%2F%2Fapp.example.com%2Fsigned-in',
    answers: [{ status: 303, description: 'On to the provider.', headers: ['Location', 'Set-Cookie'] }],
    codes: ['not_found', 'login_expired', 'provider_unavailable', 'disk_full'],
  }),
  run: start,
})
