import { expect, test } from 'bun:test'
import { offerToken, openOffer } from '../../src/api/account/first-admin.ts'
import { addUser } from '../../src/cli/user.ts'
import { system } from '../../src/plan/viewer/actor.ts'
import { app, entity, text } from '../../src/takeback.ts'
import { onEveryStoreByHand, TestServer } from '../harness.ts'
import { addMember } from '../members.ts'

const plain = app({
  admins: 'admins',
  entities: { admins: entity({ login: { userType: 'admin', verify: true }, fields: {} }) },
})
const named = app({
  admins: 'admins',
  entities: { admins: entity({ login: { userType: 'admin' }, fields: { name: text() } }) },
})
const ME = { email: 'ada@example.com', password: 'correct horse battery' }

/** A server without an admin. */
async function bare(store: string, declaration = plain): Promise<TestServer> {
  const server = new TestServer(store, declaration)
  server.adminToken = 'none'
  await server.start()
  return server
}

/** A server with the admin that its first start creates. */
async function withPrinted(store: string): Promise<TestServer> {
  const server = await bare(store)
  const { context } = server
  const printed = { email: 'admin@example.com', password: 'a printed password' }
  const id = Number((await addUser(server, 'admins', printed)).split('/')[1])
  const login = context.plans.get('admins')?.login
  const [row] =
    login === undefined ? [] : await context.store.read(login.self, { $id: id, $me: null, $now: '' })
  if (row !== undefined) await context.temporary.mark('admins', id, String(login?.readSelf(row).hash))
  await context.firstAdmin.make(id)
  return server
}

/** Returns the token that the terminal shows. */
async function shownToken({ context }: TestServer): Promise<string | undefined> {
  const offer = await openOffer(context)
  return offer && offerToken(context, offer)
}

const post = (server: TestServer, body: object) =>
  server.call('POST', '/api/auth/first-admin/', { body, token: null })
const offered = async (server: TestServer) =>
  (await server.call('GET', '/api/model/', { token: null })).body.sign_in.first_admin

onEveryStoreByHand('the first admin', (store) => {
  test('is made in a browser, in place of the printed account', async () => {
    const server = await withPrinted(store)
    expect(await offered(server)).toEqual({ user_type: 'admin', password_min: 12, fields: [] })
    const token = await shownToken(server)
    const missing = await post(server, { email: ME.email, token })
    expect([missing.status, missing.body.errors]).toEqual([422, { password: ['is required'] }])
    const made = await post(server, { ...ME, token })
    expect([made.status, made.body.user.id, made.body.user.email]).toEqual([200, 1, ME.email])
    expect(made.body.password_expires_at).toBeUndefined()
    const model = await server.call('GET', '/api/model/', { token: made.body.token })
    expect([model.body.admin, model.body.sign_in.first_admin]).toEqual([true, null])
    expect((await post(server, ME)).body.code).toBe('first_admin_exists')
    const old = { email: 'admin@example.com', password: 'a printed password' }
    expect((await server.call('POST', '/api/auth/login', { body: old, token: null })).status).toBe(422)
    await server.remove()
  })

  test('is whoever uses the printed password first', async () => {
    const server = await withPrinted(store)
    const printed = { email: 'admin@example.com', password: 'a printed password' }
    await server.expect(200, 'POST', '/api/auth/login', printed, { token: null })
    expect(await offered(server)).toBe(null)
    expect((await post(server, ME)).status).toBe(409)
    await server.remove()
  })

  test('is not made any more once another admin was added', async () => {
    const server = await withPrinted(store)
    const token = await shownToken(server)
    await addMember(server, 'admins', { body: ME, actor: system })
    expect((await post(server, { ...ME, email: 'eve@example.com', token })).status).toBe(409)
    await server.remove()
  })

  test('is one of many who try at once', async () => {
    const unprinted = await bare(store)
    await unprinted.context.firstAdmin.make(null)
    for (const [server, length] of [
      [unprinted, 20],
      [await withPrinted(store), 5],
    ] as const) {
      const token = await shownToken(server)
      const all = await Promise.all(
        Array.from({ length }, (_, at) => post(server, { ...ME, email: `a${at}@example.com`, token })),
      )
      const statuses = all.map(({ status }) => status)
      expect([statuses.filter((one) => one === 200).length, new Set(statuses)]).toEqual([
        1,
        new Set([200, 409]),
      ])
      expect(await server.rows('admins')).toBe(1)
      await server.remove()
    }
  })

  test('has the fields that are required, and needs the token from everywhere', async () => {
    const server = await bare(store, named)
    expect([await offered(server), (await post(server, ME)).status]).toEqual([null, 409])
    await server.context.firstAdmin.make(null)
    const { fields } = await offered(server)
    expect(fields.map(({ path }: { path: string }) => path)).toEqual(['name'])
    const errors = async (body: object) => (await post(server, { ...ME, ...body })).body.errors
    const required = { token: ['is required: the terminal of the server shows it'] }
    expect(await errors({ name: 'Ada' })).toEqual(required)
    const wrong = { token: ['is wrong: the terminal of the server shows it'] }
    for (const token of ['', 'x', null, true, {}]) expect(await errors({ name: 'Ada', token })).toEqual(wrong)
    const token = await shownToken(server)
    expect(await errors({ token })).toEqual({ name: ['is required'] })
    const made = await post(server, { ...ME, name: 'Ada', token })
    expect([made.status, made.body.user.name]).toEqual([200, 'Ada'])
    await server.remove()
  })
})
