import { expect, test } from 'bun:test'
import { noSession } from '../../src/account/sessions.ts'
import { newSession } from '../../src/account/tokens.ts'
import type { Context } from '../../src/api/context.ts'
import { budget } from '../../src/budget.ts'
import { besidesJournal } from '../../src/store/own.ts'
import { app, entity } from '../../src/takeback.ts'
import { FULL_POOL, onEveryStore } from '../harness.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user', verify: true, second: 'optional' }, fields: {} }),
  },
})

const { signal } = new AbortController()
const terms = { name: 'a key', expires_at: null, can: {}, limits: {}, agent: false }
const visitor = { address: '127.0.0.1', agent: null }
const identity = { provider: 'google', issuer: 'https://issuer.example.com', subject: 'subject' }

interface Owner {
  readonly entity: string
  readonly id: number
}

/** For each table: stores something for a user, like a request that looked up the user before. */
const writers: Record<string, (context: Context, owner: Owner) => Promise<unknown>> = {
  takeback_keys: ({ keys }, owner) => keys.make(owner, terms, { calling: noSession, signal }),
  takeback_preferences: ({ preferences }, owner) => preferences.write(owner, '{}'),
  takeback_sessions: async ({ sessions }, owner) => {
    const [former, next] = [newSession(1, false), newSession(1, false)]
    await sessions.start({ ...owner, epoch: 1 }, former, 'password', visitor)
    await sessions.renew({ ...owner, epoch: 1 }, { former, next, visitor }, signal)
  },
  takeback_links: async ({ links, store }, owner) => {
    await links.make(store, 'reset', { ...owner, bound: '' })
    const { steps, params } = links.reserving('email', { ...owner, bound: '', address: 'x@example.com' })
    await store.write(steps, params)
  },
  takeback_verified: ({ verified }, owner) => verified.mark({ ...owner, key: 'x@example.com' }),
  takeback_tried_passwords: ({ tried, store }, owner) => {
    const { steps, params } = tried.keeping({ ...owner, key: 'x@example.com' }, 'hash')
    return store.write(steps, params)
  },
  takeback_temporary_passwords: ({ temporary }, { entity, id }) => temporary.mark(entity, id, 'hash'),
  takeback_second_factors: ({ factors }, owner) => factors.begin(owner),
  // Only with a second factor.
  takeback_recovery_codes: ({ factors }, owner) => factors.renewCodes(owner),
  takeback_passkeys: ({ passkeys }, owner) =>
    passkeys.add(
      owner,
      `challenge ${owner.id}`,
      { name: 'a passkey', credential: `credential ${owner.id}`, publicKey: 'key', counter: 0 },
      noSession,
    ),
  takeback_identities: ({ linked, store }, owner) => {
    const { steps, params } = linked.linking({ ...identity, subject: String(owner.id) }, owner)
    return store.write(steps, params)
  },
}

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
      expect([...Object.keys(writers), ...WITH_THEIR_ENTITY].sort()).toEqual([...tables].sort())
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
          for (const write of Object.values(writers)) await write(server.context, owner)
        }
        if (when === 'before') await writeAll()
        const stored = await Promise.all(Object.keys(writers).map((table) => left(table, id)))
        // A second factor that was never confirmed has no codes.
        if (when === 'before') expect(stored.filter((count) => count > 0)).toHaveLength(stored.length - 1)
        await server.expect(200, 'DELETE', `/api/users/${id}/`)
        await server.expect(204, 'DELETE', `/api/users/${id}/?purge=1`)
        if (when === 'after') await writeAll()
        for (const table of Object.keys(writers)) expect([table, await left(table, id)]).toEqual([table, 0])
      }
    })
  },
  FULL_POOL,
)
