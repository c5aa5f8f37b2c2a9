import { expect, test } from 'bun:test'
import type { AppDeclaration } from '../../src/declare/define.ts'
import { copy } from '../../src/store/copy/copy.ts'
import { dropAside, findAside } from '../../src/store/migration/drop.ts'
import { entity, text } from '../../src/takeback.ts'
import { ACCOUNT_PARTS, type AccountPart, AccountWorld, FLAGS } from '../account-world.ts'
import { withAdmins } from '../declarations.ts'
import { ADMIN, betweenStores, newDatabase, onEveryStoreByHand, operationOf, TestServer } from '../harness.ts'
import { newFolder } from '../process/process.ts'

const own = 'id == me.id'
const login = { userType: 'user', verify: true, second: 'optional' } as const
const users = (more = {}) =>
  entity({ login, fields: { name: text({ optional: true }) }, access: { read: own, update: own }, ...more })
const declaration = withAdmins({ users: users() })
const all: AccountPart[] = [...ACCOUNT_PARTS]
const but = (...gone: AccountPart[]) => all.filter((part) => !gone.includes(part))

/** Events of the account `users/<id>`. Each checks what still works afterwards. */
const EVENTS: Record<string, (server: TestServer, world: AccountWorld) => Promise<void>> = {
  'a deletion and a restore': async (server, world) => {
    await server.expect(200, 'DELETE', `/api/users/${world.id}/`)
    // Data about the account is kept for a restore, but nothing lets anybody in.
    expect(await world.working(server, 'users')).toEqual(DORMANT)
    await server.expect(200, 'DELETE', `/api/users/${world.id}/?restore=1`)
    expect(await world.working(server, 'users')).toEqual(but('session'))
  },
  'an undo of its creation and a redo': async (server, world) => {
    const { data } = await server.expect(200, 'GET', `/api/operations/?entity=users/${world.id}&kind=create`)
    const undo = await server.call('POST', `/api/operations/${data[0].id}/undo`, { body: {} })
    expect(undo.status).toBe(200)
    expect(await world.working(server, 'users')).toEqual(DORMANT)
    const redo = await server.call('POST', `/api/operations/${operationOf(undo)}/undo`, { body: {} })
    expect(redo.status).toBe(200)
    expect(await world.working(server, 'users')).toEqual(but('session'))
  },
  'changes, an undo and a revert': async (server, world) => {
    const path = `/api/users/${world.id}/`
    const renamed = await server.call('PATCH', path, { body: { name: 'Ada' } })
    await server.expect(200, 'POST', `/api/operations/${operationOf(renamed)}/undo`, {})
    expect(await world.working(server, 'users')).toEqual(all)
    // A new address gets its own invitation, sooner or later.
    const left = async (): Promise<AccountPart[]> =>
      (await world.working(server, 'users')).filter((part) => part !== 'invitation')
    await server.expect(200, 'PATCH', path, { email: 'moved@example.com' })
    expect(await left()).toEqual(but('password', 'code', 'recovery code', 'passkey', 'link', 'invitation'))
    await server.expect(200, 'POST', `${path}revert`, { version: 1 })
    expect(await left()).toEqual(but('invitation'))
    await server.expect(200, 'PATCH', path, { password: 'another password, as long' })
    expect(await left()).toEqual(but('password', 'session', 'code', 'recovery code', 'link', 'invitation'))
    await server.expect(200, 'POST', `${path}revert`, { version: 1 })
    expect(await left()).toEqual(but('session', 'invitation'))
  },
  'a purge': async (server, world) => {
    await server.expect(200, 'DELETE', `/api/users/${world.id}/`)
    await server.expect(204, 'DELETE', `/api/users/${world.id}/?purge=1`)
    expect(await world.working(server, 'users')).toEqual([])
  },
  'a rename, and another one': async (server, world) => {
    await server.restart(withAdmins({ people: users({ was: 'users' }) }))
    expect(await world.working(server, 'people')).toEqual(all)
    await server.restart(withAdmins({ members: users({ was: 'people' }) }))
    // Tokens contain the name of the type: after two renames in a day, users must log in again.
    expect(await world.working(server, 'members')).toEqual(but('session'))
    await server.restart(withAdmins({ people: users({ was: 'members' }), users: users({ login: other }) }))
    await server.member('users', { email: 'stranger@example.com' })
    expect(await world.working(server, 'users')).toEqual(but('session', ...DORMANT))
    expect(await world.working(server, 'people')).toEqual(but('session'))
  },
  'a time in which the type is not declared': async (server, world) => {
    await server.restart(withAdmins({}))
    expect(await world.working(server, 'users')).toEqual(DORMANT)
    await listAll(server)
    await server.restart(declaration)
    expect(await world.working(server, 'users')).toEqual(but('session'))
  },
  'a time in which nobody of the type logs in': async (server, world) => {
    await server.restart(withAdmins({ users: users({ login: undefined }) }))
    expect(await world.working(server, 'users')).toEqual(DORMANT)
    await listAll(server)
    await server.expect(200, 'DELETE', `/api/users/${world.id}/`)
    await server.expect(200, 'DELETE', `/api/users/${world.id}/?restore=1`)
    await server.restart(declaration)
    // As after every deletion and restore.
    expect(await world.working(server, 'users')).toEqual(but('session'))
    const states = await server.query("SELECT data FROM takeback_journal WHERE entity = 'users'")
    expect(states.map(({ data }) => String(data)).join()).not.toMatch(/email_key|token_epoch/)
  },
  'a time without verify and without second factors': async (server, world) => {
    await server.restart(withAdmins({ users: users({ login: { userType: 'user' } }) }))
    expect(await world.working(server, 'users')).toEqual(but('password'))
    await server.restart(declaration)
    expect(await world.working(server, 'users')).toEqual(all)
  },
  'a drop of the type, and a rename of another one to its name': async (server, world) => {
    await server.restart(withAdmins({ users: users(), clients: users({ login: other }) }))
    expect(await server.member('clients', { email: 'stranger@example.com' })).toBe(world.id)
    await server.restart(withAdmins({ clients: users({ login: other }) }))
    const opened = await server.openStore()
    await dropAside(opened.structure, await findAside(opened.structure, ['users']))
    await opened.close()
    await server.restart(withAdmins({ users: users({ login: other, was: 'clients' }) }))
    await server.expect(200, 'GET', `/api/users/${world.id}/`)
    expect(await world.working(server, 'users')).toEqual([])
  },
  'other admins': async (server, world) => {
    const admin = await server.expect(201, 'POST', '/api/auth/keys/', { name: 'of an admin' })
    await server.restart({ ...declaration, admins: 'users' } as AppDeclaration)
    expect((await server.call('GET', '/api/users/', { token: admin.key })).body.data ?? []).toEqual([])
    expect(await world.working(server, 'users')).toEqual(all)
  },
}
const other = { userType: 'other', verify: true, second: 'optional' } as const
/** Data about the account that lets nobody in. */
const DORMANT: AccountPart[] = ['identity', 'proved address', 'preferences']

