import { expect, test } from 'bun:test'
import { fromSystem } from '../../src/api/idempotency.ts'
import { undo, undoOperation } from '../../src/api/past/undo.ts'
import { Query } from '../../src/api/query.ts'
import { app, entity, everyone, ref, text } from '../../src/takeback.ts'
import { ADMIN, onEveryStore } from '../harness.ts'

/** Admins that can be deleted in every way: directly, with a company, by an undo. */
const offices = app({
  admins: 'admins',
  entities: {
    admins: entity({
      login: { userType: 'admin' },
      fields: {
        name: text({ optional: true }),
        office: ref('offices', { optional: true, onDelete: 'cascade' }),
      },
    }),
    offices: entity({ fields: { name: text() } }),
    users: entity({ login: { userType: 'user' }, fields: {}, access: { create: everyone } }),
  },
})

const PASSWORD = 'a long enough password'

onEveryStore('the last admin', offices, (server) => {
  const live = async (): Promise<number[]> => {
    const { data } = await server.expect(200, 'GET', '/api/admins/?limit=200')
    return data.map(({ id }: { id: number }) => id)
  }
  const add = (fields = {}) =>
    server.call('POST', '/api/admins/', {
      body: { email: `${crypto.randomUUID()}@example.com`, password: PASSWORD, ...fields },
    })
  const stays = async (answer: { status: number; body: any }, before: readonly number[]) => {
    expect([answer.status, answer.body?.code]).toEqual([409, 'last_admin'])
    expect(await live()).toEqual([...before])
  }

  test('cannot be deleted, on any path', async () => {
    const before = await live()
    expect(before).toHaveLength(1)
    const [id = 0] = before
    await stays(await server.call('DELETE', `/api/admins/${id}/`), before)
    await stays(
      await server.call('POST', '/api/batch/', { body: [{ method: 'DELETE', path: `/api/admins/${id}/` }] }),
      before,
    )
    const office = await server.expect(201, 'POST', '/api/offices/', { name: 'Main' })
    await server.expect(200, 'PATCH', `/api/admins/${id}/`, { office: { id: office.id } })
    await stays(await server.call('DELETE', `/api/offices/${office.id}/`), before)
    expect((await server.call('GET', `/api/offices/${office.id}/`)).status).toBe(200)
    await server.expect(200, 'PATCH', `/api/admins/${id}/`, { office: null })
    await server.expect(200, 'DELETE', `/api/offices/${office.id}/`)
  })

  test('nor by the undo of what made it, or brought it back', async () => {
    const made = await add()
    const operation = made.headers.get('Takeback-Operation') ?? ''
    const [first = 0, second = 0] = await live()
    const token = (
      await server.expect(
        200,
        'POST',
        '/api/auth/login',
        { email: made.body.email, password: PASSWORD },
        { token: null },
      )
    ).token
    await server.expect(200, 'DELETE', `/api/admins/${first}/`, undefined, { token })
    // As the command line does it, because no account can undo its own creation anyway.
    for (const name of ['', 'dry_run', 'skip_conflicts']) {
      const query = new Query(name === '' ? [] : [[name, '1']], undoOperation.takes)
      const undone = undo(server.context, fromSystem({}), operation, query)
      await expect(undone).rejects.toMatchObject({ code: 'last_admin' })
    }
    const [row] = await server.query('SELECT count(*) AS n FROM admins WHERE deleted_at IS NULL')
    expect(Number(row?.n)).toBe(1)
    await server.expect(200, 'DELETE', `/api/admins/${first}/?restore=1`, undefined, { token })
    const { body } = await server.call('POST', '/api/auth/login', { body: ADMIN, token: null })
    server.adminToken = body.token
    const restored = await server.call('DELETE', `/api/admins/${second}/`)
    expect(restored.status).toBe(200)
    expect(await live()).toEqual([first])
  })

  test('is left whatever many admins do to each other at once', async () => {
    for (let round = 0; round < 5; round++) {
      const made = await Promise.all(Array.from({ length: 5 }, () => add()))
      const ids = await live()
      expect(ids.length).toBeGreaterThan(made.length)
      const answers = await Promise.all(ids.map((id) => server.call('DELETE', `/api/admins/${id}/`)))
      const [row] = await server.query('SELECT count(*) AS n FROM admins WHERE deleted_at IS NULL')
      expect(Number(row?.n)).toBeGreaterThanOrEqual(1)
      for (const { status } of answers) expect([200, 401, 409]).toContain(status)
      // Whoever is left, the first admin is restored for the next round.
      await server.query('UPDATE admins SET deleted_at = NULL, deletion = NULL WHERE id = $1', ids[0] ?? 0)
      const { body } = await server.call('POST', '/api/auth/login', { body: ADMIN, token: null })
      server.adminToken = body.token
      for (const id of (await live()).slice(1)) await server.expect(200, 'DELETE', `/api/admins/${id}/`)
    }
  })

  test('does not stand in the way of deleting anybody else', async () => {
    const { id } = await server.user('users', { email: 'someone@example.com' })
    await server.expect(200, 'DELETE', `/api/users/${id}/`)
    const { body } = await add()
    await server.expect(200, 'DELETE', `/api/admins/${body.id}/`)
  })
})

