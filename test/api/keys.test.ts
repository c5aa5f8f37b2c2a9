import { describe, expect, test } from 'bun:test'
import { isKeyText, KEY_PATTERN, newKey } from '../../src/account/key-text.ts'
import { budget } from '../../src/budget.ts'
import { app, entity, everyone, ref, text } from '../../src/takeback.ts'
import { ADMIN, eventually, expectInvalid, onEveryStore } from '../harness.ts'

const own = 'owner.id == me.id'
const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({
      login: { userType: 'user' },
      fields: { note: text({ optional: true }) },
      access: { create: everyone, read: 'id == me.id', update: 'id == me.id' },
    }),
    notes: entity({
      fields: { title: text(), owner: ref('users', { optional: true }) },
      access: { create: own, read: own, update: own, delete: own, restore: own, history: own },
    }),
  },
})

describe('the text of a key', () => {
  test('has a checksum: one changed character is noticed', () => {
    for (let round = 0; round < 200; round++) {
      const key = newKey()
      expect(key).toMatch(/^tb_[0-9A-Za-z]{36}$/)
      expect(KEY_PATTERN.test(`a line with ${key} in it`)).toBe(true)
      expect(isKeyText(key)).toBe(true)
      const at = 3 + (round % 36)
      const other = key[at] === 'x' ? 'y' : 'x'
      expect(isKeyText(key.slice(0, at) + other + key.slice(at + 1))).toBe(false)
    }
    for (const wrong of ['', 'tb_', 'tb_x', `${newKey()}0`, newKey().slice(0, -1), newKey().slice(3)])
      expect(isKeyText(wrong)).toBe(false)
  })

  test('is never the same', () => {
    expect(new Set(Array.from({ length: 1000 }, newKey)).size).toBe(1000)
  })
})

