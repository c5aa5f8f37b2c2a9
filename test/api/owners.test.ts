import { expect, test } from 'bun:test'
import { noSession } from '../../src/account/sessions.ts'
import { budget } from '../../src/budget.ts'
import { besidesJournal } from '../../src/store/own.ts'
import { app, entity } from '../../src/takeback.ts'
import { FULL_POOL, onEveryStore } from '../harness.ts'
import { ownerWriters } from '../owner-writers.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user', verify: true, second: 'optional' }, fields: {} }),
  },
})

const { signal } = new AbortController()
const terms = { name: 'a key', expires_at: null, can: {}, limits: {}, agent: false }

/** Tables whose rows are written in the transaction that writes the Entity itself, so that a purge waits for them. */
const WITH_THEIR_ENTITY = ['takeback_cleared', 'takeback_sealed', 'takeback_shown']

onEveryStore(
  'what is stored for users',
  declaration,
  (server) => {
    const left = async (table: string, id: number) =>
      (await server.query(`SELECT 1 FROM ${table} WHERE entity = 'users' AND entity_id = $1`, id)).length

    test('every table about single Entities is tried here, or written with its Entity', () => {
      const tables = besidesJournal.map(({ name }) => name)
      expect([...Object.keys(ownerWriters), ...WITH_THEIR_ENTITY].sort()).toEqual([...tables].sort())
    })

    test('never exceeds its limit, however many requests come at once', async () => {
      const { keys, passkeys } = server.context
      const owner = { entity: 'users', id: await server.member('users', { email: 'many@example.com' }) }
      const passkey = (at: number) => ({ name: '', credential: `many ${at}`, publicKey: 'key', counter: 0 })
      const many = <T>(count: number, make: (at: number) => Promise<T>) =>
        Promise.all(Array.from({ length: count }, (_, at) => make(at)))
      await many(budget.keysPerUser + 10, () => keys.make(owner, terms, { calling: noSession, signal }))
      await many(budget.passkeys + 10, (at) => passkeys.add(owner, `many ${at}`, passkey(at), noSession))
      expect([await left('takeback_keys', owner.id), await left('takeback_passkeys', owner.id)]).toEqual([
        budget.keysPerUser,
        budget.passkeys,
      ])
    })

    test('is refused once they are purged, and goes with a purge', async () => {
      for (const when of ['after', 'before'] as const) {
        const id = await server.member('users', { email: `${when}@example.com` })
        const owner = { entity: 'users', id }
        const writeAll = async () => {
          for (const write of Object.values(ownerWriters)) await write(server.context, owner, 'word')
        }
        if (when === 'before') await writeAll()
        const stored = await Promise.all(Object.keys(ownerWriters).map((table) => left(table, id)))
        // A second factor that was never confirmed has no codes.
        if (when === 'before') expect(stored.filter((count) => count > 0)).toHaveLength(stored.length - 1)
        await server.expect(200, 'DELETE', `/api/users/${id}/`)
        await server.expect(204, 'DELETE', `/api/users/${id}/?purge=1`)
        if (when === 'after') await writeAll()
        for (const table of Object.keys(ownerWriters))
          expect([table, await left(table, id)]).toEqual([table, 0])
      }
    })
  },
  FULL_POOL,
)