/** Lists of all accounts must work, whatever became of some. */
async function listAll(server: TestServer): Promise<void> {
  for (const path of ['auth/keys/', 'auth/invitations/', 'operations/', 'health/details'])
    await server.expect(200, 'GET', `/api/${path}`)
}

onEveryStoreByHand('what belongs to an account, after', (store) => {
  for (const [event, happen] of Object.entries(EVENTS))
    test(event, async () => {
      const server = new TestServer(store, declaration, FLAGS)
      try {
        await server.start()
        const world = await AccountWorld.fill(server, 'users')
        expect(await world.working(server, 'users')).toEqual(all)
        await happen(server, world)
      } finally {
        await server.remove()
      }
    })
})

betweenStores('what belongs to an account, copied', (store, other) => {
  test('to another database: all works there, and what has ended stays so', async () => {
    const [from, to] = [await newDatabase(store, newFolder()), await newDatabase(other, newFolder())]
    const [server, copied] = [from, to].map(
      (database, at) => new TestServer(at === 0 ? store : other, declaration, FLAGS, database),
    )
    if (server === undefined || copied === undefined) throw new Error('no servers')
    try {
      await server.start()
      const world = await AccountWorld.fill(server, 'users')
      const { token } = await server.expect(200, 'POST', '/api/auth/login', ADMIN, { token: null })
      const { id, key } = await server.expect(201, 'POST', '/api/auth/keys/', { name: 'ended' }, { token })
      await server.expect(200, 'DELETE', `/api/auth/keys/${id}/`)
      await server.expect(204, 'POST', '/api/auth/logout', undefined, { token })
      await server.stop()
      const stores = [await server.openStore(), await copied.openStore()] as const
      await copy(...stores, () => {})
      await Promise.all(stores.map((one) => one.close()))
      copied.adminToken = server.adminToken
      await copied.start()
      expect(await world.working(copied, 'users')).toEqual(all)
      for (const ended of [token, key])
        expect((await copied.call('GET', '/api/auth/me', { token: ended })).status).toBe(401)
    } finally {
      await copied.remove()
      await server.remove()
    }
  })
})
