import { afterAll, beforeAll, expect } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { app, entity, everyone, text } from '../src/takeback.ts'
import { TestServer } from './harness.ts'
import { anAddress, CLIENT, TestBrowser, TestProvider } from './oidc.ts'

const mine = 'id == me.id'
export const providerDeclaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({
      login: { userType: 'user', providers: { test: ({ name }) => ({ name }) } },
      fields: { name: text() },
      access: { create: everyone, read: mine, update: mine },
    }),
    clients: entity({
      login: { userType: 'client', verify: true, second: 'optional' },
      fields: {},
      access: { create: everyone, read: mine },
    }),
    members: entity({ login: { userType: 'member' }, fields: {}, access: { read: mine } }),
  },
})
/** The address of the app's pages. There is nothing there. */
export const APP = 'https://app.example.com'
export const BACK = `${APP}/signed-in?tab=1`

/** A server, a provider through which its users log in, and their actions. Call it in a `describe`. */
export function providerWorld(store: string) {
  const provider = new TestProvider()
  // It accepts connections, and never answers.
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const flags: Record<string, string> = {
    'app-url': APP,
    'trusted-proxies': '127.0.0.1',
    'allow-origins': 'https://other.example.com',
  }
  const server = new TestServer(store, providerDeclaration, flags)
  beforeAll(async () => {
    await provider.start(() => [`${server.url}/api/auth/providers/test/callback`])
    const client = `${CLIENT.id},${CLIENT.secret}`
    flags.TAKEBACK_OIDC_TEST = `${provider.issuer},${client}`
    flags.TAKEBACK_OIDC_CLOSED = `http://127.0.0.1:1,${client}`
    flags.TAKEBACK_OIDC_SILENT = `http://127.0.0.1:${silent.port},${client}`
    flags.outbox = join(server.folder, 'outbox')
    await server.start()
  })
  afterAll(async () => {
    silent.stop(true)
    provider.stop()
    await server.remove()
  })

  const at = (path: string) => `${server.url}/api/auth/providers/${path}`
  const starting = (query: Record<string, string> = {}) =>
    at(`test/start?${new URLSearchParams({ return_to: BACK, ...query })}`)
  const isUser = (subject: string, claims: Record<string, unknown>) => {
    provider.user = subject
    provider.users.set(subject, { email_verified: true, ...claims })
  }
  const anybody = () => {
    const name = randomBytes(6).toString('hex')
    isUser(name, { email: `${name}@example.com`, name })
    return `${name}@example.com`
  }
  /** Follows the redirects from the provider to the app. Returns the query. */
  const comeBack = async (url: string, browser = new TestBrowser()) => {
    const back = new URL(await browser.follow(url, [APP]))
    expect([back.pathname, back.searchParams.get('tab')]).toEqual(['/signed-in', '1'])
    return Object.fromEntries(back.searchParams)
  }
  const codeFor = async (query?: Record<string, string>, browser?: TestBrowser) =>
    (await comeBack(starting(query), browser)).code ?? ''
  const exchange = (code: string, more: object = {}) =>
    server.call('POST', '/api/auth/providers/exchange', {
      body: { code, ...more },
      token: null,
      headers: anAddress(),
    })
  const refusal = async (answer: Promise<{ status: number; body: { code: string } }>) => {
    const { status, body } = await answer
    return [status, body.code]
  }
  /** Returns where the provider would send the browser, after a change of the request to it. */
  const returned = async (browser: TestBrowser, change: (asked: URLSearchParams) => void = () => {}) => {
    const response = await browser.get(starting())
    const asked = new URL(response.headers.get('location') ?? '')
    change(asked.searchParams)
    return browser.follow(asked.href, [at('test/callback')])
  }
  return {
    provider,
    server,
    flags,
    at,
    starting,
    isUser,
    anybody,
    comeBack,
    codeFor,
    exchange,
    refusal,
    returned,
  }
}
