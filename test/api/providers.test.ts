import { expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { generateKeyPair, SignJWT } from 'jose'
import { eventually, giant, onEveryStoreByHand, TestServer } from '../harness.ts'
import { CLIENT, TestBrowser } from '../oidc.ts'
import { providerDeclaration, providerWorld } from '../provider-world.ts'

onEveryStoreByHand('a login through a provider', (store) => {
  const {
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
  } = providerWorld(store)

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
    // The attempt in the wrong browser used it up.
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

  test('takes no id token that somebody else has signed', async () => {
    anybody()
    const browser = new TestBrowser()
    const response = await browser.get(starting())
    const asked = new URL(response.headers.get('location') ?? '')
    const { privateKey } = await generateKeyPair('RS256')
    const keys = (await (await fetch(`${provider.issuer}/jwks`)).json()) as { keys: { kid: string }[] }
    provider.idToken = await new SignJWT({ nonce: asked.searchParams.get('nonce') })
      .setProtectedHeader({ alg: 'RS256', kid: keys.keys[0]?.kid ?? '' })
      .setIssuer(provider.issuer)
      .setAudience(CLIENT.id)
      .setSubject(provider.user)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
    try {
      expect((await comeBack(asked.href, browser)).error).toBe('provider_failed')
    } finally {
      provider.idToken = undefined
    }
    await eventually(() => server.logged.join('').includes('JWT signature'))
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

  test('is tied to the host where people reach the server', async () => {
    const url = 'https://api.example.com'
    const behind = new TestServer(store, providerDeclaration, { ...flags, url }, await server.database())
    behind.adminToken = server.adminToken
    await behind.start()
    try {
      // These headers do not determine the host.
      const lie = { Host: 'evil.example.com', 'X-Forwarded-Host': 'evil.example.com' }
      const started = await new TestBrowser().get(`${behind.url}/api/auth/providers/test/start`, lie)
      const asked = new URL(started.headers.get('location') ?? '').searchParams
      expect(asked.get('redirect_uri')).toBe(`${url}/api/auth/providers/test/callback`)
      expect(started.headers.get('set-cookie')).toMatch(
        /^__Host-takeback_login=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
      )
    } finally {
      await behind.stop()
    }
  })

  giant('is 503 while the provider is away, and does not wait for long', async () => {
    const browser = new TestBrowser()
    // The second one takes seconds, and does not depend on the database.
    const away = store === 'sqlite' ? ['closed', 'silent'] : ['closed']
    const answers = await Promise.all(
      away.map((name) => browser.get(at(`${name}/start`), { Accept: 'application/json' })),
    )
    for (const answer of answers)
      expect([answer.status, ((await answer.json()) as any).code]).toEqual([503, 'provider_unavailable'])
  })

  test('can go on at another instance', async () => {
    anybody()
    const other = new TestServer(
      store,
      providerDeclaration,
      { ...flags, url: server.url },
      await server.database(),
    )
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
})
