import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownTables, tablesIn } from '../../src/store/own.ts'
import { betweenStores, newDatabase, type TestDatabase } from '../harness.ts'
import { mailAfter, tokenIn } from '../mailbox.ts'
import { databaseWithOwnTables, LOGIN, root, run, runHere, serve } from './process.ts'

const config = `import { app, entity, everyone, text } from '${join(root, 'src', 'takeback.ts')}'
export default app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user' }, fields: {}, access: { create: everyone } }),
    // Fields like the columns of a login type: nothing here is about tokens.
    notes: entity({ fields: { title: text(), token_epoch: text() } }),
  },
})`
const USER = { email: 'ada@example.com', password: 'seven quiet lanterns' }
const OTHER_PASSWORD = 'nine loud lanterns at noon'

interface Reached {
  readonly status: number
  readonly body: any
}

async function reach(
  url: string,
  path: string,
  { token = '', body, method = body === undefined ? 'GET' : 'POST' }: Sending = {},
): Promise<Reached> {
  const headers = { Accept: 'application/json', 'Content-Type': 'application/json' }
  const response = await fetch(`${url}/api/${path}`, {
    method,
    headers: { ...headers, ...(token !== '' && { Authorization: `Bearer ${token}` }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

interface Sending {
  readonly token?: string
  readonly body?: object
  readonly method?: string
}

betweenStores('takeback restore', (store, other) => {
  const folder = mkdtempSync(join(tmpdir(), 'takeback-ends-'))
  const configFile = join(folder, 'takeback.config.ts')
  writeFileSync(configFile, config)
  const databases: TestDatabase[] = []
  afterAll(async () => {
    for (const database of databases) await database.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  const kept = async (database: Promise<TestDatabase>) => {
    databases.push(await database)
    return database
  }
  const serveFor = async <T>(database: TestDatabase, work: (url: string) => Promise<T>): Promise<T> => {
    const args = ['--config', configFile, '--database', database.url, '--outbox', join(folder, 'outbox')]
    const server = await serve(args)
    try {
      return await work(server.url)
    } finally {
      await server.end()
    }
  }
  const login = async (url: string, body: object = LOGIN) => {
    const { status, body: answer } = await reach(url, 'auth/login', { body })
    expect(status).toBe(200)
    return String(answer.token)
  }
  const logout = async (url: string, token: string) =>
    expect((await reach(url, 'auth/logout', { token, method: 'POST' })).status).toBe(204)

  /** Makes a backup, and then ends or uses everything in it, as in an hour that is lost. */
  const lostHour = (async () => {
    const database = await kept(databaseWithOwnTables(store, folder))
    const args = ['--config', configFile, '--database', database.url]
    await runHere(['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password, ...args])
    return serveFor(database, async (url) => {
      const outbox = join(folder, 'outbox')
      const [admin, ended, before] = [await login(url), await login(url), await login(url)]
      await logout(url, before)
      await reach(url, 'users/', { body: USER })
      const guest = { email: 'new@example.com' }
      expect((await reach(url, 'users/?invite=1', { body: guest, token: admin })).status).toBe(201)
      const invitation = tokenIn(await mailAfter(outbox, 0))
      await reach(url, 'auth/password/forgot', { body: { email: USER.email } })
      const link = tokenIn(await mailAfter(outbox, 1))
      const { body: key } = await reach(url, 'auth/keys/', { body: { name: 'Import' }, token: admin })
      const { body: gone } = await reach(url, 'auth/keys/', { body: { name: 'Gone' }, token: admin })
      await reach(url, `auth/keys/${gone.id}/`, { method: 'DELETE', token: admin })
      const file = join(folder, 'backup.db')
      expect((await run(['backup', '--to', file, '--database', database.url])).code).toBe(0)

      await logout(url, ended)
      const reset = { token: link, password: OTHER_PASSWORD }
      expect((await reach(url, 'auth/password/reset', { body: reset })).status).toBe(200)
      // A session of an epoch that the backup does not know.
      const later = await login(url, { email: USER.email, password: OTHER_PASSWORD })
      await logout(url, later)
      await reach(url, `auth/keys/${key.id}/`, { method: 'DELETE', token: admin })
      return { file, admin, tokens: [ended, before, later], invitation, link, key: String(key.key) }
    })
  })()

  const restored = async (kind: string, options: readonly string[]) => {
    const { file } = await lostHour
    const target = await kept(newDatabase(kind, mkdtempSync(join(folder, 'to-'))))
    const { code, out, err } = await run(['restore', file, '--to', target.url, ...options])
    expect([code, err]).toEqual([0, ''])
    const checked = await run(['check', '--database', target.url])
    expect([checked.code, checked.err]).toEqual([0, ''])
    return { target, said: out.slice(out.indexOf('Restored to')).split('\n').slice(1, -1) }
  }
  const statuses = (url: string, tokens: readonly string[]) =>
    Promise.all(tokens.map(async (token) => (await reach(url, 'auth/me', { token })).status))

  test('revives what has ended since, and says nothing of it', async () => {
    const { admin, tokens, link, key } = await lostHour
    const { target, said } = await restored(store, [])
    expect(said).toEqual([])
    await serveFor(target, async (url) => {
      expect(await statuses(url, [admin, ...tokens])).toEqual([200, 200, 401, 401])
      expect((await reach(url, 'notes/', { token: key })).status).toBe(200)
      const reset = { token: link, password: OTHER_PASSWORD }
      expect((await reach(url, 'auth/password/reset', { body: reset })).status).toBe(200)
    })
  })

  for (const kind of [store, other])
    test(`--end-sessions ends all sessions, tokens and links, but no keys, in ${kind}`, async () => {
      const { admin, tokens, invitation, link, key } = await lostHour
      const { target, said } = await restored(kind, ['--end-sessions'])
      expect(said).toEqual([
        'Ended all sessions (2 in the backup) and all mailed links (2 in the backup). Everyone must log in again.',
      ])
      await serveFor(target, async (url) => {
        expect(await statuses(url, [admin, ...tokens])).toEqual([401, 401, 401, 401])
        for (const token of [invitation, link]) {
          const body = { token, password: OTHER_PASSWORD }
          const { status, body: answer } = await reach(url, 'auth/password/reset', { body })
          expect([status, answer.code]).toEqual([422, 'invalid_link'])
        }
        await login(url, USER)
        const again = await login(url)
        const listed = (await reach(url, 'auth/sessions/', { token: again })).body.data
        expect(listed).toHaveLength(1)
        expect((await reach(url, 'notes/', { token: key })).status).toBe(200)
        // The invitation can be sent again.
        const invitations = (await reach(url, 'auth/invitations/', { token: again })).body.data
        expect(invitations).toMatchObject([{ user: 'users/2', expired: true }])
        const body = { user: 'users/2' }
        expect((await reach(url, 'auth/invitations/', { token: again, body })).status).toBe(200)
      })
    })

  test('--end-keys ends all keys, and no sessions', async () => {
    const { admin, key } = await lostHour
    const { target, said } = await restored(other, ['--end-keys'])
    expect(said).toEqual(['Ended all keys (1 in the backup). Programs need new ones.'])
    await serveFor(target, async (url) => {
      expect((await reach(url, 'notes/', { token: key })).status).toBe(401)
      expect(await statuses(url, [admin])).toEqual([200])
      expect((await reach(url, 'auth/keys/', { token: admin })).body.data).toEqual([])
    })
  })

  test('of the same backup twice ends what began in between', async () => {
    const first = await restored(store, ['--end-sessions'])
    const between = await serveFor(first.target, (url) => login(url))
    const second = await restored(store, ['--end-sessions'])
    expect(await serveFor(second.target, (url) => statuses(url, [between]))).toEqual([401])
  })

  test('ends all in a backup of a format that had no lists of sessions, links and keys', async () => {
    const database = await kept(newDatabase(store, mkdtempSync(join(folder, 'old-'))))
    const args = ['--config', configFile, '--database', database.url]
    await runHere(['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password, ...args])
    const token = await serveFor(database, (url) => login(url))
    const older = new Set(tablesIn(4).map(({ name }) => name))
    for (const { name } of ownTables) if (!older.has(name)) await database.query(`DROP TABLE ${name}`)
    await database.query('DROP INDEX "takeback_journal:cause"')
    await database.query(`UPDATE takeback_meta SET value = '4' WHERE key = 'format'`)
    const file = join(folder, 'old.db')
    expect(await runHere(['backup', '--to', file, '--database', database.url])).toMatchObject({ code: 0 })
    for (const options of [[], ['--end-sessions', '--end-keys']]) {
      const target = await kept(newDatabase(store, mkdtempSync(join(folder, 'to-'))))
      const { code, out, err } = await runHere(['restore', file, '--to', target.url, ...options])
      expect([code, err]).toEqual([0, ''])
      expect(out.match(/\(0 in the backup\)/g) ?? []).toHaveLength(options.length === 0 ? 0 : 3)
      const expected = options.length === 0 ? 200 : 401
      expect(await serveFor(target, (served) => statuses(served, [token]))).toEqual([expected])
    }
  })
})
