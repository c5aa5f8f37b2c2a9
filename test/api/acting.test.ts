import { expect, test } from 'bun:test'
import { app, entity, everyone, ref, text } from '../../src/takeback.ts'
import { ADMIN, eventually, expectInvalid, onEveryStore } from '../harness.ts'

const mine = 'id == me.id'
const own = 'owner.id == me.id'
const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({
      login: { userType: 'user' },
      fields: { name: text({ optional: true }) },
      access: { create: everyone, read: mine, update: mine, delete: mine, history: mine, purge: mine },
    }),
    notes: entity({
      fields: { title: text(), owner: ref('users') },
      access: {
        create: own,
        read: own,
        update: own,
        delete: own,
        restore: own,
        history: own,
        purge: own,
      },
    }),
  },
})

onEveryStore('an admin who acts as a user', declaration, (server) => {
  const logIn = async (email: string, password: string): Promise<string> =>
    (await server.call('POST', '/api/auth/login', { body: { email, password }, token: null })).body.token
  const admin = () => logIn(ADMIN.email, ADMIN.password)
  const actAs = (user: unknown, token: string) =>
    server.call('POST', '/api/auth/as/', { body: { user }, token })
  const me = (token: string) => server.call('GET', '/api/auth/me', { token })
  const setting = async (email: string) => {
    const user = await server.user('users', { email })
    const by = await admin()
    const { status, body } = await actAs(`users/${user.id}`, by)
    expect(status).toBe(200)
    return { user, by, body, token: body.token as string, name: `admins/1 as users/${user.id}` }
  }

  test('has the rights of the user, and both names are recorded', async () => {
    const { user, body, token, name } = await setting('ada@example.com')
    const minutes = (new Date(body.expires_at).getTime() - Date.now()) / 60_000
    expect(minutes).toBeGreaterThan(10)
    expect(minutes).toBeLessThanOrEqual(15)
    expect([body.user.id, body.user.acting]).toEqual([user.id, 'admins/1'])
    expect((await me(token)).body).toEqual(body.user)
    expect((await me(user.token)).body).not.toHaveProperty('acting')

    const other = await server.user('users', { email: 'other@example.com' })
    expect((await server.call('GET', `/api/users/${other.id}/`, { token })).status).toBe(404)
    expect((await server.call('GET', '/api/health/details', { token })).status).toBe(403)
    const made = await server.call('POST', '/api/notes/', {
      body: { title: 'a', owner: { id: user.id } },
      token,
    })
    expect(made.status).toBe(201)
    const history = await server.call('GET', `/api/notes/${made.body.id}/history/`, { token: user.token })
    expect(history.body.data[0].actor).toBe(name)
    const operations = await server.call('GET', `/api/operations/?actor=${encodeURIComponent(name)}`)
    expect(operations.body.data).toHaveLength(1)
    await eventually(() => server.logged.join('').includes(name))
    expect(server.logged.join('')).not.toContain(token)
  })

  test('can neither change how the user logs in, nor purge, refresh, or act as another', async () => {
    const { user, token } = await setting('eve@example.com')
    const call = (method: string, path: string, body?: object) => server.call(method, path, { body, token })
    const path = `/api/users/${user.id}/`
    const refused = [
      await call('POST', '/api/auth/password', {
        password: ADMIN.password,
        new_password: 'a longer and better password',
      }),
      await call('POST', '/api/auth/refresh'),
      await actAs('users/1', token),
    ]
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
      refused.map(() => [403, 'own_login_required']),
    )
    expectInvalid(await call('PATCH', path, { email: 'mallory@example.com' }), {
      email: ['is not yours to set'],
    })
    expectInvalid(await call('PATCH', '/api/users/?filter=true', { email: 'mallory@example.com' }), {
      email: ['is not yours to set'],
    })
    expect((await call('PATCH', path, { password: 'a longer and better password' })).status).toBe(422)
    const fresh = { email: 'new@example.com', password: 'a longer and better password' }
    expectInvalid(await call('POST', '/api/users/', fresh), { password: ['is not yours to set'] })
    expect((await call('PATCH', path, { name: 'Eve' })).status).toBe(200)

    // Nor may somebody else take back what the user has changed.
    const changed = await server.call('PATCH', path, {
      body: { email: 'eve2@example.com' },
      token: user.token,
    })
    expect(changed.status).toBe(200)
    const operation = changed.headers.get('Takeback-Operation')
    for (const undo of [`/api/operations/${operation}/undo/`, `${path}undo/`])
      expect((await call('POST', undo)).status).toBe(403)
    expect((await call('POST', `${path}revert/`, { version: 1 })).status).toBe(403)
    expect((await server.call('GET', path)).body.email).toBe('eve2@example.com')

    const note = await call('POST', '/api/notes/', { title: 'a', owner: { id: user.id } })
    const notePath = `/api/notes/${note.body.id}/`
    expect((await call('DELETE', notePath)).status).toBe(200)
    expect((await call('DELETE', `${notePath}?purge=1`)).status).toBe(403)
    const batch = await call('POST', '/api/batch/', [{ method: 'DELETE', path: `${notePath}?purge=1` }])
    expect(batch.body.code).toBe('forbidden')
    expect((await server.call('DELETE', `${notePath}?purge=1`, { token: user.token })).status).toBe(204)
  })

  test('ends with the session of the admin, with either account, and by logging out', async () => {
    const { user, by, token } = await setting('tim@example.com')
    const second = (await actAs(`users/${user.id}`, by)).body.token
    expect((await server.call('POST', '/api/auth/logout', { token: second })).status).toBe(204)
    expect((await me(second)).status).toBe(401)
    expect([(await me(token)).status, (await me(by)).status]).toEqual([200, 200])
    const ticket = await server.call('POST', '/api/auth/ticket/', { token })
    expect(ticket.status).toBe(201)
    await server.call('POST', '/api/auth/logout', { token: by })
    expect((await me(token)).status).toBe(401)
    expect((await me(user.token)).status).toBe(200)

    const temporary = await server.user('admins', { email: 'temporary@example.com' })
    const first = (await actAs(`users/${user.id}`, temporary.token)).body.token
    expect((await me(first)).body.acting).toBe(`admins/${temporary.id}`)
    await server.call('DELETE', `/api/admins/${temporary.id}/`)
    expect((await me(first)).status).toBe(401)

    const last = (await actAs(`users/${user.id}`, await admin())).body.token
    await server.call('DELETE', `/api/users/${user.id}/`)
    expect((await me(last)).status).toBe(401)
  })

  test('must be an admin, and the user must be one who is no admin', async () => {
    const { user, by } = await setting('zoe@example.com')
    expect((await actAs(`users/${user.id}`, user.token)).status).toBe(403)
    expectInvalid(await actAs('admins/1', by), { user: ['is an admin: nobody can act as an admin'] })
    expectInvalid(await actAs('users/999', by), { user: ['does not exist, or is deleted'] })
    for (const wrong of ['notes/1', 'users', 7, 'users/0', '', null])
      expectInvalid(await actAs(wrong, by), { user: ['must be a user, such as users/5'] })
    expectInvalid(await server.call('POST', '/api/auth/as/', { body: { who: 1 }, token: by }), {
      who: ['is not known here'],
      user: ['is required'],
    })
  })
})