onEveryStore('keys', declaration, (server) => {
  let made = 0
  const newUser = () => server.user('users', { email: `user${++made}@example.com` })
  const keyFor = (token: string, body: object = {}) =>
    server.expect(201, 'POST', '/api/auth/keys/', { name: 'a program', ...body }, { token })
  const note = (token: string, id: number) =>
    server.call('POST', '/api/notes/', { body: { title: 'x', owner: { id } }, token })

  test('act in the name of their user, by a name of their own', async () => {
    const { id, token } = await newUser()
    const key = await keyFor(token, { name: 'Nightly import' })
    expect(key).toEqual({
      id: expect.any(Number),
      actor: `keys/${key.id}`,
      user: `users/${id}`,
      name: 'Nightly import',
      can: {},
      limits: {},
      agent: false,
      created_at: expect.stringMatching(/Z$/),
      expires_at: null,
      last_used_at: null,
      ended_at: null,
      key: expect.stringMatching(/^tb_/),
    })
    const wrote = await note(key.key, id)
    expect(wrote.status).toBe(201)
    expect((await note(key.key, id + 1000)).status).toBe(403)
    const operation = wrote.headers.get('takeback-operation')
    const { data } = await server.expect(200, 'GET', `/api/operations/?actor=keys%2F${key.id}`, undefined, {
      token,
    })
    expect(data.map((one: any) => [one.id, one.actor])).toEqual([[operation, key.actor]])
    const history = await server.expect(200, 'GET', `/api/notes/${wrote.body.id}/history/`, undefined, {
      token,
    })
    expect(history.data[0].actor).toBe(key.actor)
    const byQuery = await server.call('GET', `/api/notes/?token=${key.key}`, { token: null })
    expect(byQuery.status).toBe(200)
    const shown = await server.expect(200, 'GET', `/api/auth/keys/${key.id}/`, undefined, { token })
    expect(shown.done).toEqual({
      operations: 1,
      changes: 1,
      deletes: 0,
      last_operation: operation,
      last_at: expect.stringMatching(/Z$/),
    })
    const listed = () => server.expect(200, 'GET', '/api/auth/keys/', undefined, { token })
    await eventually(async () => (await listed()).data[0].last_used_at !== null)
    const { key: _, ...rest } = key
    expect((await listed()).data).toEqual([{ ...rest, last_used_at: expect.stringMatching(/Z$/) }])
    await eventually(() => server.logged.some((text) => text.includes(`"actor":"${key.actor}"`)))
  })

  test('stop working at once when they are ended, expire, or lose their user', async () => {
    const { id, token } = await newUser()
    const [ended, expiring, left] = [await keyFor(token), await keyFor(token), await keyFor(token)]
    const reads = (key: string) =>
      server.call('GET', '/api/notes/', { token: key }).then(({ status }) => status)
    for (const { key } of [ended, expiring, left]) expect(await reads(key)).toBe(200)
    const gone = await server.expect(200, 'DELETE', `/api/auth/keys/${ended.id}/`, undefined, { token })
    expect(gone.ended_at).toMatch(/Z$/)
    expect(await server.expect(200, 'DELETE', `/api/auth/keys/${ended.id}/`, undefined, { token })).toEqual(
      gone,
    )
    expect(await reads(ended.key)).toBe(401)
    expect((await server.call('PATCH', `/api/auth/keys/${ended.id}/`, { token, body: {} })).body.code).toBe(
      'key_ended',
    )
    // Each of the two is enough: the digest is gone, and the key is marked as ended.
    const digests = 'SELECT digest FROM takeback_keys WHERE id = $1'
    expect(await server.query(digests, ended.id)).toEqual([{ digest: null }])
    const late = await keyFor(token)
    await server.query(
      'UPDATE takeback_keys SET ended_at = created_at WHERE id = $1 RETURNING 1 AS n',
      late.id,
    )
    expect(await reads(late.key)).toBe(401)
    // Right before, so that the key is in the cache.
    expect(await reads(expiring.key)).toBe(200)
    await server.expect(
      200,
      'PATCH',
      `/api/auth/keys/${expiring.id}/`,
      { expires_at: '2020-01-01T00:00:00Z' },
      { token },
    )
    expect(await reads(expiring.key)).toBe(401)
    const { data } = await server.expect(200, 'GET', '/api/auth/keys/', undefined, { token })
    expect(data.map((one: any) => one.id)).toEqual([expiring.id, left.id])
    await server.expect(200, 'DELETE', `/api/users/${id}/`)
    expect(await reads(left.key)).toBe(401)
    // A deletion of the user disables the key; a restore enables it again.
    await server.expect(200, 'DELETE', `/api/users/${id}/?restore=1`)
    expect(await reads(left.key)).toBe(200)
    await server.expect(200, 'DELETE', `/api/users/${id}/`)
    await server.expect(204, 'DELETE', `/api/users/${id}/?purge=1`)
    expect(await reads(left.key)).toBe(401)
    await server.expect(404, 'GET', `/api/auth/keys/${left.id}/`)
  })

  test('are limited in number for each user', async () => {
    const { id, token } = await newUser()
    const { id: first } = await keyFor(token)
    const row = `('users', ${id}, 'x', '{}', '{}', 0, '2026-06-02T17:00:00.000Z')`
    await server.query(
      `INSERT INTO takeback_keys (entity, entity_id, name, can, limits, agent, created_at) VALUES ${Array(budget.keysPerUser - 1).fill(row)} RETURNING 1 AS n`,
    )
    const more = () => server.call('POST', '/api/auth/keys/', { body: { name: 'x' }, token })
    expectInvalid(await more(), { name: ['is one key too many: a user can have at most 100'] })
    await server.expect(200, 'DELETE', `/api/auth/keys/${first}/`, undefined, { token })
    expect((await more()).status).toBe(201)
  })

  test('are for their owner and for admins, who make them for anybody', async () => {
    const [first, second] = [await newUser(), await newUser()]
    const key = await server.expect(201, 'POST', '/api/auth/keys/', { name: 'x', user: `users/${first.id}` })
    expect((await note(key.key, first.id)).status).toBe(201)
    const path = `/api/auth/keys/${key.id}/`
    for (const method of ['GET', 'DELETE'])
      await server.expect(404, method, path, undefined, { token: second.token })
    await server.expect(404, 'PATCH', path, { name: 'mine' }, { token: second.token })
    const user = `users/${first.id}`
    await server.expect(403, 'POST', '/api/auth/keys/', { name: 'x', user }, { token: second.token })
    await server.expect(403, 'GET', `/api/auth/keys/?user=${user}`, undefined, { token: second.token })
    for (const token of [first.token, server.adminToken]) {
      const { data } = await server.expect(200, 'GET', `/api/auth/keys/?user=${user}`, undefined, { token })
      expect(data.map((one: any) => one.id)).toEqual([key.id])
    }
    expectInvalid(
      await server.call('POST', '/api/auth/keys/', { body: { name: 'x', user: 'users/99999' } }),
      {
        user: ['refers to nothing'],
      },
    )
    const all = await server.expect(200, 'GET', '/api/auth/keys/?everybody=1&limit=200')
    expect(all.data.map((one: any) => one.id)).toContain(key.id)
    await server.expect(403, 'GET', '/api/auth/keys/?everybody=1', undefined, { token: first.token })
    await server.expect(422, 'GET', `/api/auth/keys/?everybody=1&user=${user}`)
    await server.expect(401, 'GET', '/api/auth/keys/', undefined, { token: null })
  })

  test('are listed page by page', async () => {
    const { token, id } = await newUser()
    for (let at = 0; at < 22; at++) await keyFor(token)
    const idsOf = ({ data }: any): number[] => data.map((one: any) => one.id)
    const get = (query: string, as = token) =>
      server.expect(200, 'GET', `/api/auth/keys/?${query}`, undefined, { token: as })
    const first = await get('')
    expect([first.data.length, first.next]).toEqual([20, String(first.data.at(-1).id)])
    const rest = await get(`cursor=${first.next}`)
    expect([rest.data.length, rest.next]).toEqual([2, null])
    const own = [...idsOf(first), ...idsOf(rest)]
    expect(idsOf(await get('limit=200'))).toEqual(own)
    for (const asked of [`user=users/${id}`, 'everybody=1']) {
      const all: number[] = []
      let next: string | null = ''
      while (next !== null) {
        const page: any = await get(`${asked}&limit=7${next && `&cursor=${next}`}`, server.adminToken)
        expect(page.data.length).toBeLessThanOrEqual(7)
        all.push(...idsOf(page))
        next = page.next
      }
      expect(all.filter((one) => own.includes(one))).toEqual(own)
      expect(new Set(all).size).toBe(all.length)
    }
    for (const [query, at] of [
      ['limit=201', 'limit'],
      ['limit=0', 'limit'],
      ['cursor=x', 'cursor'],
      ['cursor=', 'cursor'],
      ['cursor=99999999999999999', 'cursor'],
    ] as const)
      expect(
        Object.keys((await server.call('GET', `/api/auth/keys/?${query}`, { token })).body.errors),
      ).toEqual([at])
  })

  test('cannot be used for accounts, and make no keys', async () => {
    const { token } = await newUser()
    const { key, id } = await keyFor(token)
    const calls: readonly (readonly [string, string, object?])[] = [
      ['POST', '/api/auth/keys/', { name: 'another' }],
      ['GET', '/api/auth/keys/'],
      ['GET', `/api/auth/keys/${id}/`],
      ['PATCH', `/api/auth/keys/${id}/`, { can: {} }],
      ['DELETE', `/api/auth/keys/${id}/`],
      ['POST', '/api/auth/refresh'],
      ['POST', '/api/auth/logout'],
      ['POST', '/api/auth/password', { password: ADMIN.password, new_password: 'another long password' }],
      ['POST', '/api/auth/ticket/'],
    ]
    for (const [method, path, body] of calls) {
      const { status, body: answer } = await server.call(method, path, { token: key, body })
      expect([method, path, status, answer.code]).toEqual([method, path, 403, 'own_login_required'])
    }
  })

  test('survive a change of password, unless they are to end', async () => {
    const { id, token } = await newUser()
    const { key } = await keyFor(token)
    const change = (body: object, by: string) =>
      server.call('POST', '/api/auth/password', { body: { password: ADMIN.password, ...body }, token: by })
    expectInvalid(await change({ new_password: 'a better long password', keys: 'yes' }, token), {
      keys: ['must be keep or end'],
    })
    const first = await change({ new_password: 'a better long password' }, token)
    expect(first.status).toBe(200)
    expect((await note(key, id)).status).toBe(201)
    const second = await change(
      { password: 'a better long password', new_password: 'the best long password', keys: 'end' },
      first.body.token,
    )
    expect(second.status).toBe(200)
    expect((await note(key, id)).status).toBe(401)
  })

  test('are ended together with what they have done, as one operation', async () => {
    const { id, token } = await newUser()
    const { id: number, key } = await keyFor(token)
    const send = (method: string, path: string, by: string, body?: object) =>
      server.call(method, path, { token: by, ...(body && { body }) })
    const own = (await note(token, id)).body
    const path = `/api/notes/${own.id}/`
    await send('PATCH', path, key, { title: 'before' })
    // `since` includes the whole millisecond, so later changes must be in another one.
    await Bun.sleep(2)
    const { body: later } = await send('POST', '/api/notes/', key, { title: 'later', owner: { id } })
    await send('PATCH', path, key, { title: 'by the key' })
    const end = (query: string) => send('DELETE', `/api/auth/keys/${number}/${query}`, token)
    expectInvalid(await end('?since=2020-01-01T00:00:00Z&plan=x'), {
      plan: ['needs undo=1'],
      since: ['needs undo=1'],
    })
    const since = `?undo=1&since=${later.created_at}`
    const shown = await end(`${since}&dry_run=1`)
    expect(shown.body.changes.map((one: any) => [one.id, one.kind])).toEqual([
      [own.id, 'update'],
      [later.id, 'delete'],
    ] as const)
    // Somebody has changed the same field since: nothing happens, and the key still works.
    await send('PATCH', path, token, { title: 'by hand' })
    expect((await end(`${since}&plan=${shown.body.plan}`)).status).toBe(412)
    expect((await end(since)).body.code).toBe('cannot_undo')
    expect((await send('GET', path, key)).status).toBe(200)
    await send('PATCH', path, token, { title: 'by the key' })
    const again = (await end(`${since}&dry_run=1`)).body
    const done = await end(`${since}&plan=${again.plan}`)
    expect([done.status, done.body.undone, done.body.total]).toEqual([200, 2, 2])
    expect((await send('GET', path, key)).status).toBe(401)
    expect((await send('GET', path, token)).body.title).toBe('before')
    expect((await send('GET', `/api/notes/${later.id}/`, token)).status).toBe(404)
    const { ended_at: ended } = (await send('GET', `/api/auth/keys/${number}/`, token)).body
    expect(ended).toMatch(/Z$/)
    // An ended key is not ended again, but the rest of its work can still be taken back.
    expect((await end('?undo=1')).body.undone).toBe(3)
    expect((await send('GET', path, token)).body.title).toBe('x')
    expect((await end('')).body.ended_at).toBe(ended)
  })

  test('with wrong terms are refused, each with what would be right', async () => {
    const { token } = await newUser()
    const refused = async (body: object, errors: Record<string, string[]>) =>
      expectInvalid(
        await server.call('POST', '/api/auth/keys/', { body: { name: 'x', ...body }, token }),
        errors,
      )
    await refused({ name: null }, { name: ['is required'] })
    await refused(
      { expires_at: '2020-01-01T00:00:00Z' },
      { expires_at: ['must be in the future: the key would never work'] },
    )
    await refused(
      { name: 'two\nlines', expires_at: 'soon', agent: 1, colour: 'red' },
      {
        colour: ['is not known here: there are name, expires_at, can, limits, agent, user, password'],
        name: ['must be a text of 1 to 100 characters, in one line'],
        agent: ['must be true or false'],
        expires_at: ['must be a time with a zone, such as 2026-12-31T18:00:00Z'],
      },
    )
    await refused(
      { can: { entities: { note: ['read'], notes: ['reed', 'update'] }, readonly: true } },
      {
        'can.readonly': ['is not known here; did you mean "read_only"?'],
        'can.entities.note': ['is not known here; did you mean "notes"?'],
        'can.entities.notes': [
          '"reed" is not an action; did you mean "read"?',
          'must include read: without it, only create is possible',
        ],
      },
    )
    await refused(
      { limits: { changes_per_hour: -1, deletes_per_day: 1.5, changes_per_week: 1 } },
      {
        'limits.changes_per_week': ['is not known here; did you mean "changes_per_hour"?'],
        'limits.changes_per_hour': ['must be a whole number from 0 to 1000000'],
        'limits.deletes_per_day': ['must be a whole number from 0 to 1000000'],
      },
    )
    for (const wrong of ['tb_', newKey(), `${newKey()}x`, 'tb_000000000000000000000000000000000000'])
      expect((await server.call('GET', '/api/notes/', { token: wrong })).status).toBe(401)
  })

  test('are kept as digests: no log, table, error or kept answer has one', async () => {
    const { id, token } = await newUser()
    const { key } = await keyFor(token)
    const headers = { 'Idempotency-Key': `k-${key.slice(-8)}` }
    await server.call('POST', '/api/notes/', { body: { title: 'x', owner: { id } }, token: key, headers })
    await server.call('POST', '/api/notes/', { body: { title: 1 }, token: key })
    await server.call('GET', `/api/notes/?token=${key}&filter=${key}`, { token: null })
    await server.call('GET', `/api/notes/${key}/`, { token: key })
    await eventually(() => server.logged.some((text) => text.includes('"/api/notes/…/"')))
    const dump = JSON.stringify(
      await Promise.all(
        ['takeback_keys', 'takeback_journal', 'takeback_answers'].map((table) =>
          server.query(`SELECT * FROM "${table}"`),
        ),
      ),
    )
    expect(dump).toContain('a program')
    expect(dump).not.toContain(key)
    expect(server.logged.join('\n')).not.toContain(key)
  })
})
