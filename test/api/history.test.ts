import { expect, test } from 'bun:test'
import { entity, everyone, integer, list, object, ref, signedIn, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

const declaration = withAdmins({
  users: entity({
    login: { userType: 'user' },
    fields: { name: text({ optional: true }) },
    access: { create: everyone },
  }),
  rooms: entity({ fields: { title: text() } }),
  notes: entity({
    fields: {
      text: text(),
      stars: integer({ default: 0 }),
      tags: list(text(), { optional: true }),
      room: ref('rooms', { optional: true, onDelete: 'clear' }),
      place: object(
        { city: text({ optional: true }), room: ref('rooms', { optional: true }) },
        { optional: true },
      ),
    },
    access: { create: signedIn, read: signedIn, update: signedIn, delete: signedIn, history: signedIn },
  }),
  secrets: entity({ fields: { a: text() }, access: { read: signedIn } }),
})

onEveryStore('history', declaration, (server) => {
  const note = async (body: object): Promise<any> => server.expect(201, 'POST', '/api/notes/', body)
  const historyOf = async (id: number, query = ''): Promise<any> =>
    server.expect(200, 'GET', `/api/notes/${id}/history/${query}`)

  test('every change, newest first: who, when, by which operation, what from what to what', async () => {
    const { id: room } = await server.expect(201, 'POST', '/api/rooms/', { title: 'r' })
    const made = await server.call('POST', '/api/notes/', { body: { text: 'a', room: { id: room } } })
    const { id } = made.body
    const { id: user, token } = await server.user('users', { email: 'who@example.com' })
    const patched = await server.call('PATCH', `/api/notes/${id}/`, {
      body: { text: 'b', tags: ['x'], place: { city: 'Bonn', room: { id: room } } },
      token,
    })
    await server.expect(200, 'PATCH', `/api/notes/${id}/`, { place: {}, stars: 0 })
    await server.expect(200, 'PATCH', `/api/notes/${id}/`, { place: null })
    await server.expect(200, 'DELETE', `/api/notes/${id}/`)
    await server.expect(200, 'DELETE', `/api/notes/${id}/?restore=1`)
    const { data, next } = await historyOf(id)
    expect(next).toBeNull()
    expect(data.map(({ version, kind }: any) => [version, kind])).toEqual([
      [6, 'restore'],
      [5, 'delete'],
      [4, 'update'],
      [3, 'update'],
      [2, 'update'],
      [1, 'create'],
    ])
    expect(data[5]).toMatchObject({
      at: made.body.created_at,
      actor: 'admins/1',
      operation: made.headers.get('Takeback-Operation'),
      changed: {
        text: { from: null, to: 'a' },
        stars: { from: null, to: 0 },
        'room.id': { from: null, to: room },
      },
    })
    expect(Object.keys(data[5].changed)).toHaveLength(3)
    expect(data[4]).toEqual({
      version: 2,
      kind: 'update',
      at: patched.body.updated_at,
      actor: `users/${user}`,
      operation: patched.headers.get('Takeback-Operation'),
      changed: {
        text: { from: 'a', to: 'b' },
        tags: { from: null, to: ['x'] },
        'place.city': { from: null, to: 'Bonn' },
        'place.room.id': { from: null, to: room },
      },
    })
    expect(data[3].changed).toEqual({})
    expect(data[2].changed).toEqual({
      'place.city': { from: 'Bonn', to: null },
      'place.room.id': { from: room, to: null },
    })
    expect(data[1].changed).toEqual({ deleted_at: { from: null, to: data[1].at } })
    expect(data[0].changed).toEqual({ deleted_at: { from: data[1].at, to: null } })
  })

  test('comes in pages', async () => {
    const { id } = await note({ text: '0' })
    for (let n = 1; n <= 6; n++) await server.expect(200, 'PATCH', `/api/notes/${id}/`, { text: `${n}` })
    const seen: any[] = []
    let cursor = ''
    for (let page = 0; page < 10 && cursor !== 'end'; page++) {
      const { data, next } = await historyOf(id, `?limit=3${cursor}`)
      seen.push(...data)
      cursor = next === null ? 'end' : `&cursor=${next}`
    }
    expect(seen.map(({ version }) => version)).toEqual([7, 6, 5, 4, 3, 2, 1])
    expect(seen.map(({ changed }) => changed.text.from)).toEqual(['5', '4', '3', '2', '1', '0', null])
    const other = await note({ text: 'other' })
    const { next } = await historyOf(id, '?limit=3')
    for (const path of [`?cursor=x`, `?cursor=`, '?limit=0', '?at=1'])
      expect((await server.call('GET', `/api/notes/${id}/history/${path}`)).status).toBe(422)
    expect((await server.call('GET', `/api/notes/${other.id}/history/?cursor=${next}`)).status).toBe(422)
  })

  test('follows the rules: of what is hidden, deleted or purged', async () => {
    const { token } = await server.user('users', { email: 'rules@example.com' })
    const { id } = await note({ text: 'x' })
    const status = async (path: string, who: string | null) =>
      (await server.call('GET', path, { token: who })).status
    const path = `/api/notes/${id}/history`
    expect(await status(path, token)).toBe(200)
    expect(await status(path, null)).toBe(401)
    expect(await status('/api/notes/999/history', token)).toBe(404)
    const { id: secret } = await server.expect(201, 'POST', '/api/secrets/', { a: 'x' })
    expect(await status(`/api/secrets/${secret}/history/`, token)).toBe(403)
    expect(await status(`/api/rooms/1/history/`, token)).toBe(404)
    await server.expect(200, 'DELETE', `/api/notes/${id}/`)
    expect([await status(path, token), await status(path, server.adminToken)]).toEqual([404, 200])
    await server.expect(204, 'DELETE', `/api/notes/${id}/?purge=1`)
    expect(await status(path, token)).toBe(404)
    const { data } = await historyOf(id)
    expect(data.map(({ kind, changed }: any) => [kind, changed])).toEqual([
      ['purge', null],
      ['delete', null],
      ['create', null],
    ])
  })
})

onEveryStore('reads as of a time', declaration, (server) => {
  const tick = () => Bun.sleep(3)
  const now = async () => {
    await tick()
    const time = new Date().toISOString()
    await tick()
    return time
  }

  test('one Entity and lists show what was live then, as it stood then', async () => {
    const before = await now()
    const ids: number[] = []
    for (const text of ['a', 'b', 'c', 'd'])
      ids.push(
        (await server.expect(201, 'POST', '/api/notes/', { text, stars: ids.length, tags: [text] })).id,
      )
    const first = await now()
    await server.expect(200, 'PATCH', `/api/notes/${ids[0]}/`, { text: 'changed', stars: 9 })
    await server.expect(200, 'DELETE', `/api/notes/${ids[1]}/`)
    const second = await now()
    await server.expect(200, 'DELETE', `/api/notes/${ids[1]}/?restore=1`)
    await server.expect(200, 'DELETE', `/api/notes/${ids[2]}/`)
    await server.expect(201, 'POST', '/api/notes/', { text: 'e' })

    const listed = async (at: string, query = '') =>
      (await server.expect(200, 'GET', `/api/notes/?at=${at}${query}`)).data.map((one: any) => [
        one.text,
        one.stars,
      ])
    expect(await listed(before)).toEqual([])
    const then = [
      ['a', 0],
      ['b', 1],
      ['c', 2],
      ['d', 3],
    ]
    expect(await listed(first)).toEqual(then)
    expect(await listed(first, '&sort=-stars')).toEqual([...then].reverse())
    expect(await listed(first, '&stars=2')).toEqual([['c', 2]])
    expect(await listed(second)).toEqual([
      ['changed', 9],
      ['c', 2],
      ['d', 3],
    ])
    expect(await listed(second, '&trashed=only')).toEqual([['b', 1]])
    expect((await server.expect(200, 'GET', `/api/notes/?at=${second}&count=1&limit=1`)).total).toBe(3)
    const page = await server.expect(200, 'GET', `/api/notes/?at=${first}&sort=-text&limit=2`)
    const rest = await server.expect(
      200,
      'GET',
      `/api/notes/?at=${first}&sort=-text&limit=2&cursor=${page.next}`,
    )
    expect([...page.data, ...rest.data].map(({ text }: any) => text)).toEqual(['d', 'c', 'b', 'a'])
    expect(rest.next).toBeNull()

    const one = (id: number, at: string) => server.call('GET', `/api/notes/${id}/?at=${at}`)
    expect((await one(ids[0] ?? 0, first)).body).toMatchObject({
      text: 'a',
      stars: 0,
      tags: ['a'],
      version: 1,
    })
    expect((await one(ids[0] ?? 0, second)).body).toMatchObject({
      text: 'changed',
      version: 2,
      deleted_at: null,
    })
    expect((await one(ids[1] ?? 0, second)).status).toBe(404)
    expect((await one(ids[0] ?? 0, before)).status).toBe(404)
    expect((await one(ids[0] ?? 0, 'yesterday')).body.errors).toHaveProperty('at')
    expect((await server.call('GET', `/api/notes/${ids[0]}/?at=${first}&fields=text`)).body).toEqual({
      text: 'a',
    })
  })

  test('sorts texts by their bytes, as now', async () => {
    for (const text of ['ä', 'Z', 'a']) await server.expect(201, 'POST', '/api/notes/', { text, stars: 77 })
    const at = await now()
    const sorted = async (query: string) =>
      (await server.expect(200, 'GET', `/api/notes/?stars=77&sort=text${query}`)).data.map(
        ({ text }: any) => text,
      )
    expect(await sorted(`&at=${at}`)).toEqual(['Z', 'a', 'ä'])
    expect(await sorted('')).toEqual(['Z', 'a', 'ä'])
  })

  test('is for those who may see the history', async () => {
    const { token } = await server.user('users', { email: 'past@example.com' })
    const { id } = await server.expect(201, 'POST', '/api/secrets/', { a: 'x' })
    const at = await now()
    for (const [path, status] of [
      [`/api/secrets/?at=${at}`, 403],
      [`/api/secrets/${id}/?at=${at}`, 403],
      [`/api/secrets/${id}/`, 200],
    ] as const)
      expect((await server.call('GET', path, { token })).status).toBe(status)
  })
})
