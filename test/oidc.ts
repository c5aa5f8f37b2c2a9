import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type Configuration, type Context } from 'oidc-provider'

export const CLIENT = { id: 'takeback', secret: 'a secret, with a comma' }
const OTHER = { id: 'somebody-else', secret: 'other secret' }

/** A real OpenID Connect provider on this machine. Everybody is signed in as `user`, without a page. */
export class TestProvider {
  /** Claims by subject. */
  readonly users = new Map<string, Record<string, unknown>>()
  user = ''
  /** Returned instead of the real id tokens. */
  idToken: string | undefined
  issuer = ''
  readonly other = OTHER
  #server: Server | undefined

  /** `callbacks` are the addresses to which it may send browsers. */
  async start(callbacks: () => readonly string[]): Promise<void> {
    let handle: ReturnType<Provider['callback']> | undefined
    const server = createServer((request, response) => {
      handle ??= this.#provider(callbacks()).callback()
      void handle(request, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    this.#server = server
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server?.closeAllConnections()
    this.#server?.close()
  }

  #provider(callbacks: readonly string[]): Provider {
    const client = ({ id, secret }: typeof CLIENT) => ({
      client_id: id,
      client_secret: secret,
      redirect_uris: [...callbacks],
    })
    const configuration: Configuration = {
      clients: [client(CLIENT), client(OTHER)],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...this.users.get(id) }) }),
      loadExistingGrant: async (context) => {
        const { client, session, provider } = context.oidc
        const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId })
        grant.addOIDCScope('openid email profile')
        await grant.save()
        return grant
      },
      cookies: { keys: ['some key'] },
      ttl: {
        Interaction: 600,
        Grant: 600,
        Session: 600,
        AccessToken: 600,
        IdToken: 600,
        AuthorizationCode: 60,
      },
    }
    const provider = new Provider(this.issuer, configuration)
    provider.use((context, next) => this.#answer(provider, context, next))
    return provider
  }

  async #answer(provider: Provider, context: Context, next: () => Promise<unknown>): Promise<void> {
    if (context.path.startsWith('/interaction/')) {
      const { user } = this
      const result = user === '' ? { error: 'access_denied' } : { login: { accountId: user } }
      await provider.interactionFinished(context.req, context.res, result)
      context.respond = false
      return
    }
    await next()
    const { idToken } = this
    if (context.path === '/token' && idToken !== undefined)
      context.body = { ...(context.body as object), id_token: idToken }
  }
}

let addresses = 0

/** Returns headers with a new client address, so that failures slow down nobody else. */
export function anAddress(): Record<string, string> {
  return { 'X-Forwarded-For': `198.51.100.${++addresses % 250}` }
}

/** A browser: it keeps cookies by host, and does not follow redirects by itself. */
export class TestBrowser {
  readonly cookies = new Map<string, Map<string, string>>()
  readonly #address = anAddress()

  async get(url: string, headers: Record<string, string> = {}): Promise<Response> {
    const { host } = new URL(url)
    const jar = this.cookies.get(host) ?? new Map<string, string>()
    this.cookies.set(host, jar)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      headers: {
        Accept: 'text/html,*/*;q=0.8',
        ...(cookie !== '' && { Cookie: cookie }),
        ...this.#address,
        ...headers,
      },
    })
    for (const one of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (one.split(';')[0] ?? '').split(/=(.*)/s)
      jar.set(name, value)
    }
    return response
  }

  /** Follows redirects until an address begins with one of these. Returns that address. */
  async follow(url: string, until: readonly string[]): Promise<string> {
    let at = url
    for (let hops = 0; hops < 20; hops++) {
      if (until.some((one) => at.startsWith(one))) return at
      const response = await this.get(at)
      const location = response.headers.get('location')
      if (location === null) throw new Error(`${at}: ${response.status} ${await response.text()}`)
      at = new URL(location, at).href
    }
    throw new Error(`goes round in circles: ${at}`)
  }
}