onEveryStore('a temporary password', offices, (server) => {
  const login = (password: string) =>
    server.call('POST', '/api/auth/login', { body: { email: 'first@example.com', password }, token: null })
  const expire = () =>
    server.query(
      'UPDATE takeback_temporary_passwords SET until = $1',
      new Date(Date.now() - 1000).toISOString(),
    )
  const mark = async (id: number) => {
    const [row] = await server.query('SELECT password FROM admins WHERE id = $1', id)
    await server.context.temporary.mark('admins', id, String(row?.password))
  }

  test('says when it expires, and everything works until then', async () => {
    const { id } = await server.expect(201, 'POST', '/api/admins/', {
      email: 'first@example.com',
      password: PASSWORD,
    })
    expect((await login(PASSWORD)).body).not.toHaveProperty('password_expires_at')
    await mark(id)
    const { body } = await login(PASSWORD)
    const until = new Date(body.password_expires_at).getTime()
    expect(until - Date.now()).toBeWithin(23 * 3_600_000, 24 * 3_600_000 + 1)
    const { token } = body
    const me = await server.expect(200, 'GET', '/api/auth/me', undefined, { token })
    expect([me.password_expires_at, body.user.password_expires_at]).toEqual([
      body.password_expires_at,
      body.password_expires_at,
    ])
    await server.expect(201, 'POST', '/api/offices/', { name: 'Open' }, { token })
    expect((await server.call('GET', '/api/auth/me')).body).not.toHaveProperty('password_expires_at')
  })

  test('once it has expired, opens nothing but its own change', async () => {
    await expire()
    const { status, body } = await login(PASSWORD)
    expect([status, typeof body.token]).toEqual([200, 'string'])
    const { token } = body
    const paths = Object.entries((await server.expect(200, 'GET', '/api/openapi.json')).paths as object)
    let refused = 0
    for (const [path, methods] of paths)
      for (const method of Object.keys(methods)) {
        if (path === '/api/auth/password') continue
        const sent = ['post', 'put', 'patch'].includes(method) ? { body: {} } : {}
        const answer = await server.call(method.toUpperCase(), path.replace('{id}', '1'), {
          token,
          headers: { Accept: '*/*' },
          ...sent,
        })
        expect([method, path, answer.status, answer.body?.code]).toEqual([
          method,
          path,
          403,
          'password_change_required',
        ])
        refused++
      }
    expect(refused).toBeGreaterThan(20)
    expect((await server.call('GET', '/api/health', { token: null })).status).toBe(200)
    const changed = await server.expect(
      200,
      'POST',
      '/api/auth/password',
      { password: PASSWORD, new_password: 'a kettle of blue herons' },
      { token },
    )
    expect(changed).not.toHaveProperty('password_expires_at')
    await server.expect(200, 'GET', '/api/admins/', undefined, { token: changed.token })
    expect((await login('a kettle of blue herons')).body).not.toHaveProperty('password_expires_at')
  })
})
