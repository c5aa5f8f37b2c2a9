import { beforeAll, expect, test } from 'bun:test'
import type { AppDeclaration } from '../../src/declare/define.ts'
import { boolean, entity, everyone, integer, list, ref, signedIn, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

const some = { optional: true } as const

/** What a caller sees of a note depends on the rules, the caller, the caller's own Entity and other Entities. */
function declared(wide: boolean): AppDeclaration {
  return withAdmins({
    users: entity({
      login: { userType: 'user' },
      fields: { level: integer({ default: 0 }) },
      access: { read: everyone, update: 'id == me.id' },
    }),
    rooms: entity({
      fields: { title: text(), open: boolean({ default: true }) },
      access: { read: wide ? everyone : 'open' },
    }),
    notes: entity({
      fields: {
        title: text(),
        owner: ref('users', some),
        room: ref('rooms', { ...some, as: 'notes' }),
        also: list(ref('rooms'), { default: [] }),
        price: integer({ ...some, read: wide ? everyone : 'owner.id == me.id' }),
        hint: text({ ...some, read: 'me.level > 3' }),
        place: text({ ...some, read: 'room.open' }),
      },
      access: { read: everyone, update: signedIn, delete: signedIn, restore: signedIn, history: everyone },
    }),
  })
}

onEveryStore('ETags', declared(false), (server) => {
  let ann = { id: 0, token: '' }
  let bob = { id: 0, token: '' }
  const path = '/api/notes/1/'

  beforeAll(async () => {
    ann = await server.user('users', { email: 'ann@example.com' })
    bob = await server.user('users', { email: 'bob@example.com' })
    await server.expect(201, 'POST', '/api/rooms/', [{ title: 'a' }, { title: 'b' }])
    await server.expect(201, 'POST', '/api/notes/', {
      ...{ title: 'n', owner: { id: ann.id }, room: { id: 1 }, also: [{ id: 1 }, { id: 2 }] },
      ...{ price: 7, hint: 'h', place: 'p' },
    })
  })

  const ways = ['', '?fields=id,title', '?fields=price', '?expand=room', '?expand=room,also&fields=title']
  const readers = () => [server.adminToken, ann.token, bob.token, null]

  /** Reads it in every way, as every caller. */
  async function looks(): Promise<{ way: string; token: string | null; tag: string; text: string }[]> {
    const found = []
    for (const token of readers())
      for (const query of ways) {
        const way = path + query
        const { status, headers, text } = await server.call('GET', way, { token })
        // A caller without a token cannot even ask for a field that they never see.
        expect([200, token === null ? 422 : 200]).toContain(status)
        if (status === 200) found.push({ way, token, tag: headers.get('ETag') ?? '', text })
      }
    return found
  }

  test('change whenever what the caller sees changes, or the version, and only then', async () => {
    const changes: (() => Promise<unknown>)[] = [
      async () => undefined,
      () => server.expect(200, 'PATCH', path, { title: 'm' }),
      () => server.expect(200, 'PATCH', `/api/users/${bob.id}/`, { level: 9 }, { token: bob.token }),
      () => server.expect(200, 'PATCH', '/api/rooms/2/', { title: 'c' }),
      () => server.expect(200, 'PATCH', '/api/rooms/1/', { open: false }),
      () => server.restart(declared(true)),
      () => server.restart(declared(false)),
      () => server.expect(200, 'PATCH', path, { owner: { id: bob.id } }),
    ]
    let hidden = 0
    for (const change of changes) {
      const before = await looks()
      const { version } = await server.expect(200, 'GET', path)
      await change()
      const isVersion = (await server.expect(200, 'GET', path)).version === version
      for (const { way, token, tag, text } of before) {
        const now = await server.call('GET', way, { token })
        const isSame = now.text === text && isVersion
        expect([way, now.headers.get('ETag') === tag]).toEqual([way, isSame])
        if (now.text !== text && isVersion) hidden++
        const asked = await server.call('GET', way, { token, headers: { 'If-None-Match': tag } })
        expect([way, asked.status, asked.text]).toEqual(isSame ? [way, 304, ''] : [way, now.status, now.text])
      }
    }
    // Otherwise, the version alone would be enough as a tag.
    expect(hidden).toBeGreaterThan(10)
  })

  test('of a write are those of the read behind it', async () => {
    for (const token of [server.adminToken, ann.token])
      for (const [method, query, body] of [
        ['PATCH', '', { title: 'w' }],
        ['PATCH', '', {}],
        ['PUT', '', { title: 'v', owner: { id: ann.id }, room: { id: 1 } }],
        ['DELETE', '?restore=1', undefined],
      ] as const) {
        const written = await server.call(method, path + query, { token, body })
        const read = await server.call('GET', path, { token })
        expect([method, written.status, written.headers.get('ETag')]).toEqual([
          method,
          200,
          read.headers.get('ETag'),
        ])
      }
    await server.expect(200, 'DELETE', path)
    await server.expect(200, 'DELETE', `${path}?restore=1`)
    const { results } = await server.expect(200, 'POST', '/api/batch/', [
      { method: 'PATCH', path, body: { title: 'x' } },
    ])
    expect(results[0].etag).toBe((await server.call('GET', path)).headers.get('ETag'))
  })

  test('and versions alone are what If-Match takes', async () => {
    const write = (tag: string) =>
      server.call('PATCH', path, { body: { title: tag }, headers: { 'If-Match': tag } })
    for (const query of ways) {
      const read = await server.call('GET', path + query)
      const stale = read.headers.get('ETag') ?? ''
      expect((await write(stale)).status).toBe(200)
      expect((await write(stale)).status).toBe(412)
    }
    const { version } = await server.expect(200, 'GET', path)
    expect((await write(`"${version}"`)).status).toBe(200)
    expect((await write(`"${version}"`)).status).toBe(412)
    expect((await write(`"9999", "${version + 1}"`)).status).toBe(200)
    // Callers may see different data of the same version: both may write.
    const hers = (await server.call('GET', path, { token: ann.token })).headers.get('ETag') ?? ''
    expect((await write(hers)).status).toBe(200)
  })
})
