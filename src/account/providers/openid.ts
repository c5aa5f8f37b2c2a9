import type * as OpenId from 'openid-client'
import { budget } from '../../budget.ts'
import type { ProviderConfig } from '../../config.ts'
import { Failure } from '../../errors.ts'

/** What a provider says about somebody. */
export interface ProviderClaims {
  /** The issuer and its name for them: together they say who it is, for good. */
  readonly issuer: string
  readonly subject: string
  readonly email: string | undefined
  /** Whether the provider says that they have proved the e-mail to be theirs. */
  readonly emailVerified: boolean
  /** Everything that it says. */
  readonly all: Readonly<Record<string, unknown>>
}

/** What ties the answer of a provider to one login: none of it is ever sent in the same message as another. */
export interface LoginChecks {
  readonly state: string
  readonly nonce: string
  /** Of PKCE (RFC 7636). */
  readonly verifier: string
}

const SCOPE = 'openid email profile'

/** A provider of OpenID Connect. It is first asked when somebody wants to log in through it. */
export class OpenIdProvider {
  readonly name: string
  readonly #config: ProviderConfig
  readonly #redirectUri: string
  /** Until when, by `performance.now()`. */
  #found: { readonly configuration: Promise<OpenId.Configuration>; readonly until: number } | undefined

  constructor(config: ProviderConfig, redirectUri: string) {
    this.name = config.name
    this.#config = config
    this.#redirectUri = redirectUri
  }

  /** Where to send a browser. */
  async startUrl({ state, nonce, verifier }: LoginChecks): Promise<string> {
    const client = await load()
    return client.buildAuthorizationUrl(await this.#configuration(), {
      redirect_uri: this.#redirectUri,
      scope: SCOPE,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).href
  }

  /** Who has come back, by the query that the provider has sent them back with. */
  async claims(query: URLSearchParams, { state, nonce, verifier }: LoginChecks): Promise<ProviderClaims> {
    const client = await load()
    const configuration = await this.#configuration()
    try {
      const url = new URL(`${this.#redirectUri}?${query}`)
      const tokens = await client.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (claims === undefined) throw new Failure('provider_failed')
      const needsMore = claims.email === undefined && configuration.serverMetadata().userinfo_endpoint
      const more = needsMore ? await client.fetchUserInfo(configuration, tokens.access_token, claims.sub) : {}
      return claimsFrom({ ...more, ...claims })
    } catch (error) {
      throw failureOf(client, error)
    }
  }

  /** What the provider says of itself, read anew now and then; a failure is not kept. */
  #configuration(): Promise<OpenId.Configuration> {
    const now = performance.now()
    if (this.#found !== undefined && this.#found.until > now) return this.#found.configuration
    const configuration = this.#discover()
    const found = { configuration, until: now + budget.providerKnownMinutes * 60_000 }
    this.#found = found
    configuration.catch(() => {
      if (this.#found === found) this.#found = undefined
    })
    return configuration
  }

  async #discover(): Promise<OpenId.Configuration> {
    const client = await load()
    const { issuer, clientId, clientSecret } = this.#config
    const isPlain = issuer.protocol === 'http:'
    try {
      return await client.discovery(issuer, clientId, undefined, authentication(client, clientSecret), {
        timeout: budget.providerSeconds,
        // Signatures are checked too, though the tokens come straight from the provider.
        execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])],
      })
    } catch (error) {
      throw new Failure('provider_unavailable', { cause: error })
    }
  }
}

/** Takes 20 ms to load, which a start without providers does not need. */
function load(): Promise<typeof OpenId> {
  return import('openid-client')
}

/** HTTP Basic is what every provider must support, unless it says something else (OpenID Connect Core, section 9). */
function authentication(client: typeof OpenId, secret: string): OpenId.ClientAuth {
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const way = methods.includes('client_secret_basic') ? client.ClientSecretBasic : client.ClientSecretPost
    return way(secret)(server, ...rest)
  }
}

function claimsFrom(all: Readonly<Record<string, unknown>>): ProviderClaims {
  const { iss, sub, email, email_verified: verified } = all
  return {
    issuer: String(iss),
    subject: String(sub),
    email: typeof email === 'string' && email !== '' ? email : undefined,
    // Some providers send it as a text.
    emailVerified: verified === true || verified === 'true',
    all,
  }
}

/** An error without a code is one of the network. */
const NO_ANSWER = ['OAUTH_TIMEOUT', 'OAUTH_ABORT']

function failureOf(client: typeof OpenId, error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof client.AuthorizationResponseError && error.error === 'access_denied')
    return new Failure('provider_denied')
  const isAnswer =
    error instanceof client.AuthorizationResponseError ||
    error instanceof client.ResponseBodyError ||
    error instanceof client.WWWAuthenticateChallengeError ||
    (error instanceof client.ClientError && error.code !== undefined && !NO_ANSWER.includes(error.code))
  return new Failure(isAnswer ? 'provider_failed' : 'provider_unavailable', { cause: error })
}
