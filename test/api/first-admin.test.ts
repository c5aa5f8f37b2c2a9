import { describe, expect, test } from 'bun:test'
import { offerToken, openOffer } from '../../src/api/account/first-admin.ts'
import { addUser } from '../../src/cli/user.ts'
import { system } from '../../src/plan/viewer/actor.ts'
import { isDirect } from '../../src/serve/http/direct.ts'
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

/** A server whose admin nobody has made. */
async function bare(store: string, declaration = plain): Promise<TestServer> {
  const server = new TestServer(store, declaration)
  server.adminToken = 'none'
  await server.start()
  return server
}

/** As the first start makes it. */
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

const post = (server: TestServer, body: object, headers: Record<string, string> = {}) =>
  server.call('POST', '/api/auth/first-admin/', { body, token: null, headers })
const offered = async (server: TestServer, headers: Record<string, string> = {}) =>
  (await server.call('GET', '/api/model/', { token: null, headers })).body.sign_in.first_admin

onEveryStoreByHand('the first admin', (store) => {
  test('is made in a browser, in place of the printed account', async () => {
    const server = await withPrinted(store)
    expect(await offered(server)).toEqual({ user_type: 'admin', token: false, password_min: 12, fields: [] })
    const missing = await post(server, { email: ME.email })
    expect([missing.status, missing.body.errors]).toEqual([422, { password: ['is required'] }])
    const made = await post(server, ME, { Origin: server.url })
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
    await addMember(server, 'admins', { body: ME, actor: system })
    expect((await post(server, { ...ME, email: 'eve@example.com' })).status).toBe(409)
    await server.remove()
  })

  test('is one of many who try at once', async () => {
    for (const [server, length] of [
      [await bare(store), 20],
      [await withPrinted(store), 5],
    ] as const) {
      const all = await Promise.all(
        Array.from({ length }, (_, at) => post(server, { ...ME, email: `a${at}@example.com` })),
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

  test('has the fields that are required, and needs the token from elsewhere', async () => {
    const server = await bare(store, named)
    await server.context.firstAdmin.make(null)
    const elsewhere = { 'X-Forwarded-For': '203.0.113.9' }
    const { token, fields } = await offered(server, elsewhere)
    expect([token, fields.map(({ path }: { path: string }) => path)]).toEqual([true, ['name']])
    const refused = await post(server, { ...ME, name: 'Ada' }, elsewhere)
    expect(refused.body.errors).toEqual({ token: ['is required: the terminal of the server shows it'] })
    const wrong = await post(server, { ...ME, name: 'Ada', token: 'x' })
    expect(wrong.body.errors).toEqual({ token: ['is wrong: the terminal of the server shows it'] })
    const offer = await openOffer(server.context)
    const shown = offer && offerToken(server.context, offer)
    const nameless = await post(server, { ...ME, token: shown }, elsewhere)
    expect(nameless.body.errors).toEqual({ name: ['is required'] })
    const made = await post(server, { ...ME, name: 'Ada', token: shown }, elsewhere)
    expect([made.status, made.body.user.name]).toEqual([200, 'Ada'])
    await server.remove()
  })
})

describe('a request is from here', () => {
  const here = { host: 'localhost:3000' }
  for (const [headers, from] of [
    [here, true],
    [{ host: '127.0.0.1:3000', origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-origin' }, true],
    [{ host: '[::1]:3000' }, true],
    [{ host: 'rebound.example:3000' }, false],
    [{ host: 'localhost.example:3000' }, false],
    [{}, false],
    [{ ...here, origin: 'https://evil.example' }, false],
    [{ ...here, origin: 'null' }, false],
    [{ ...here, 'sec-fetch-site': 'cross-site' }, false],
    [{ ...here, 'x-forwarded-for': '203.0.113.9' }, false],
    [{ ...here, forwarded: 'for=203.0.113.9' }, false],
    [{ ...here, via: '1.1 proxy' }, false],
    [{ ...here, connection: 'close' }, false],
  ] as [Record<string, string>, boolean][])
    test(`${JSON.stringify(headers)}: ${from}`, () => {
      expect(isDirect(new Headers(headers))).toBe(from)
    })
})
