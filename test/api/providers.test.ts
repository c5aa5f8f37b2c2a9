import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stepAt, totpCode } from '../../src/account/totp.ts'
import { app, entity, everyone, text } from '../../src/takeback.ts'
import { ADMIN, eventually, expectInvalid, onEveryStoreByHand, TestServer } from '../harness.ts'
import { CLIENT, TestBrowser, TestProvider } from '../oidc.ts'

const mine = 'id == me.id'
const declaration = app({
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
const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
afterAll(() => rmSync(outbox, { recursive: true, force: true }))
const APP = 'https://app.example.com'
const BACK = `${APP}/signed-in?tab=1`

onEveryStoreByHand('a login through a provider', (store) => {
  const provider = new TestProvider()
  // It takes connections, and never answers.
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  let server: TestServer
  let flags: Record<string, string>
  beforeAll(async () => {
    await provider.start(() => [`${server.url}/api/auth/providers/test/callback`])
    const client = `${CLIENT.id},${CLIENT.secret}`
    flags = {
      TAKEBACK_OIDC_TEST: `${provider.issuer},${client}`,
      TAKEBACK_OIDC_CLOSED: `http://127.0.0.1:1,${client}`,
      TAKEBACK_OIDC_SILENT: `http://127.0.0.1:${silent.port},${client}`,
      'app-url': APP,
      outbox,
      'allow-origins': 'https://other.example.com',
    }
    server = new TestServer(store, declaration, flags)
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
  /** From the provider to the app: its query. */
  const comeBack = async (url: string, browser = new TestBrowser()) => {
    const back = new URL(await browser.follow(url, [APP]))
    expect([back.pathname, back.searchParams.get('tab')]).toEqual(['/signed-in', '1'])
    return Object.fromEntries(back.searchParams)
  }
  const codeFor = async (query?: Record<string, string>, browser?: TestBrowser) =>
    (await comeBack(starting(query), browser)).code ?? ''
  const exchange = (code: string, more: object = {}) =>
    server.call('POST', '/api/auth/providers/exchange', { body: { code, ...more }, token: null })
  const refusal = async (answer: Promise<{ status: number; body: { code: string } }>) => {
    const { status, body } = await answer
    return [status, body.code]
  }
  /** Where the provider would send the browser back to, after a change of what was asked of it. */
  const returned = async (browser: TestBrowser, change: (asked: URLSearchParams) => void = () => {}) => {
    const response = await browser.get(starting())
    const asked = new URL(response.headers.get('location') ?? '')
    change(asked.searchParams)
    return browser.follow(asked.href, [at('test/callback')])
  }
  const link = (token: string, more: object = { password: ADMIN.password }) =>
    server.call('POST', '/api/auth/providers/test/link', { body: { return_to: BACK, ...more }, token })
  const finish = (token: string, code = '') =>
    server.call('POST', '/api/auth/identities/', { body: { code }, token })

  test('makes an account where anybody may sign up, and finds it again', async () => {
    const { data } = (await server.call('GET', '/api/auth/providers/', { token: null })).body
    expect(data).toContainEqual({ name: 'test', start: at('test/start') })
    isUser('ada', { email: 'Ada@example.com', name: 'Ada' })
    const browser = new TestBrowser()
    const started = await browser.get(starting())
    expect(started.status).toBe(303)
    const asked = new URL(started.headers.get('location') ?? '').searchParams
    expect(asked.get('redirect_uri')).toBe(at('test/callback'))
    expect([asked.get('code_challenge_method'), asked.get('scope')]).toEqual(['S256', 'openid email profile'])
    expect(started.headers.get('set-cookie')).toMatch(
      /^takeback_login=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    )
    const code = await codeFor({}, browser)
    for (const secret of [code, asked.get('state') ?? '', asked.get('nonce') ?? '']) {
      expect(secret).toMatch(/^[\w-]{43}$/)
      expect(JSON.stringify(await server.query('SELECT * FROM takeback_handoffs'))).not.toContain(secret)
      expect(server.logged.join('')).not.toContain(secret)
    }
    const { status, body } = await exchange(code)
    expect([status, body.user.email, body.user.name, body.user.user_type]).toEqual([
      200,
      'Ada@example.com',
      'Ada',
      'user',
    ])
    expect((await server.call('GET', '/api/auth/me', { token: body.token })).body.id).toBe(body.user.id)
    expect((await exchange(await codeFor())).body.user.id).toBe(body.user.id)
    const [made] = await server.query('SELECT actor, kind FROM takeback_journal ORDER BY seq DESC LIMIT 1')
    expect(made).toEqual({ actor: null, kind: 'create' })
  })

  test('gives a code that works once, however many send it', async () => {
    anybody()
    const code = await codeFor()
    const answers = await Promise.all(Array.from({ length: 50 }, () => exchange(code)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const refused = answers.filter(({ body }) => ['invalid_code', 'too_many_attempts'].includes(body.code))
    expect(refused).toHaveLength(49)
  })

  test('gives a code that only whoever began can use, if they say so', async () => {
    anybody()
    const verifier = randomBytes(32).toString('base64url')
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const code = await codeFor({ code_challenge: challenge })
    const wrong = randomBytes(32).toString('base64url')
    for (const more of [{}, { code_verifier: wrong }])
      expect(await refusal(exchange(code, more))).toEqual([422, 'invalid_code'])
    expect((await exchange(code, { code_verifier: verifier })).status).toBe(200)
    const free = await codeFor()
    expect(await refusal(exchange(free, { code_verifier: verifier }))).toEqual([422, 'invalid_code'])
  })

  test('makes one account for two browsers at once, and goes on with a new account after a deletion', async () => {
    anybody()
    const browsers = [new TestBrowser(), new TestBrowser()]
    const urls = await Promise.all(browsers.map((browser) => returned(browser)))
    const codes = await Promise.all(urls.map((url, one) => comeBack(url, browsers[one])))
    const users = await Promise.all(codes.map(async ({ code = '' }) => (await exchange(code)).body.user.id))
    expect(users[0]).toBe(users[1])
    await server.call('DELETE', `/api/users/${users[0]}/`)
    expect((await exchange(await codeFor())).body.user.id).toBeGreaterThan(users[0])
  })

  test('ends where the state, the browser, or what the provider says is not right', async () => {
    anybody()
    const browser = new TestBrowser()
    const good = await returned(browser)
    const wrong = new URL(good)
    wrong.searchParams.set('state', randomBytes(32).toString('base64url'))
    const lost = async (url: string, from: TestBrowser) => {
      const page = await from.get(url)
      expect([page.status, page.headers.get('content-type')]).toEqual([422, 'text/html; charset=utf-8'])
      expect(await page.text()).toContain('The login has expired, or was started in another browser.')
    }
    await lost(wrong.href, browser)
    await lost(good, new TestBrowser())
    // That was its only use.
    await lost(good, browser)
    const json = await browser.get(good, { Accept: 'application/json' })
    expect([json.status, ((await json.json()) as any).code]).toEqual([422, 'login_expired'])

    const failing = async (change?: (asked: URLSearchParams) => void) =>
      comeBack(await returned(browser, change), browser)
    expect(await failing((asked) => asked.set('nonce', 'another'))).toEqual({
      tab: '1',
      error: 'provider_failed',
    })
    expect(await failing((asked) => asked.set('client_id', provider.other.id))).toEqual({
      tab: '1',
      error: 'provider_failed',
    })
    await eventually(() => server.logged.join('').includes('A login through test failed (provider_failed)'))
    provider.user = ''
    browser.cookies.delete(new URL(provider.issuer).host)
    expect(await failing()).toEqual({ tab: '1', error: 'provider_denied' })
  })

  test('takes no id token that was made for another client', async () => {
    anybody()
    const browser = new TestBrowser()
    const verifier = randomBytes(32).toString('base64url')
    const response = await browser.get(starting())
    const asked = new URL(response.headers.get('location') ?? '')
    const toOther = new URL(asked)
    toOther.searchParams.set('client_id', provider.other.id)
    toOther.searchParams.set('code_challenge', createHash('sha256').update(verifier).digest('base64url'))
    const theirs = new URL(await browser.follow(toOther.href, [at('test/callback')]))
    const { id, secret } = provider.other
    const tokens = await fetch(`${provider.issuer}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${btoa(`${id}:${encodeURIComponent(secret)}`)}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: theirs.searchParams.get('code') ?? '',
        redirect_uri: at('test/callback'),
        code_verifier: verifier,
      }),
    })
    provider.idToken = ((await tokens.json()) as any).id_token
    expect(provider.idToken).toBeString()
    try {
      expect((await comeBack(asked.href, browser)).error).toBe('provider_failed')
    } finally {
      provider.idToken = undefined
    }
  })

  test('leads back to allowed addresses only, and to known types', async () => {
    const browser = new TestBrowser()
    const refused = async (query: Record<string, string>) =>
      (await (await browser.get(starting(query))).json()) as any
    for (const wrong of [
      'https://evil.example.com/',
      'https://app.example.com.evil.example.com/',
      'https://app.example.com@evil.example.com/',
      'https://user:x@app.example.com/',
      'http://app.example.com/',
      'javascript:alert(1)',
      '//evil.example.com',
      '/signed-in',
    ])
      expect((await refused({ return_to: wrong })).errors).toHaveProperty('return_to')
    expect((await refused({ user_type: 'nobody', code_challenge: 'short' })).errors).toEqual({
      user_type: ['must be one of admin, user, client, member'],
      code_challenge: ['must be a SHA-256 digest in base64url, with 43 characters'],
    })
    for (const right of ['https://other.example.com/x', `${server.url}/`])
      expect((await browser.get(starting({ return_to: right }))).status).toBe(303)
    expect((await browser.get(at('test/start'))).status).toBe(303)
    expect((await browser.get(at('nobody/start'))).status).toBe(404)
    expect((await browser.get(at('nobody/callback'))).status).toBe(404)
  })

  test('is 503 while the provider is away, and does not wait for long', async () => {
    const browser = new TestBrowser()
    const answers = await Promise.all(
      ['closed', 'silent'].map((name) => browser.get(at(`${name}/start`), { Accept: 'application/json' })),
    )
    for (const answer of answers)
      expect([answer.status, ((await answer.json()) as any).code]).toEqual([503, 'provider_unavailable'])
  })

  test('makes no account where nobody may sign up, or where something is missing', async () => {
    anybody()
    expect((await comeBack(starting({ user_type: 'member' }))).error).toBe('sign_up_closed')
    isUser('nameless', { email: 'nameless@example.com' })
    expect((await comeBack(starting())).error).toBe('sign_up_incomplete')
    await eventually(() => server.logged.join('').includes('sign_up_incomplete'))
    isUser('no-mail', { name: 'No Mail' })
    expect((await comeBack(starting())).error).toBe('sign_up_incomplete')
  })

  test('is no way into an account that has the same e-mail: its owner links it first', async () => {
    const { id, token } = await server.user('users', { email: 'eve@example.com', name: 'Eve' })
    const other = await server.user('users', { email: 'tim@example.com', name: 'Tim' })
    for (const email_verified of [true, false]) {
      isUser('eve', { email: 'EVE@example.com', name: 'Eve', email_verified })
      expect((await comeBack(starting())).error).toBe('account_exists')
    }
    expectInvalid(await link(token, {}), { password: ['is required'] })
    expectInvalid(await link(token, { password: 'wrong password' }), { password: ['is wrong'] })
    const { status, body } = await link(token)
    expect(status).toBe(201)
    const { code } = await comeBack(body.url)
    // Whoever began it must finish it.
    expect(await refusal(finish(other.token, code))).toEqual([422, 'invalid_code'])
    expect(await refusal(exchange(code ?? ''))).toEqual([422, 'invalid_code'])
    const made = await finish(token, code)
    expect([made.status, made.body.provider]).toEqual([201, 'test'])
    expect(await refusal(finish(token, code))).toEqual([422, 'invalid_code'])
    expect((await new TestBrowser().get(body.url)).status).toBe(422)
    expect((await exchange(await codeFor())).body.user.id).toBe(id)

    const again = await comeBack((await link(other.token)).body.url)
    expect(await refusal(finish(other.token, again.code))).toEqual([409, 'identity_taken'])
    const listed = await server.call('GET', '/api/auth/identities/', { token })
    expect(listed.body.data).toEqual([made.body])
    const path = `/api/auth/identities/${made.body.id}/`
    expect((await server.call('DELETE', path, { token: other.token })).status).toBe(404)
    expect((await server.call('DELETE', path, { token })).status).toBe(204)
    expect((await comeBack(starting())).error).toBe('account_exists')
  })

  test('leads into an account with the same e-mail if it is verified on both sides', async () => {
    const asClient = { user_type: 'client' }
    const created = await server.call('POST', '/api/clients/?verified=1', {
      body: { email: 'zoe@example.com', password: ADMIN.password },
    })
    expect(created.status).toBe(201)
    isUser('zoe', { email: 'zoe@example.com', email_verified: false })
    expect((await comeBack(starting(asClient))).error).toBe('provider_email_unverified')
    isUser('zoe', { email: 'Zoe@example.com' })
    const { user } = (await exchange(await codeFor(asClient))).body
    expect([user.id, user.verified]).toEqual([created.body.id, true])
    const email = 'unproved@example.com'
    const signUp = { body: { email, password: ADMIN.password }, token: null }
    expect((await server.call('POST', '/api/clients/', signUp)).status).toBeLessThan(300)
    isUser('unproved', { email })
    expect((await comeBack(starting(asClient))).error).toBe('account_exists')
    // A new account takes over what the provider says.
    anybody()
    expect((await exchange(await codeFor(asClient))).body.user.verified).toBe(true)
  })

  test('asks for the second factor of those who have one', async () => {
    anybody()
    const asClient = { user_type: 'client' }
    const { user } = (await exchange(await codeFor(asClient))).body
    const owner = { entity: 'clients', id: user.id }
    const secret = await server.context.factors.begin(owner)
    const right = totpCode(secret ?? Buffer.from(''), stepAt(Date.now()))
    const [recovery = ''] = (await server.context.factors.confirm(owner, right)) || []
    const code = await codeFor(asClient)
    expect(await refusal(exchange(code))).toEqual([422, 'second_factor_required'])
    expect(await refusal(exchange(code, { second_factor: '000000' }))).toEqual([422, 'second_factor_failed'])
    expect((await exchange(code, { second_factor: recovery })).status).toBe(200)
    expect(await refusal(exchange(code, { second_factor: recovery }))).toEqual([422, 'invalid_code'])
  })

  test('can go on at another instance', async () => {
    anybody()
    const other = new TestServer(store, declaration, { ...flags, url: server.url }, await server.database())
    other.adminToken = server.adminToken
    await other.start()
    try {
      const browser = new TestBrowser()
      const url = new URL(await returned(browser))
      const cookie = browser.cookies.get(url.host)?.get('takeback_login')
      const path = `${url.pathname}${url.search}`
      const back = await new TestBrowser().get(other.url + path, { Cookie: `takeback_login=${cookie}` })
      const code = new URL(back.headers.get('location') ?? '').searchParams.get('code') ?? ''
      expect((await exchange(code)).status).toBe(200)
    } finally {
      await other.stop()
    }
  })

  test('is the last way into an account without a password', async () => {
    anybody()
    const { token } = (await exchange(await codeFor())).body
    const [only] = (await server.call('GET', '/api/auth/identities/', { token })).body.data
    const remove = (id: number) => server.call('DELETE', `/api/auth/identities/${id}/`, { token })
    expect(await refusal(remove(only.id))).toEqual([409, 'last_login'])
    anybody()
    const second = await finish(token, (await comeBack((await link(token, {})).body.url)).code)
    expect(second.status).toBe(201)
    // Of two at once, one stays.
    const statuses = await Promise.all([remove(only.id), remove(second.body.id)])
    expect(statuses.map(({ status }) => status).sort()).toEqual([204, 409])
  })
})
