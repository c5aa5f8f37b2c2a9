import { expect, test } from 'bun:test'
import { noSession } from '../../src/account/sessions.ts'
import { stepAt, totpCode } from '../../src/account/totp.ts'
import { ADMIN, eventually, expectInvalid, onEveryStoreByHand } from '../harness.ts'
import { anAddress, TestBrowser } from '../oidc.ts'
import { anHourLater } from '../old-session.ts'
import { BACK, providerWorld } from '../provider-world.ts'

onEveryStoreByHand('the account of a login through a provider', (store) => {
  const { server, starting, isUser, anybody, comeBack, codeFor, exchange, refusal } = providerWorld(store)
  const link = (token: string, more: object = { password: ADMIN.password }) =>
    server.call('POST', '/api/auth/providers/test/link', { body: { return_to: BACK, ...more }, token })
  const finish = (token: string, code = '') =>
    server.call('POST', '/api/auth/identities/', { body: { code }, token, headers: anAddress() })

  test('is not made where nobody may sign up, or where something is missing', async () => {
    anybody()
    expect((await comeBack(starting({ user_type: 'member' }))).error).toBe('sign_up_closed')
    isUser('nameless', { email: 'nameless@example.com' })
    expect((await comeBack(starting())).error).toBe('sign_up_incomplete')
    await eventually(() => server.logged.join('').includes('sign_up_incomplete'))
    isUser('no-mail', { name: 'No Mail' })
    expect((await comeBack(starting())).error).toBe('sign_up_incomplete')
  })

  test('is none that only has the same e-mail: its owner links the provider first', async () => {
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
    // The user who began it must finish it.
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

  test('is one with the same e-mail if that is verified on both sides', async () => {
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
    // This one only counts as verified because it is older than `verify`.
    const old = { body: { email: 'old@example.com', password: ADMIN.password } }
    const { id } = (await server.call('POST', '/api/clients/?verified=1', old)).body
    const longAgo =
      "UPDATE takeback_verified SET at = '2020-01-01T00:00:00.000Z' WHERE entity_id = $1 RETURNING 1 AS n"
    expect(await server.query(longAgo, id)).toHaveLength(1)
    isUser('old', { email: 'old@example.com' })
    expect((await comeBack(starting(asClient))).error).toBe('account_exists')
    // A new account takes over what the provider says.
    anybody()
    expect((await exchange(await codeFor(asClient))).body.user.verified).toBe(true)
  })

  test('needs its second factor, if it has one', async () => {
    anybody()
    const asClient = { user_type: 'client' }
    const { user } = (await exchange(await codeFor(asClient))).body
    const owner = { entity: 'clients', id: user.id }
    const secret = await server.context.factors.begin(owner)
    const right = totpCode(secret ?? Buffer.from(''), stepAt(Date.now()))
    const [recovery = ''] = (await server.context.factors.confirm(owner, right, noSession)) || []
    const code = await codeFor(asClient)
    const asked = await exchange(code)
    expect([asked.status, asked.body.code]).toEqual([422, 'second_factor_required'])
    // The message names the parameter of this call: a login uses another name.
    expect(asked.body.message).toContain('"second_factor"')
    expect(await refusal(exchange(code, { second_factor: '000000' }))).toEqual([422, 'second_factor_failed'])
    expect((await exchange(code, { second_factor: recovery })).status).toBe(200)
    expect(await refusal(exchange(code, { second_factor: recovery }))).toEqual([422, 'invalid_code'])
  })

  test('is not let in by a code from before its sessions were ended', async () => {
    anybody()
    const { user } = (await exchange(await codeFor())).body
    const code = await codeFor()
    await server.expect(200, 'PATCH', `/api/users/${user.id}/`, { password: 'another long password' })
    expect(await refusal(exchange(code))).toEqual([422, 'invalid_code'])
    expect((await exchange(await codeFor())).status).toBe(200)
  })

  test('keeps its last identity if it has no password', async () => {
    anybody()
    const { token } = (await exchange(await codeFor())).body
    const [only] = (await server.call('GET', '/api/auth/identities/', { token })).body.data
    const remove = (id: number) => server.call('DELETE', `/api/auth/identities/${id}/`, { token })
    expect(await refusal(remove(only.id))).toEqual([409, 'last_login'])
    anybody()
    const second = await finish(token, (await comeBack((await link(token, {})).body.url)).code)
    expect(second.status).toBe(201)
    expect(await refusal(link(await anHourLater(server, token), {}))).toEqual([403, 'recent_login_required'])
    // If both are removed at once, one stays.
    const statuses = await Promise.all([remove(only.id), remove(second.body.id)])
    expect(statuses.map(({ status }) => status).sort()).toEqual([204, 409])
  })

  test('is not let in while its address is not confirmed', async () => {
    anybody()
    const asClient = { user_type: 'client' }
    const { user } = (await exchange(await codeFor(asClient))).body
    await server.expect(200, 'PATCH', `/api/clients/${user.id}/`, { email: `moved${user.id}@example.com` })
    expect(await refusal(exchange(await codeFor(asClient)))).toEqual([422, 'unverified'])
  })

  test('has no password: a login of the last minutes is asked for in its place', async () => {
    const calls = [
      ['client', '/api/auth/totp/', {}],
      ['client', '/api/auth/passkeys/options', {}],
      ['user', '/api/auth/email', { email: 'elsewhere@example.com' }],
    ] as const
    for (const [userType, path, asked] of calls) {
      const email = anybody()
      const { token, user } = (await exchange(await codeFor({ user_type: userType }))).body
      const ask = (sent: string, more: object = {}) =>
        server.call('POST', path, { body: { ...asked, ...more }, token: sent, headers: anAddress() })
      expect([path, (await ask(token)).status]).toEqual([path, 200])
      expect(await refusal(ask(await anHourLater(server, token)))).toEqual([403, 'recent_login_required'])
      expectInvalid(await ask(token, { password: 'a guess' }), { password: ['is wrong'] })
      // Once there is a password, it is required, however recent the login.
      const { password } = ADMIN
      await server.expect(200, 'PATCH', `/api/${userType}s/${user.id}/`, { password })
      const login = { email, password, user_type: userType }
      const again = await server.expect(200, 'POST', '/api/auth/login', login, { token: null })
      expectInvalid(await ask(again.token), { password: ['is required'] })
    }
  })
})
