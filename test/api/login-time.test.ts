import { expect, test } from 'bun:test'
import { users, withAdmins } from '../declarations.ts'
import { ADMIN, onEveryStore } from '../harness.ts'

const declaration = withAdmins({
  users,
})

const PAIRS = 6
/** On a busy machine it takes more of them until one of each kind was not disturbed. */
const MOST = 60
const kinds = ['known', 'unknown', 'deleted'] as const

onEveryStore('a login that fails', declaration, (server) => {
  test('takes as long for somebody who is not there, or not any more, as for a wrong password', async () => {
    const times = { known: [] as number[], unknown: [] as number[], deleted: [] as number[] }
    // Without a hash it takes a fiftieth of the time. The fastest of each are those that nothing else has slowed down.
    const areAlike = () => kinds.every((kind) => Math.min(...times[kind]) / Math.min(...times.known) > 0.3)
    for (let at = 0; at < PAIRS || (at < MOST && !areAlike()); at++) {
      const [known, deleted] = [`known${at}@example.com`, `deleted${at}@example.com`]
      await server.expect(201, 'POST', '/api/users/', { email: known, password: ADMIN.password })
      const account = { email: deleted, password: ADMIN.password }
      const { id } = await server.expect(201, 'POST', '/api/users/', account)
      await server.expect(200, 'DELETE', `/api/users/${id}/`)
      // One after the other, so that whatever else the machine does meets all of them alike.
      for (const kind of kinds) {
        const began = performance.now()
        const { status } = await server.call('POST', '/api/auth/login', {
          body: { email: `${kind}${at}@example.com`, password: 'not the right one', user_type: 'user' },
          token: null,
        })
        times[kind].push(performance.now() - began)
        expect([kind, status]).toEqual([kind, 422])
      }
    }
    expect(areAlike()).toBe(true)
  })
})
