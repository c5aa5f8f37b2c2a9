import { expect, test } from 'bun:test'
import { SignJWT } from 'jose'
import { endpoints } from '../../src/api/endpoints.ts'
import { routesOf } from '../../src/serve/http/routes.ts'
import { bookings } from '../declarations.ts'
import { ADMIN, onEveryStore, sample } from '../harness.ts'

onEveryStore('a token that has ended', bookings, (server) => {
  const sign = async (token: string, more: object) => {
    const key = new TextEncoder().encode(await server.context.store.secret())
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return new SignJWT({ ...claims, ...more }).setProtectedHeader({ alg: 'HS256' }).sign(key)
  }
  const act = (method: string, path: string, token: string, body?: unknown) =>
    server.call(method, path, body === undefined ? { token } : { token, body })
  const soon = Math.floor(Date.now() / 1000) - 1

  /** Ways to end an admin's token, which was in use just before. Each returns the dead token. */
  const ends: Record<string, (token: string, id: number) => Promise<string>> = {
    'by logout': async (token) => {
      await act('POST', '/api/auth/logout', token)
      return token
    },
    'by a refresh': async (token) => {
      await act('POST', '/api/auth/refresh', token)
      return token
    },
    'by a change of the password': async (token) => {
      const passwords = { password: ADMIN.password, new_password: 'another long password' }
      await act('POST', '/api/auth/password', token, passwords)
      return token
    },
    'by a password that an admin has set': async (token, id) => {
      await server.expect(200, 'PATCH', `/api/admins/${id}/`, { password: 'another long password' })
      return token
    },
    'with its user': async (token, id) => {
      await server.expect(200, 'DELETE', `/api/admins/${id}/`)
      return token
    },
    'with its user, who is back': async (token, id) => {
      await server.expect(200, 'DELETE', `/api/admins/${id}/`)
      await server.expect(200, 'DELETE', `/api/admins/${id}/?restore=1`)
      return token
    },
    'with its user, by a batch': async (token, id) => {
      await server.expect(200, 'POST', '/api/batch/', [{ method: 'DELETE', path: `/api/admins/${id}/` }])
      return token
    },
    'with its user, for good': async (token, id) => {
      await server.expect(200, 'DELETE', `/api/admins/${id}/`)
      await server.expect(204, 'DELETE', `/api/admins/${id}/?purge=1`)
      return token
    },
    'by its own time': (token) => sign(token, { exp: soon }),
    'by the time of its session': (token) => sign(token, { auth_time: soon - 30 * 86_400 }),
    'because its epoch was never reached': (token) => sign(token, { epo: 1 }),
  }

  let turn = 0

  /**
   * Tries each route with each method, and each way to send a token. Unless the run is deep, it is a third of the
   * routes, other ones each time: all of them identify the caller in the same way.
   */
  async function expectDead(dead: string): Promise<void> {
    const wrong: unknown[] = []
    let calls = 0
    for (const { path, methods } of sample([...routesOf(server.context, endpoints)], 3, turn++))
      for (const [method, { produces }] of Object.entries(methods))
        for (const inAddress of [false, true]) {
          const target = path.replace(':id', '1') + (inAddress ? `?token=${dead}` : '')
          const { status, body } = await server.call(method, target, {
            token: inAddress ? null : dead,
            headers: { Accept: produces.join(', ') },
            ...(method !== 'GET' && method !== 'DELETE' && { body: {} }),
          })
          if (status !== 401 || body.code !== 'invalid_token') wrong.push([method, target, status, body])
          calls++
        }
    expect(wrong).toEqual([])
    expect(calls).toBeGreaterThan(20)
  }

  for (const [how, end] of Object.entries(ends))
    test(`${how}, is refused on every route, at once and after a restart`, async () => {
      const { id, token } = await server.user('admins', { email: `${crypto.randomUUID()}@example.com` })
      await server.expect(200, 'GET', '/api/auth/me', undefined, { token })
      const dead = await end(token, id)
      await expectDead(dead)
      // After a restart, nothing is cached.
      await server.restart()
      await expectDead(dead)
    })

  test('and one that never was good is refused too', async () => {
    const [head, claims, signature = ''] = server.adminToken.split('.')
    for (const bad of [`${head}.${claims}.`, `${head}.${claims}`, `${server.adminToken}x`, 'x', signature])
      await expectDead(bad)
  })
})
