import { expect, test } from 'bun:test'
import { app, entity, everyone } from '../../src/takeback.ts'
import { ADMIN, expectInvalid, onEveryStore } from '../harness.ts'
import { anHourLater } from '../old-session.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({
      login: { userType: 'user', second: 'optional' },
      fields: {},
      access: { create: everyone, read: 'id == me.id', update: 'id == me.id' },
    }),
  },
})
const { password } = ADMIN

/** Calls that give access for longer than a session lasts. `<key>` is a key of the user. */
const LASTING: readonly (readonly [number, string, string, object])[] = [
  [201, 'POST', '/api/auth/keys/', { name: 'a program' }],
  [200, 'PATCH', '/api/auth/keys/<key>/', { can: null }],
  [200, 'PATCH', '/api/auth/keys/<key>/', { limits: null }],
  [200, 'PATCH', '/api/auth/keys/<key>/', { agent: false }],
  [200, 'PATCH', '/api/auth/keys/<key>/', { name: 'renamed', expires_at: null }],
  [200, 'POST', '/api/auth/passkeys/options', {}],
  [200, 'POST', '/api/auth/totp/', {}],
]

onEveryStore('access that lasts', declaration, (server) => {
  let made = 0
  const newUser = () => server.user('users', { email: `user${++made}@example.com` })
  const makeKey = (token: string) =>
    server.expect(201, 'POST', '/api/auth/keys/', { name: 'first' }, { token })

  for (const [status, method, template, body] of LASTING)
    test(`needs more than a stolen token: ${method} ${template} ${JSON.stringify(body)}`, async () => {
      const { token } = await newUser()
      const key = await makeKey(token)
      const path = template.replace('<key>', key.id)
      const old = { token: await anHourLater(server, token) }
      const before = await server.expect(200, 'GET', '/api/auth/keys/', undefined, old)
      const refused = await server.call(method, path, { body, ...old })
      expect([403, 422]).toContain(refused.status)
      const guessed = await server.call(method, path, { body: { ...body, password: 'a guess' }, ...old })
      expectInvalid(guessed, { password: ['is wrong'] })
      expect(await server.expect(200, 'GET', '/api/auth/keys/', undefined, old)).toEqual(before)
      await server.expect(status, method, path, { ...body, password }, old)
    })

  test('a key needs a recent login or the password, and says so', async () => {
    const { token } = await newUser()
    const key = await makeKey(token)
    const old = { token: await anHourLater(server, token) }
    const refused = await server.call('POST', '/api/auth/keys/', { body: { name: 'x' }, ...old })
    expect([refused.status, refused.body]).toMatchObject([
      403,
      {
        message: 'This needs a recent login. Send your password as well, or log in again.',
        code: 'recent_login_required',
      },
    ])
    const wrong = { password: 7, nmae: 'x' }
    const unread = await server.call('POST', '/api/auth/keys/', { body: wrong, ...old })
    expect(Object.keys(unread.body.errors).sort()).toEqual(['name', 'nmae', 'password'])
    // Neither gives access.
    await server.expect(200, 'PATCH', `/api/auth/keys/${key.id}/`, { name: 'renamed' }, old)
    await server.expect(200, 'DELETE', `/api/auth/keys/${key.id}/`, undefined, old)
  })

  test('admins need neither for a key: they can create accounts', async () => {
    const { id } = await newUser()
    const old = { token: await anHourLater(server, server.adminToken) }
    const own = await server.expect(201, 'POST', '/api/auth/keys/', { name: 'own' }, old)
    await server.expect(200, 'PATCH', `/api/auth/keys/${own.id}/`, { can: { read_only: true } }, old)
    await server.expect(201, 'POST', '/api/auth/keys/', { name: 'x', user: `users/${id}` }, old)
    const guessed = await server.call('POST', '/api/auth/keys/', {
      body: { name: 'x', password: 'a guess' },
      ...old,
    })
    expectInvalid(guessed, { password: ['is wrong'] })
  })
})
