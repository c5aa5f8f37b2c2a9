import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { VerifiedAddresses } from '../../src/account/verified.ts'
import { addUser } from '../../src/cli/user.ts'
import type { Store } from '../../src/store/store.ts'
import { app, entity } from '../../src/takeback.ts'
import { ADMIN, onEveryStore, onEveryStoreByHand, TestServer } from '../harness.ts'

const admins = entity({ login: { userType: 'admin' }, fields: {} })
const declared = (login: { userType: 'user'; verify?: true }) =>
  app({ admins: 'admins', entities: { admins, users: entity({ login, fields: {} }) } })
const unasked = declared({ userType: 'user' })
const asked = declared({ userType: 'user', verify: true })

const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
afterAll(() => rmSync(outbox, { recursive: true, force: true }))

onEveryStoreByHand('verify', (store) => {
  test('switched on later lets those in who have an account already, and admins of the command line', async () => {
    const server = new TestServer(store, unasked, { outbox })
    await server.start()
    try {
      const { id } = await server.user('users', { email: 'old@example.com' })
      await server.member('users', { email: 'gone@example.com' })
      await server.restart(asked)
      const login = (email: string) =>
        server.call('POST', '/api/auth/login', { body: { email, password: ADMIN.password }, token: null })
      expect((await login('old@example.com')).status).toBe(200)
      await server.member('users', { email: 'young@example.com' })
      expect((await login('young@example.com')).body.code).toBe('unverified')
      await server.restart(asked)
      expect((await login('young@example.com')).body.code).toBe('unverified')
      await server.expect(200, 'PATCH', `/api/users/${id}/`, { email: 'other@example.com' })
      expect((await login('other@example.com')).body.code).toBe('unverified')
      // The operator can add verified users, and admins always.
      const verify = { userType: 'admin', verify: true }
      const strict = { ...asked.entities, admins: entity({ login: verify, fields: {} }) }
      await server.restart(app({ admins: 'admins', entities: strict }))
      const add = (type: string, email: string, verified?: boolean) =>
        addUser(server, type, { email, password: ADMIN.password }, verified)
      await add('users', 'added@example.com')
      await add('users', 'sure@example.com', true)
      await add('admins', 'root@example.com')
      expect((await login('added@example.com')).body.code).toBe('unverified')
      for (const email of ['sure@example.com', 'root@example.com', ADMIN.email])
        expect((await login(email)).status).toBe(200)
    } finally {
      await server.remove()
    }
  })
})

onEveryStore('verify that two instances begin at once', unasked, (server) => {
  test('marks only those who had an account before one of them began to serve', async () => {
    const { store } = server.context
    const verified = new VerifiedAddresses(store)
    const [old, moved] = [
      await server.member('users', { email: 'old@example.com' }),
      await server.member('users', { email: 'first@example.com' }),
    ]
    let young = 0
    /** The first instance is done and serves, while the second one is about to read the accounts. */
    const meanwhile = async () => {
      await verified.begin('users')
      young = await server.member('users', { email: 'young@example.com' })
      await server.expect(200, 'PATCH', `/api/users/${moved}/`, { email: 'second@example.com' })
    }
    let reads = 0
    const read = async (...given: Parameters<Store['read']>) => {
      if (++reads === 2) await meanwhile()
      return store.read(...given)
    }
    const write = (...given: Parameters<Store['write']>) => store.write(...given)
    await new VerifiedAddresses({ dialect: store.dialect, read, write }).begin('users')
    expect(young).toBeGreaterThan(0)
    const has = (id: number, name: string) =>
      verified.has({ entity: 'users', id, key: `${name}@example.com` })
    expect([await has(old, 'old'), await has(moved, 'first')]).toEqual([true, true])
    expect([await has(young, 'young'), await has(moved, 'second')]).toEqual([false, false])
    expect(await verified.wasProved({ entity: 'users', id: old, key: 'old@example.com' })).toBe(false)
  })
})
