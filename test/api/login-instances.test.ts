import { beforeEach, expect, test } from 'bun:test'
import { app, entity } from '../../src/takeback.ts'
import { Authenticator } from '../authenticator.ts'
import { ADMIN, FULL_POOL, onEveryStoreByHand, type TestResponse, type TestServer } from '../harness.ts'
import { startedInstances } from '../together.ts'
import { codesOf } from '../totp-codes.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user', second: 'optional' }, fields: {} }),
  },
})
const { password } = ADMIN
const URL = 'http://localhost:8080'

onEveryStoreByHand('what works once works once on all instances together', (store) => {
  const flags = { ...FULL_POOL, url: URL }
  const { server, instances } = startedInstances(store, declaration, flags)
  /** Forgets attempts: all requests come from one address, and must not slow each other down. */
  const calm = () => server.query('DELETE FROM takeback_attempts RETURNING 1 AS n')
  beforeEach(calm)

  const last = () => instances.at(-1) ?? server
  const post = (path: string, body: object, token: string | null = null, on = server) =>
    on.call('POST', `/api/auth/${path}`, { body, token })
  const twenty = (send: (on: TestServer) => Promise<TestResponse>) =>
    Promise.all(Array.from({ length: 20 }, (_, at) => send(instances[at % instances.length] ?? server)))
  const won = (answers: readonly TestResponse[]) => {
    expect(answers.every(({ status }) => [200, 422, 429, 503].includes(status))).toBe(true)
    return answers.filter(({ status }) => status === 200).length
  }
  const withFactor = async (email: string) => {
    const { token } = await server.user('users', { email })
    const code = codesOf((await post('totp/', { password }, token)).body.secret)
    const { recovery_codes: codes } = (await post('totp/confirm', { code: code(0) }, token)).body
    return { code, codes: codes as string[], token }
  }
  const passkeyOf = async (token: string) => {
    const phone = new Authenticator(URL)
    const options = (await post('passkeys/options', { password }, token)).body
    return { phone, made: { name: 'Phone', credential: phone.create(options) } }
  }
  const asked = async () => (await post('passkeys/login/options', {})).body

  test('a code of an app, and one for recovery', async () => {
    const email = 'codes@example.com'
    const { code, codes } = await withFactor(email)
    for (const one of [code(1), codes[0] ?? '']) {
      expect(won(await twenty((on) => post('login', { email, password, code: one }, null, on)))).toBe(1)
      await calm()
      expect((await post('login', { email, password, code: one }, null, last())).status).toBe(422)
    }
  })

  test('the answer of a passkey to a challenge; and its counter never goes back', async () => {
    const { token } = await server.user('users', { email: 'passkey@example.com' })
    const { phone, made } = await passkeyOf(token)
    expect((await post('passkeys/', made, token)).status).toBe(201)
    const login = (credential: object, on = server) => post('passkeys/login', { credential }, null, on)
    const first = phone.get(await asked())
    expect(won(await twenty((on) => login(first, on)))).toBe(1)
    await calm()
    // An authenticator that counts: each number works once, on any instance, and a lower one never.
    const counted = await asked()
    expect((await login(phone.get(counted, 7))).status).toBe(200)
    for (const counter of [7, 6, 0])
      expect((await login(phone.get(await asked(), counter), last())).body.code).toBe('passkey_failed')
    await calm()
    const eight = await Promise.all(Array.from({ length: 20 }, async () => phone.get(await asked(), 8)))
    let at = 0
    expect(won(await twenty((on) => login(eight[at++] ?? {}, on)))).toBe(1)
    await calm()
    expect((await login(phone.get(counted, 9), last())).body.code).toBe('passkey_failed')
  })

  /** Ways to end a session that another instance has just seen alive. */
  const ends: Record<string, (token: string, email: string) => Promise<unknown>> = {
    logout: (token) => post('logout', {}, token),
    'the end of all other sessions': async (_, email) => {
      const { token } = (await post('login', { email, password })).body
      await server.expect(204, 'DELETE', '/api/auth/sessions/?others=1', undefined, { token })
    },
    'a change of the password': (token) =>
      post('password', { password, new_password: 'another long password' }, token),
  }
  for (const [how, end] of Object.entries(ends))
    test(`a session adds no way into its account after ${how}`, async () => {
      const email = `${how.replaceAll(' ', '-')}@example.com`
      const { token } = await server.user('users', { email })
      const { made } = await passkeyOf(token)
      const secret = (await post('totp/', { password }, token)).body.secret
      const key = (await post('keys/', { name: 'Old' }, token)).body
      const on = last()
      await on.expect(200, 'GET', '/api/auth/me', undefined, { token })
      await end(token, email)
      const tried = await Promise.all([
        post('keys/', { name: 'New' }, token, on),
        post('passkeys/', made, token, on),
        post('totp/confirm', { code: codesOf(secret)(0) }, token, on),
        on.call('PATCH', `/api/auth/keys/${key.id}/`, { body: { name: 'Changed' }, token }),
      ])
      expect(tried.map(({ status }) => status)).toEqual([401, 401, 401, 401])
    })
})
