import { expect, test } from 'bun:test'
import type { AppDeclaration } from '../../src/declare/define.ts'
import { resolve } from '../../src/declare/resolve.ts'
import { tablesOf } from '../../src/plan/tables/schema.ts'
import { migrate } from '../../src/store/migration/migrate.ts'
import { entity, integer, ref, text } from '../../src/takeback.ts'
import { changing } from '../changing.ts'
import { things, withAdmins } from '../declarations.ts'
import { eventually, onEveryStoreByHand } from '../harness.ts'

onEveryStoreByHand('servers of several declarations', (store) => {
  const { started, entityAt, refusal } = changing(store)

  test('an older declaration is refused, unless it is meant', async () => {
    const [older, newer] = [things({ a: text() }), things({ a: text(), b: text({ optional: true }) })]
    const server = await started(older, { a: 'x' })
    await server.restart(newer, { back: false })
    const said = await refusal(server, older, { back: false })
    expect(said).toContain('This declaration is older than')
    expect(said).toContain('takeback migrate --apply')
    await server.restart(older)
    expect(await refusal(server, newer, { back: false })).toContain('This declaration is older than')
    await server.restart(older, { back: false })
    expect((await entityAt(server, 'things/1')).a).toBe('x')
  })

  test('a database of a newer Takeback is refused', async () => {
    const server = await started(things({ a: text() }))
    await server.query("UPDATE takeback_meta SET value = '99' WHERE key = 'format'")
    expect(await refusal(server, things({ a: text() }))).toContain(
      'was written by a newer Takeback (format 99',
    )
  })

  test('two that start at once: one migrates, the other waits, and both serve the same', async () => {
    const server = await started(things({ a: text() }), { a: 'x' })
    await server.stop()
    const wanted = tablesOf(resolve(things({ a: text(), b: integer({ default: 3 }) })))
    const opened = await Promise.all([1, 2, 3, 4].map(() => server.openStore()))
    const results = await Promise.all(opened.map(({ structure }) => migrate(structure, wanted)))
    await Promise.all(opened.map((one) => one.close()))
    expect(new Set(results.map(({ generation }) => generation))).toEqual(new Set([2]))
    expect(results.filter(({ migration }) => migration.changes.length > 0)).toHaveLength(1)
  })

  test('a server whose declaration is outdated answers 503, unless the change does not concern it', async () => {
    const server = await started(things({ a: text() }), { a: 'x' })
    const opened = await server.openStore()
    const bring = (declaration: AppDeclaration) => migrate(opened.structure, tablesOf(resolve(declaration)))
    const status = async () => (await server.call('GET', '/api/things/1/')).status
    await bring(things({ a: text(), b: text({ optional: true }) }))
    await Bun.sleep(1500)
    expect(await status()).toBe(200)
    await server.expect(201, 'POST', '/api/things/', { a: 'y' })
    await bring(things({ a: text({ max: 5 }), b: text({ optional: true }) }))
    await opened.close()
    await eventually(async () => (await status()) !== 200)
    const refused = await server.call('GET', '/api/things/1/')
    expect([refused.status, refused.body.code]).toEqual([503, 'outdated'])
    expect((await server.call('GET', '/api/health')).status).toBe(503)
  })

  test('a token is of the type that gave it, and not of another that has its name by now', async () => {
    const users = (more = {}) => entity({ login: { userType: 'user' }, fields: {}, ...more })
    const server = await started(withAdmins({ users: users() }))
    const { token } = await server.user('users', { email: 'old@example.com' })
    await server.restart(withAdmins({ people: users({ was: 'users' }) }))
    await server.restart(withAdmins({ people: users(), users: users({ login: { userType: 'staff' } }) }))
    await server.user('users', { email: 'new@example.com' })
    expect((await server.call('GET', '/api/auth/me', { token })).status).toBe(401)
  })

  test('a type that gets its login back must have the same e-mails as before', async () => {
    const server = await started(withAdmins({ users: entity({ login: { userType: 'user' }, fields: {} }) }))
    await server.user('users', { email: 'a@example.com' })
    await server.restart(withAdmins({ users: entity({ fields: { email: text() } }) }))
    await server.expect(200, 'PATCH', '/api/users/1/', { email: 'b@example.com' })
    expect(
      await refusal(server, withAdmins({ users: entity({ login: { userType: 'user' }, fields: {} }) })),
    ).toContain('users.email_key is made from email, which has changed in 1 user (users/1)')
  })

  test('a server that does not know a new reference or requirement stops writing', async () => {
    for (const next of [
      withAdmins({
        things: entity({ fields: { a: text() } }),
        more: entity({ fields: { of: ref('things') } }),
      }),
      things({ a: text(), b: text() }),
      things({ a: text(), c: integer({ optional: true, unique: true }) }),
    ]) {
      const server = await started(things({ a: text() }))
      const opened = await server.openStore()
      await migrate(opened.structure, tablesOf(resolve(next)))
      // Writes are refused at once: the check once a second is only for reads.
      const statuses = new Set<number>()
      for (let tries = 0; tries < 20; tries++)
        statuses.add((await server.call('POST', '/api/things/', { body: { a: 'x' } })).status)
      expect([...statuses]).toEqual([503])
      await opened.close()
    }
  })
})
