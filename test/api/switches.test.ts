import { expect, test } from 'bun:test'
import { entity, everyone, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, expectInvalid, onEveryStore } from '../harness.ts'

const declaration = withAdmins({
  notes: entity({ fields: { title: text() }, access: { read: everyone } }),
})

const ways = [
  '/api/notes/?token=',
  '/api/notes/?limit=2&token=',
  '/api/auth/me?token=',
  '/api/health?%74oken=',
]

onEveryStore('a token in the address', declaration, (server) => {
  test('is taken unless that is switched off', async () => {
    const { body } = await server.call('GET', `/api/auth/me?token=${server.adminToken}`, { token: null })
    expect(body.email).toBe('admin@example.com')
  })
})

onEveryStore(
  'with --no-query-token',
  declaration,
  (server) => {
    test('it is refused with a hint, on every route, and stands in no log', async () => {
      for (const token of [null, server.adminToken])
        for (const way of ways)
          expectInvalid(await server.call('GET', way + server.adminToken, { token }), {
            token: ['is not accepted in the URL: send the header Authorization: Bearer <token>'],
          })
      await eventually(() => server.logged.join('').includes('/api/health'))
      expect(server.logged.join('')).not.toContain(server.adminToken)
    })

    test('the header still works, and the reference does not offer the other way', async () => {
      await server.expect(200, 'GET', '/api/auth/me')
      const document = await server.expect(200, 'GET', '/api/openapi.json')
      expect(Object.keys(document.components.securitySchemes)).toEqual(['bearer'])
      expect(JSON.stringify(document.paths)).not.toContain('{"token":[]}')
      expect((await server.call('GET', '/docs')).text).not.toContain('?token=')
    })
  },
  { 'no-query-token': '' },
)

onEveryStore(
  'with --no-docs',
  declaration,
  (server) => {
    test('there is no reference, and all else is served', async () => {
      for (const path of ['/docs', '/docs/', '/api/openapi.json', '/api/openapi.json/']) {
        const { status, body } = await server.call('GET', path)
        expect([path, status, body?.code]).toEqual([path, 404, 'not_found'])
      }
      await server.expect(201, 'POST', '/api/notes/', { title: 'x' })
      await server.expect(200, 'GET', '/api/health')
    })
  },
  { 'no-docs': '' },
)
