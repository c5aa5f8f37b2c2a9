import type * as OpenId from 'openid-client'
import { budget } from '../../budget.ts'
import type { ProviderConfig } from '../../config.ts'
import { Failure } from '../../errors.ts'

/** The claims of a provider about a person. */
export interface ProviderClaims {
  /** The issuer and its id of the person. Together they identify the person for good. */
  readonly issuer: string
  readonly subject: string
  readonly email: string | undefined
  /** Whether the provider says that the person has proved the e-mail. */
  readonly emailVerified: boolean
  /** All claims. */
  readonly all: Readonly<Record<string, unknown>>
}

/** Values that tie a provider's answer to one login: it returns the state in the URL and the nonce in the ID token. */
export interface LoginChecks {
  readonly state: string
  readonly nonce: string
  /** The verifier of PKCE (RFC 7636). */
  readonly verifier: string
}

const SCOPE = 'openid email profile'

/** An OpenID Connect provider. It is first contacted when somebody wants to log in through it. */
export class OpenIdProvider {
  readonly name: string
  readonly #config: ProviderConfig
  readonly #redirectUri: string
  /** Kept until this time of `performance.now()`. */
  #found: { readonly configuration: Promise<OpenId.Configuration>; readonly until: number } | undefined

  constructor(config: ProviderConfig, redirectUri: string) {
    this.name = config.name
    this.#config = config
    this.#redirectUri = redirectUri
  }

  /** Returns the address to send a browser to. */
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

  /** Returns who has come back, from the query that the provider added to the address. */
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

  /** Returns the provider's metadata, which is read again now and then. A failure is not kept. */
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
        // Checks signatures too, although the tokens come straight from the provider.
        execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])],
      })
    } catch (error) {
      throw new Failure('provider_unavailable', { cause: error })
    }
  }
}

/** Loaded on first use: it takes 20 ms, and a start without providers does not need it. */
function load(): Promise<typeof OpenId> {
  return import('openid-client')
}

/** Every provider must support HTTP Basic, unless its metadata say otherwise (OpenID Connect Core, section 9). */
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
    // Some providers send a text instead of a boolean.
    emailVerified: verified === true || verified === 'true',
    all,
  }
}

/** Codes of errors without an answer. An error that has no code is one of the network, too. */
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
