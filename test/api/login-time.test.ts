import { expect, test } from 'bun:test'
import { users, withAdmins } from '../declarations.ts'
import { ADMIN, onEveryStore } from '../harness.ts'

const declaration = withAdmins({
  users,
})

const PAIRS = 6

onEveryStore('a login that fails', declaration, (server) => {
  test('takes as long for somebody who is not there, or not any more, as for a wrong password', async () => {
    const emails = Array.from({ length: PAIRS }, (_, at) => ({
      known: `known${at}@example.com`,
      unknown: `unknown${at}@example.com`,
      deleted: `deleted${at}@example.com`,
    }))
    for (const { known, deleted } of emails) {
      await server.expect(201, 'POST', '/api/users/', { email: known, password: ADMIN.password })
      const { id } = await server.expect(201, 'POST', '/api/users/', {
        email: deleted,
        password: ADMIN.password,
      })
      await server.expect(200, 'DELETE', `/api/users/${id}/`)
    }
    const times = { known: [] as number[], unknown: [] as number[], deleted: [] as number[] }
    // One after the other, so that whatever else the machine does meets all of them alike.
    for (const pair of emails)
      for (const kind of ['known', 'unknown', 'deleted'] as const) {
        const began = performance.now()
        const { status } = await server.call('POST', '/api/auth/login', {
          body: { email: pair[kind], password: 'not the right one', user_type: 'user' },
          token: null,
        })
        times[kind].push(performance.now() - began)
        expect([kind, status]).toEqual([kind, 422])
      }
    // Without a hash it takes a fiftieth of the time. The fastest of each are those that nothing else has slowed down.
    for (const kind of ['unknown', 'deleted'] as const)
      expect(Math.min(...times[kind]) / Math.min(...times.known)).toBeGreaterThan(0.3)
  })
})
