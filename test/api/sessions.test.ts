import { expect, test } from 'bun:test'
import { retentionWork } from '../../src/api/past/retention.ts'
import { budget } from '../../src/budget.ts'
import { bookings } from '../declarations.ts'
import { ADMIN, eventually, expectInvalid, onEveryStore } from '../harness.ts'
import { jobOn } from '../work.ts'

const PHONE = { 'User-Agent': 'A phone' }

onEveryStore('sessions', bookings, (server) => {
  const login = async (email: string, headers: Record<string, string> = PHONE) =>
    (
      await server.expect(
        200,
        'POST',
        '/api/auth/login',
        { email, password: ADMIN.password },
        { token: null, headers },
      )
    ).token as string
  const list = async (token: string, query = '') =>
    (await server.expect(200, 'GET', `/api/auth/sessions/${query}`, undefined, { token })).data as any[]
  const end = (token: string, path: string) => server.call('DELETE', `/api/auth/sessions/${path}`, { token })
  const isAlive = async (token: string) =>
    (await server.call('GET', '/api/auth/me', { token })).status === 200

  test('are listed with where they started, and end one by one, at once', async () => {
    await server.member('users', { email: 'ada@example.com', name: 'Ada' })
    const [phone, desk] = [
      await login('ada@example.com'),
      await login('ada@example.com', { 'User-Agent': 'A desk' }),
    ]
    const listed = await list(desk)
    expect(listed).toEqual([
      {
        id: expect.stringMatching(/^[\w-]{22}$/),
        current: true,
        how: 'password',
        started_at: expect.stringMatching(/Z$/),
        seen_at: expect.stringMatching(/Z$/),
        expires_at: expect.stringMatching(/Z$/),
        address: '127.0.0.1',
        user_agent: 'A desk',
      },
      expect.objectContaining({ current: false, user_agent: 'A phone' }),
    ])
    const stream = await fetch(`${server.url}/api/changes/`, {
      headers: { Accept: 'text/event-stream', Authorization: `Bearer ${phone}` },
    })
    const [{ id: current }, { id: other }] = listed as [{ id: string }, { id: string }]
    expect((await end(desk, `${other}/`)).status).toBe(204)
    expect([await isAlive(phone), await isAlive(desk)]).toEqual([false, true])
    expect((await server.call('POST', '/api/auth/refresh', { token: phone })).status).toBe(401)
    expect((await list(desk)).map(({ id }) => id)).toEqual([current])
    // A stream of that session ends at the next event.
    await server.expect(201, 'POST', '/api/rooms/', { title: 'Loft', beds: 2 })
    expect(await stream.text()).not.toContain('Loft')
    for (const gone of [other, 'nonsense', '%00'])
      expect([gone, (await end(desk, `${gone}/`)).status]).toEqual([gone, 404])
    expect((await end(desk, `${current}/`)).status).toBe(204)
    expect(await isAlive(desk)).toBe(false)
  })

  test('end together, but for the one that asks', async () => {
    await server.member('users', { email: 'bea@example.com', name: 'Bea' })
    const [first, second, third] = [
      await login('bea@example.com'),
      await login('bea@example.com'),
      await login('bea@example.com'),
    ]
    expectInvalid(await end(first, ''), { others: ['must be 1: it ends all other sessions'] })
    expectInvalid(await end(first, '?others=maybe'), { others: ['must be 1 or 0'] })
    expect((await end(first, '?others=1')).status).toBe(204)
    expect([await isAlive(first), await isAlive(second), await isAlive(third)]).toEqual([true, false, false])
    expect((await list(first)).map(({ current }) => current)).toEqual([true])
  })

  test('of somebody else are for admins', async () => {
    const id = await server.member('users', { email: 'cem@example.com', name: 'Cem' })
    const [one, two] = [await login('cem@example.com'), await login('cem@example.com')]
    const eve = await server.user('users', { email: 'eve@example.com', name: 'Eve' })
    const of = `?user=users/${id}`
    const [{ id: session }] = (await list(one)) as [{ id: string }]
    expect((await end(eve.token, `${session}/`)).status).toBe(404)
    for (const path of [of, `${of}&others=1`, `${session}/${of}`])
      expect([path, (await end(eve.token, path)).status]).toEqual([path, 403])
    expect((await server.call('GET', `/api/auth/sessions/${of}`, { token: eve.token })).status).toBe(403)
    expect((await list(eve.token, `?user=users/${eve.id}`)).length).toBe(1)
    const listed = await list(server.adminToken, of)
    expect(listed.map(({ current }) => current)).toEqual([false, false])
    expect((await end(server.adminToken, `${listed[0].id}/${of}`)).status).toBe(204)
    expect([await isAlive(one), await isAlive(two)]).toEqual([true, false])
    expect((await end(server.adminToken, `?others=1&user=users/${id}`)).status).toBe(204)
    expect([await isAlive(one), await isAlive(server.adminToken)]).toEqual([false, true])
    expect((await server.call('GET', '/api/auth/sessions/?user=users/999')).status).toBe(404)
    expectInvalid(await server.call('GET', '/api/auth/sessions/?user=rooms/1'), {
      user: ['"rooms" is not a login type'],
    })
    expectInvalid(await server.call('GET', '/api/auth/sessions/?user=5'), {
      user: ['must be a user, such as users/3'],
    })
  })

  test('leave the list when they are over', async () => {
    const id = await server.member('users', { email: 'dan@example.com', name: 'Dan' })
    const rows = () =>
      server.query('SELECT session FROM takeback_sessions WHERE entity = $1 AND entity_id = $2', 'users', id)
    const first = await login('dan@example.com')
    await login('dan@example.com')
    await server.expect(204, 'POST', '/api/auth/logout', undefined, { token: first })
    expect((await rows()).length).toBe(1)
    const change = { password: ADMIN.password, new_password: 'a longer and better password' }
    const second = await login('dan@example.com')
    const changed = await server.expect(200, 'POST', '/api/auth/password', change, { token: second })
    expect((await list(changed.token)).map(({ current }) => current)).toEqual([true])
    expect((await rows()).length).toBe(1)
    const renewed = await server.expect(200, 'POST', '/api/auth/refresh', undefined, {
      token: changed.token,
      headers: { 'User-Agent': 'A newer phone' },
    })
    expect(await list(renewed.token)).toEqual([
      expect.objectContaining({ current: true, user_agent: 'A newer phone', expires_at: renewed.expires_at }),
    ])
    // If an admin sets the password, the rows stay for a while, but the list is empty at once.
    await server.expect(200, 'PATCH', `/api/users/${id}/`, { password: ADMIN.password })
    expect(await list(server.adminToken, `?user=users/${id}`)).toEqual([])
    await server.query("UPDATE takeback_sessions SET until = '2001-01-01T00:00:00.000Z' RETURNING 1 AS n")
    await retentionWork(server.context).run(jobOn(server.context.store))
    expect(await rows()).toEqual([])
    await login('dan@example.com')
    await server.expect(200, 'DELETE', `/api/users/${id}/`)
    await server.expect(204, 'DELETE', `/api/users/${id}/?purge=1`)
    expect(await rows()).toEqual([])
  })

  test('without a row go on, and get one with their next token', async () => {
    const { token } = await server.user('users', { email: 'fay@example.com', name: 'Fay' })
    await server.query('DELETE FROM takeback_sessions RETURNING 1 AS n')
    expect(await list(token)).toEqual([])
    const next = await server.expect(200, 'POST', '/api/auth/refresh', undefined, { token })
    expect((await list(next.token)).map(({ current, how }) => [current, how])).toEqual([[true, 'password']])
  })

  test('tell when they were last seen, without a write for each request', async () => {
    const { token } = await server.user('users', { email: 'gil@example.com', name: 'Gil' })
    const old = new Date(Date.now() - 2 * budget.seenMinutes * 60_000).toISOString()
    const seen = async () => (await list(token))[0]?.seen_at as string
    const before = await seen()
    await server.query('UPDATE takeback_sessions SET seen_at = $1 RETURNING 1 AS n', old)
    // This instance has stored it a moment ago, so it does not do so again.
    expect(await seen()).toBe(old)
    await server.restart()
    await eventually(async () => (await seen()) >= before)
  })

  test('keep only short and printable names of browsers', async () => {
    await server.member('users', { email: 'hal@example.com', name: 'Hal' })
    const long = await login('hal@example.com', { 'User-Agent': `A\tbrowser ${'x'.repeat(1000)}` })
    const [{ user_agent: agent }] = (await list(long)) as [{ user_agent: string }]
    expect(agent).toStartWith('A browser xxx')
    expect(agent.length).toBe(budget.agentCharacters)
  })
})
