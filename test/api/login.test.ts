import { expect, test } from 'bun:test'
import { SignJWT } from 'jose'
import { bookings } from '../declarations.ts'
import { ADMIN, expectInvalid, onEveryStore } from '../harness.ts'

const PASSWORD = 'a long enough password'

onEveryStore('login', bookings, (server) => {
  const login = (body: unknown, headers = {}) =>
    server.call('POST', '/api/auth/login', { body, token: null, headers })

  test('answers with a token, the user and when it ends', async () => {
    await server.expect(
      201,
      'POST',
      '/api/users/',
      { email: 'One@Example.com', password: PASSWORD, name: 'One' },
      { token: null },
    )
    const { status, body } = await login({ email: 'one@example.COM', password: PASSWORD })
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['token', 'user', 'expires_at'])
    expect(body.user).toMatchObject({ email: 'One@Example.com', user_type: 'user', name: 'One' })
    expect(Object.keys(body.user).slice(0, 2)).toEqual(['id', 'email'])
    expect(body.user.password).toBeUndefined()
    expect(new Date(body.expires_at).getTime()).toBeGreaterThan(Date.now())
    expect((await server.call('GET', '/api/auth/me', { token: body.token })).body).toEqual(body.user)
  })

  test('finds the user type by itself, or takes the named one', async () => {
    for (const user_type of [undefined, null, '']) {
      const { body } = await login({ ...ADMIN, ...(user_type !== undefined && { user_type }) })
      expect(body.user.user_type).toBe('admin')
    }
    expect((await login({ ...ADMIN, user_type: 'admin' })).status).toBe(200)
    expect((await login({ ...ADMIN, user_type: 'user' })).body.code).toBe('login_failed')
    expectInvalid(await login({ ...ADMIN, user_type: 'wizard' }), {
      user_type: ['must be one of admin, user'],
    })
    expectInvalid(await login({ ...ADMIN, user_type: 3 }), { user_type: ['must be a text'] })
  })

  test('one e-mail in two types: the first type whose password fits', async () => {
    await server.expect(201, 'POST', '/api/users/', { email: ADMIN.email, password: PASSWORD })
    expect((await login({ email: ADMIN.email, password: PASSWORD })).body.user.user_type).toBe('user')
    expect((await login(ADMIN)).body.user.user_type).toBe('admin')
  })

  test('keys that are missing, ill-typed or unknown', async () => {
    expectInvalid(await login({}), { email: ['is required'], password: ['is required'] })
    expectInvalid(await login({ email: ['a', 'b'], password: { $ne: 1 } }), {
      email: ['must be a text'],
      password: ['must be a text'],
    })
    expectInvalid(await login({ ...ADMIN, username: 'x' }), { username: ['is not a field of a login'] })
    expectInvalid(await login({ email: '', password: null }), {
      email: ['is required'],
      password: ['must be a text'],
    })
    expect((await login({ email: 'a\u0000b', password: 'x' })).status).toBe(422)
  })

  test('the alias also takes username', async () => {
    const alias = (body: unknown) => server.call('POST', '/api/login', { body, token: null })
    expect((await alias({ username: ADMIN.email, password: ADMIN.password })).body.user.user_type).toBe(
      'admin',
    )
    expect((await alias(ADMIN)).status).toBe(200)
    expectInvalid(await alias({ password: 'x' }), { email: ['is required'] })
    expectInvalid(await alias({ ...ADMIN, username: 'x' }), { username: ['cannot be combined with email'] })
  })

  test('unknown, wrong and deleted are one and the same answer', async () => {
    const gone = await server.expect(201, 'POST', '/api/users/', {
      email: 'gone@example.com',
      password: PASSWORD,
    })
    await server.expect(201, 'POST', '/api/users/', { email: 'here@example.com', password: PASSWORD })
    await server.expect(200, 'DELETE', `/api/users/${gone.id}/`)
    const answers = await Promise.all([
      login({ email: 'nobody@example.com', password: PASSWORD }),
      login({ email: 'here@example.com', password: 'a wrong password' }),
      login({ email: 'gone@example.com', password: PASSWORD }),
    ])
    const seen = answers.map(({ status, text, headers }) => {
      const names = [...headers.keys()].filter((name) => name !== 'date' && name !== 'request-id').sort()
      return JSON.stringify([status, text, names.map((name) => [name, headers.get(name)])])
    })
    expect(new Set(seen).size).toBe(1)
    expect(answers[0]?.body).toEqual({
      message: 'The e-mail or the password is wrong.',
      code: 'login_failed',
    })
  })

  test('a token in the header or in the query; the header wins', async () => {
    const { body } = await login(ADMIN)
    expect((await server.call('GET', `/api/users?token=${body.token}`, { token: null })).status).toBe(200)
    expect((await server.call('GET', '/api/users?token=nonsense', { token: body.token })).status).toBe(200)
    expect((await server.call('GET', `/api/users?token=${body.token}`, { token: 'nonsense' })).status).toBe(
      401,
    )
  })

  test('a bad token is 401 everywhere, even where none is needed', async () => {
    const secret = new TextEncoder().encode('another secret that is long enough')
    const foreign = await new SignJWT({ use: 'access', ses: 'x', epo: 0 })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('admins/1')
      .setExpirationTime('1h')
      .sign(secret)
    const [head, payload] = foreign.split('.')
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`
    for (const token of [
      'x',
      foreign,
      none,
      `${head}.${payload}.`,
      `${server.adminToken}x`,
      'a.b.c',
      'x'.repeat(10_000),
    ])
      for (const [method, path] of [
        ['GET', '/api/health'],
        ['GET', '/api/rooms/'],
        ['POST', '/api/auth/login'],
        ['GET', '/api/notes/'],
      ] as const) {
        const { status, headers, body } = await server.call(method, path, {
          token,
          ...(method === 'POST' && { body: ADMIN }),
        })
        expect([status, headers.get('WWW-Authenticate'), body.code]).toEqual([
          401,
          'Bearer error="invalid_token"',
          'invalid_token',
        ])
      }
    expect(
      (await server.call('GET', '/api/rooms/', { token: null, headers: { Authorization: 'Basic YTpi' } }))
        .status,
    ).toBe(401)
    const { status, headers } = await server.call('GET', '/api/notes/', { token: null })
    expect([status, headers.get('WWW-Authenticate')]).toEqual([401, 'Bearer'])
  })

  test('logout ends this session and no other; a refreshed token is of the same session', async () => {
    const [one, two] = [
      await server.user('users', { email: 'sessions@example.com' }),
      await login({ email: 'sessions@example.com', password: ADMIN.password }),
    ]
    const fresh = await server.expect(200, 'POST', '/api/auth/refresh', undefined, { token: one.token })
    expect(fresh.user.email).toBe('sessions@example.com')
    expect((await server.call('POST', '/api/auth/logout', { token: fresh.token })).status).toBe(204)
    expect((await server.call('GET', '/api/auth/me', { token: one.token })).status).toBe(401)
    expect((await server.call('GET', '/api/auth/me', { token: fresh.token })).status).toBe(401)
    expect((await server.call('POST', '/api/auth/refresh', { token: fresh.token })).status).toBe(401)
    expect((await server.call('GET', '/api/auth/me', { token: two.body.token })).status).toBe(200)
    expect((await server.call('POST', '/api/auth/logout', { token: null })).status).toBe(401)
  })

  test('a refresh ends the token that was sent, and of many at once one wins', async () => {
    const { token } = await server.user('users', { email: 'fresh@example.com' })
    const refresh = (sent: string) => server.call('POST', '/api/auth/refresh', { token: sent })
    const answers = await Promise.all([1, 2, 3, 4].map(() => refresh(token)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
    for (const { status, body, headers } of answers)
      if (status === 401)
        expect([body.code, headers.has('WWW-Authenticate')]).toEqual(['invalid_token', true])
    const { body } = answers.find(({ status }) => status === 200) ?? {}
    for (const [method, path] of [
      ['GET', '/api/auth/me'],
      ['GET', '/api/rooms/'],
      ['POST', '/api/auth/refresh'],
      ['POST', '/api/auth/logout'],
    ] as const)
      expect([path, (await server.call(method, path, { token })).status]).toEqual([path, 401])
    expect((await server.call('GET', '/api/auth/me', { token: body.token })).status).toBe(200)
    const again = await refresh(body.token)
    expect([again.status, (await refresh(again.body.token)).status]).toEqual([200, 200])
  })

  test('a session ends after 30 days, whatever is refreshed', async () => {
    const { token } = await server.user('users', { email: 'month@example.com' })
    const key = new TextEncoder().encode(await server.context.store.secret())
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    const started = (seconds: number) =>
      new SignJWT({ ...claims, jti: `j${seconds}`, auth_time: claims.auth_time - seconds })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(key)
    const days = 24 * 3600
    const { body } = await server.call('POST', '/api/auth/refresh', { token: await started(30 * days - 600) })
    expect(new Date(body.expires_at).getTime()).toBe((claims.auth_time + 600) * 1000)
    const over = await started(30 * days)
    expect((await server.call('GET', '/api/auth/me', { token: over })).status).toBe(401)
    expect((await server.call('POST', '/api/auth/refresh', { token: over })).status).toBe(401)
  })

  test('tokens die with their user, and stay dead when it is restored', async () => {
    const { id, token } = await server.user('users', { email: 'mortal@example.com' })
    await server.expect(200, 'DELETE', `/api/users/${id}/`)
    expect((await server.call('GET', '/api/auth/me', { token })).status).toBe(401)
    await server.expect(200, 'DELETE', `/api/users/${id}/?restore=1`)
    expect((await server.call('GET', '/api/auth/me', { token })).status).toBe(401)
    expect((await login({ email: 'mortal@example.com', password: ADMIN.password })).status).toBe(200)
  })

  test('changing the password ends all tokens and gives a new one', async () => {
    const { token } = await server.user('users', { email: 'change@example.com', password: PASSWORD })
    const change = (body: unknown) => server.call('POST', '/api/auth/password', { body, token })
    expectInvalid(await change({ password: 'wrong', new_password: 'another long password' }), {
      password: ['is wrong'],
    })
    expectInvalid(await change({ password: PASSWORD, new_password: 'short' }), {
      new_password: ['must have at least 12 characters'],
    })
    expectInvalid(await change({ password: PASSWORD, new_password: 'passwordpassword' }), {
      new_password: ['is one of the most common passwords; choose another'],
    })
    const { status, body, headers } = await change({
      password: PASSWORD,
      new_password: 'another long password',
    })
    expect([status, headers.has('Takeback-Operation')]).toEqual([200, true])
    expect((await server.call('GET', '/api/auth/me', { token })).status).toBe(401)
    expect((await server.call('GET', '/api/auth/me', { token: body.token })).status).toBe(200)
    expect((await login({ email: 'change@example.com', password: PASSWORD })).body.code).toBe('login_failed')
    expect((await login({ email: 'change@example.com', password: 'another long password' })).status).toBe(200)
  })

  test('of many changes of one password at once, one wins', async () => {
    const { token } = await server.user('users', { email: 'race@example.com', password: PASSWORD })
    const change = (at: number) =>
      server.call('POST', '/api/auth/password', {
        token,
        body: { password: PASSWORD, new_password: `another long password ${at}` },
      })
    const statuses = (await Promise.all([1, 2, 3, 4].map(change))).map(({ status }) => status).sort()
    expect(statuses).toEqual([200, 401, 401, 401])
  })

  test('a token that dies while its body is under way writes nothing', async () => {
    const { token } = await server.user('users', { email: 'slow@example.com' })
    const body = JSON.stringify({ room: { id: 1 }, starts_at: '2026-12-31T15:00:00Z' })
    const { hostname, port } = new URL(server.url)
    const answers: string[] = []
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: { data: (_, data) => void answers.push(data.toString()), close: () => resolve() },
    })
    socket.write(
      `POST /api/bookings/ HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    )
    await Bun.sleep(50)
    expect((await server.call('POST', '/api/auth/logout', { token })).status).toBe(204)
    socket.write(body.slice(5))
    await ended
    socket.end()
    expect(answers.join('')).toStartWith('HTTP/1.1 401')
  })

  test('an admin sets a password; that ends the tokens too', async () => {
    const { id, token } = await server.user('users', { email: 'reset@example.com' })
    await server.expect(200, 'PATCH', `/api/users/${id}/`, { password: 'set by the admin' })
    expect((await server.call('GET', '/api/auth/me', { token })).status).toBe(401)
    expect((await login({ email: 'reset@example.com', password: 'set by the admin' })).status).toBe(200)
  })

  test('more than 72 bytes of a password count, and it is stored as argon2id only', async () => {
    const long = `${'a long sentence that nobody guesses, '.repeat(3)}and its end`
    await server.expect(201, 'POST', '/api/users/', { email: 'long@example.com', password: long })
    expect((await login({ email: 'long@example.com', password: `${long.slice(0, 100)}` })).body.code).toBe(
      'login_failed',
    )
    expect((await login({ email: 'long@example.com', password: long })).status).toBe(200)
    const [row] = await server.query('SELECT password FROM users WHERE email = $1', 'long@example.com')
    expect(row?.password).toStartWith('$argon2id$')
    expectInvalid(
      await server.call('POST', '/api/users/', {
        body: { email: 'l2@example.com', password: 'ü'.repeat(513) },
      }),
      { password: ['must have at most 1024 bytes'] },
    )
  })

  test('an e-mail is unique in whatever capitals', async () => {
    await server.expect(201, 'POST', '/api/users/', { email: 'Twice@example.com', password: PASSWORD })
    const { status, body } = await server.call('POST', '/api/users/', {
      body: { email: 'tWICE@EXAMPLE.com', password: PASSWORD },
      token: null,
    })
    expect([status, body.errors]).toEqual([422, { email: ['is taken'] }])
  })

  test('a password that is easy to guess is refused wherever one is set', async () => {
    const common = 'is one of the most common passwords; choose another'
    const own = 'is too much like the e-mail, or a name of this application; choose another'
    const { id, token } = await server.user('users', { email: 'annabelle.marsh@example.com' })
    for (const [password, sentence] of [
      ['password12345', common],
      ['Password@123', common],
      ['1234567890123', common],
      ['annabelle.marsh@example.com', own],
      ['Annabelle.Marsh!1', own],
      ['marsh-annabelle', own],
      ['users takeback 1', own],
    ] as const) {
      const body = { email: 'annabelle.marsh@example.com', password }
      const signUp = await server.call('POST', '/api/users/', { body, token: null })
      expect([password, signUp.body.errors?.password]).toEqual([password, [sentence]])
      const list = await server.call('POST', '/api/users/', { body: [body], token: null })
      expect([password, list.body.errors?.['0.password']]).toEqual([password, [sentence]])
      expectInvalid(await server.call('PATCH', `/api/users/${id}/`, { body: { password } }), {
        password: [sentence],
      })
      expectInvalid(
        await server.call('POST', '/api/auth/password', {
          body: { password: ADMIN.password, new_password: password },
          token,
        }),
        { new_password: [sentence] },
      )
    }
    await server.expect(200, 'PATCH', `/api/users/${id}/`, { password: 'a kettle of blue herons' })
  })
})
