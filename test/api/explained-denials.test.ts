import { expect, test } from 'bun:test'
import { onEveryStore } from '../harness.ts'
import { rules } from '../rules.ts'

onEveryStore(
  'explained denials',
  rules,
  (server) => {
    test('name the rule that stands behind a 403, a 404 and a 401', async () => {
      const ann = await server.user('users', { email: 'ann@example.com' })
      await server.expect(201, 'POST', '/api/notes/', { title: 'x' })
      const said = async (method: string, path: string, body?: unknown, token: string | null = ann.token) =>
        (await server.call(method, path, { token, ...(body !== undefined && { body }) })).body.denied_by
      expect(await said('POST', '/api/notes/', { title: 'x' })).toBe('notes.access.create: owner.id == me.id')
      expect(await said('GET', '/api/notes/1/')).toBe('notes.access.read: owner.id == me.id')
      expect(await said('PATCH', '/api/notes/1/', { title: 'y' })).toBe(
        'notes.access.read: owner.id == me.id',
      )
      expect(await said('DELETE', '/api/users/1/')).toBe('users.access.delete: no rule, so admins only')
      expect(await said('GET', '/api/notes/1/', undefined, null)).toBe('notes.access.read: owner.id == me.id')
      expect(await said('GET', '/api/notes/99/')).toBeUndefined()
      expect(await said('POST', '/api/notes/', [{ title: 'x' }])).toBe(
        'notes.access.create: owner.id == me.id',
      )
      expect(await said('PATCH', '/api/staff/1/', {})).toBe('staff.access.read: no rule, so admins only')
    })
  },
  { 'explain-denials': '' },
)
