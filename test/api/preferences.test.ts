import { expect, test } from 'bun:test'
import { app, entity } from '../../src/takeback.ts'
import { onEveryStore } from '../harness.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user' }, fields: {} }),
  },
})
const PATH = '/api/auth/preferences/'

onEveryStore('preferences', declaration, (server) => {
  test('are what a user keeps, and go with the user', async () => {
    const { id, token } = await server.user('users', { email: 'ann@example.com' })
    expect(await server.expect(200, 'GET', PATH, undefined, { token })).toEqual({})
    const kept = { views: [{ name: 'Größe \u0000 \ud800', columns: ['a'] }], __proto__x: 1 }
    for (const value of [{ theme: 'dark' }, kept]) {
      expect(await server.expect(200, 'PUT', PATH, value, { token })).toEqual(value)
      expect(await server.expect(200, 'GET', PATH, undefined, { token })).toEqual(value)
    }
    expect(await server.expect(200, 'GET', PATH)).toEqual({})
    expect(await server.rows('takeback_preferences')).toBe(1)
    await server.expect(200, 'DELETE', `/api/users/${id}/`)
    await server.expect(204, 'DELETE', `/api/users/${id}/?purge=1`)
    expect(await server.rows('takeback_preferences')).toBe(0)
    // Like a request that was accepted before the purge.
    expect(await server.context.preferences.write({ entity: 'users', id }, '{}')).toBe(false)
    expect(await server.rows('takeback_preferences')).toBe(0)
  })

  test('have a limit, and are not for programs', async () => {
    const long = await server.call('PUT', PATH, { body: { text: 'x'.repeat(32 * 1024) } })
    expect([long.status, long.body.errors]).toEqual([422, { '': ['must have at most 32768 bytes'] }])
    expect((await server.call('PUT', PATH, { body: [] })).status).toBe(400)
    expect((await server.call('GET', PATH, { token: null })).status).toBe(401)
    const { key } = await server.expect(201, 'POST', '/api/auth/keys/', { name: 'a key' })
    for (const method of ['GET', 'PUT'])
      expect(
        (await server.call(method, PATH, { token: key, ...(method === 'PUT' && { body: {} }) })).status,
      ).toBe(403)
  })
})
