import { expect, test } from 'bun:test'
import { SignJWT } from 'jose'
import { bookings } from '../declarations.ts'
import { ADMIN, onEveryStore } from '../harness.ts'

onEveryStore('a token that has ended', bookings, (server) => {
  const sign = async (token: string, more: object) => {
    const key = new TextEncoder().encode(await server.context.store.secret())
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return new SignJWT({ ...claims, ...more }).setProtectedHeader({ alg: 'HS256' }).sign(key)
  }
  const act = (method: string, path: string, token: string, body?: unknown) =>
    server.call(method, path, body === undefined ? { token } : { token, body })
  const soon = Math.floor(Date.now() / 1000) - 1

  /** Each makes an admin's token useless, and gives what is useless now. It was in use just before. */
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
    'by its own time': (token) => sign(token, { exp: soon }),
    'by the time of its session': (token) => sign(token, { auth_time: soon - 30 * 86_400 }),
    'because its epoch was never reached': (token) => sign(token, { epo: 1 }),
  }

  for (const [how, end] of Object.entries(ends))
    test(`${how}, is refused on every route`, async () => {
      const { id, token } = await server.user('admins', { email: `${crypto.randomUUID()}@example.com` })
      await server.expect(200, 'GET', '/api/auth/me', undefined, { token })
      const dead = await end(token, id)
      const { paths } = await server.expect(200, 'GET', '/api/openapi.json')
      let calls = 0
      for (const [path, methods] of Object.entries(paths as Record<string, object>))
        for (const method of Object.keys(methods)) {
          const body = ['post', 'put', 'patch'].includes(method) ? {} : undefined
          const { status, body: answer } = await act(
            method.toUpperCase(),
            path.replace('{id}', '1'),
            dead,
            body,
          )
          expect([method, path, status, answer?.code]).toEqual([method, path, 401, 'invalid_token'])
          calls++
        }
      expect(calls).toBeGreaterThan(30)
    })
})
