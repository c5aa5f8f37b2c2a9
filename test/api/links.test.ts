import { afterEach, expect, test } from 'bun:test'
import { entity, list, object, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { expectInvalid, onEveryStore } from '../harness.ts'
import { linksAstray } from '../links.ts'

const declaration = withAdmins({
  tags: entity({ fields: { name: text() } }),
  teams: entity({ fields: { name: text() } }),
  people: entity({
    fields: {
      name: text(),
      team: ref('teams', { optional: true, onDelete: 'cascade' }),
      friends: list(ref('people', { onDelete: 'clear' }), { default: [] }),
    },
  }),
  posts: entity({
    fields: {
      title: text(),
      tags: list(ref('tags', { onDelete: 'clear' }), { max: 4, default: [] }),
      authors: list(ref('people'), { default: [] }),
      readers: list(ref('people', { onDelete: 'cascade' }), { optional: true }),
      meta: object(
        { tags: list(ref('tags', { onDelete: 'clear' }), { min: 1 }), note: text({ default: '' }) },
        { optional: true },
      ),
      more: object({ note: text(), tags: list(ref('tags'), { default: [] }) }, { optional: true }),
    },
  }),
})

const ids = (list: readonly { id: number }[] | null) => list?.map(({ id }) => id) ?? null
const refs = (...list: readonly number[]) => list.map((id) => ({ id }))

onEveryStore('lists of references', declaration, (server) => {
  const make = async (type: string, body: object) =>
    (await server.expect(201, 'POST', `/api/${type}/`, body)).id as number
  const tags = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, at) => make('tags', { name: `t${at}` })))
  const people = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, at) => make('people', { name: `p${at}` })))
  const post = (body: object) => make('posts', { title: 'x', ...body })
  const get = (path: string) => server.expect(200, 'GET', `/api/${path}/`)
  const remove = (path: string) => server.expect(200, 'DELETE', `/api/${path}/`)
  const restore = (path: string) => server.expect(200, 'DELETE', `/api/${path}/?restore=1`)

  afterEach(async () => {
    expect(await linksAstray(server, declaration)).toEqual([])
  })

  test('come back as they were sent, in their order', async () => {
    const [a = 0, b = 0, c = 0] = await tags(3)
    const made = await server.expect(201, 'POST', '/api/posts/', { title: 'x', tags: refs(c, a, b) })
    expect([made.tags, made.authors, made.readers, made.meta]).toEqual([refs(c, a, b), [], null, null])
    expect(await get(`posts/${made.id}`)).toEqual(made)
    const { data } = await server.expect(200, 'GET', `/api/posts/?id=${made.id}&fields=tags`)
    expect(data).toEqual([{ tags: refs(c, a, b) }])
  })

  test('a PATCH replaces the whole list, a PUT brings back its default', async () => {
    const [a = 0, b = 0, c = 0] = await tags(3)
    const id = await post({ tags: refs(a, b) })
    const patch = (body: object) => server.expect(200, 'PATCH', `/api/posts/${id}/`, body)
    expect((await patch({ tags: refs(c, a) })).tags).toEqual(refs(c, a))
    expect((await patch({ title: 'y' })).tags).toEqual(refs(c, a))
    expect((await patch({ tags: refs(a, c) })).tags).toEqual(refs(a, c))
    expect((await patch({ tags: null })).tags).toEqual([])
    expect((await patch({ meta: { tags: refs(b) } })).meta).toEqual({ tags: refs(b), note: '' })
    expect((await patch({ meta: { note: 'n' } })).meta).toEqual({ tags: refs(b), note: 'n' })
    expect((await patch({ meta: null, tags: refs(b) })).meta).toBeNull()
    expect((await patch({ more: { note: 'n' } })).more).toEqual({ note: 'n', tags: [] })
    expect((await patch({ more: { tags: refs(a, b) } })).more).toEqual({ note: 'n', tags: refs(a, b) })
    expect((await server.expect(200, 'PUT', `/api/posts/${id}/`, { title: 'z' })).tags).toEqual([])
    expect((await get(`posts/${id}`)).more).toBeNull()
  })

  test('each failure stands at its place', async () => {
    const [a = 0, b = 0, gone = 0] = await tags(3)
    await remove(`tags/${gone}`)
    const nothing = ['refers to nothing']
    const create = (body: object) => server.call('POST', '/api/posts/', { body: { title: 'x', ...body } })
    const posts = await server.rows('posts')
    expectInvalid(await create({ tags: refs(a, 999_999, gone, b) }), {
      'tags.1': nothing,
      'tags.1.id': nothing,
      'tags.2': nothing,
      'tags.2.id': nothing,
    })
    const twice = ['is already in the list']
    expectInvalid(await create({ tags: refs(a, a, gone) }), {
      'tags.1': twice,
      'tags.1.id': twice,
      'tags.2': nothing,
      'tags.2.id': nothing,
    })
    const whole = ['must be a whole number from 1']
    expectInvalid(await create({ tags: [{ id: 'x' }, { id: a, name: 'y' }, null, { id: gone }] }), {
      'tags.0': whole,
      'tags.0.id': whole,
      'tags.1.name': ['is not a field of a reference'],
      'tags.2': ['must not be null'],
      'tags.2.id': ['must not be null'],
      'tags.3': nothing,
      'tags.3.id': nothing,
    })
    expectInvalid(await create({ tags: [7] }), {
      'tags.0': ['must be a reference, such as {"id": 5}'],
      'tags.0.id': ['must be a reference, such as {"id": 5}'],
    })
    expectInvalid(await create({ tags: { id: a } }), { tags: ['must be a list'] })
    expectInvalid(await create({ tags: refs(1, 2, 3, 4, 5) }), { tags: ['must have at most 4 items'] })
    expectInvalid(await create({ meta: { tags: [] } }), { 'meta.tags': ['must have at least 1 items'] })
    expectInvalid(await create({ meta: {} }), { 'meta.tags': ['is required'] })
    expectInvalid(await create({ meta: { tags: refs(gone) } }), {
      'meta.tags.0': nothing,
      'meta.tags.0.id': nothing,
    })
    expect(await server.rows('posts')).toBe(posts)
    const id = await post({ tags: refs(a) })
    expectInvalid(await server.call('PATCH', `/api/posts/${id}/`, { body: { tags: refs(b, gone) } }), {
      'tags.1': nothing,
      'tags.1.id': nothing,
    })
    expect((await get(`posts/${id}`)).version).toBe(1)
  })

  test('restrict: what is in a list cannot be deleted', async () => {
    const [a = 0, b = 0] = await people(2)
    const first = await post({ authors: refs(a, b) })
    await post({ authors: refs(b) })
    const { status, body } = await server.call('DELETE', `/api/people/${b}/`)
    expect([status, body.code, body.errors]).toEqual([
      409,
      'in_use',
      { 'posts.authors': ['2 posts refer to it'] },
    ])
    await remove(`posts/${first}`)
    await remove(`people/${a}`)
    const back = await server.call('DELETE', `/api/posts/${first}/?restore=1`)
    expect([back.status, back.body.code, back.body.errors]).toEqual([
      409,
      'target_deleted',
      { 'authors.0.id': [`refers to people/${a}, which is deleted`] },
    ])
  })

  test('cascade: a list goes with any of its members, and comes back with it', async () => {
    const [a = 0, b = 0] = await people(2)
    const id = await post({ readers: refs(a, b) })
    await remove(`people/${b}`)
    expect((await server.call('GET', `/api/posts/${id}/`)).status).toBe(404)
    await remove(`people/${a}`)
    const late = await server.call('DELETE', `/api/people/${b}/?restore=1`)
    expect([late.status, late.body.errors]).toEqual([
      409,
      { [`posts/${id}.readers.0.id`]: [`refers to people/${a}, which is deleted`] },
    ])
    await restore(`people/${a}`)
    await restore(`people/${b}`)
    expect(ids((await get(`posts/${id}`)).readers)).toEqual([a, b])
  })

  test('clear: it is taken out of the list, and put back at its place', async () => {
    const [a = 0, b = 0, c = 0] = await tags(3)
    const id = await post({ tags: refs(a, b, c), meta: { tags: refs(c, b) } })
    const lists = async () => {
      const { tags, meta, version } = await get(`posts/${id}`)
      return [ids(tags), ids(meta.tags), version]
    }
    await remove(`tags/${b}`)
    expect(await lists()).toEqual([[a, c], [c], 2])
    await restore(`tags/${b}`)
    expect(await lists()).toEqual([[a, b, c], [c, b], 3])
  })

  test('clear: as far as the list is still that long, and not twice', async () => {
    const [a = 0, b = 0, c = 0, d = 0] = await tags(4)
    const change = (id: number, ...now: number[]) =>
      server.expect(200, 'PATCH', `/api/posts/${id}/`, { tags: refs(...now) })
    const shorter = await post({ tags: refs(a, b, c, d) })
    const again = await post({ tags: refs(d, a) })
    const full = await post({ tags: refs(d) })
    await remove(`tags/${d}`)
    await change(shorter, a)
    await change(again, b, a)
    const more = await tags(4)
    await change(full, ...more)
    await restore(`tags/${d}`)
    expect(ids((await get(`posts/${shorter}`)).tags)).toEqual([a, d])
    expect(ids((await get(`posts/${again}`)).tags)).toEqual([d, b, a])
    expect(ids((await get(`posts/${full}`)).tags)).toEqual(more)
    await remove(`tags/${d}`)
    await restore(`tags/${d}`)
    await change(again, d)
    expect(ids((await get(`posts/${again}`)).tags)).toEqual([d])
  })

  test('clear: several that go together come back to their places', async () => {
    const team = await make('teams', { name: 't' })
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = await people(6)
    for (const one of [b, d, e])
      await server.expect(200, 'PATCH', `/api/people/${one}/`, { team: { id: team } })
    const friends = async () => ids((await get(`people/${f}`)).friends)
    const befriend = async (...now: number[]) => {
      await server.expect(200, 'PATCH', `/api/people/${f}/`, { friends: refs(...now) })
    }
    for (const [before, meanwhile, after] of [
      [[a, b, c, d, e, f], undefined, [a, b, c, d, e, f]],
      [[e, d, b], undefined, [e, d, b]],
      [[a, b, c, d, e], [], [b, d, e]],
      [
        [a, c, f, d, b],
        [f, c],
        [f, c, d, b],
      ],
      [
        [a, b, c, e],
        [f, a, c],
        [f, b, a, e, c],
      ],
      [
        [d, a, b, c],
        [c, a],
        [d, c, b, a],
      ],
    ] as const) {
      await befriend(...before)
      await remove(`teams/${team}`)
      expect(await friends()).toEqual(before.filter((id) => ![b, d, e].includes(id)))
      if (meanwhile !== undefined) await befriend(...meanwhile)
      await restore(`teams/${team}`)
      expect(await friends()).toEqual([...after])
    }
  })

  test('clear: a list that must keep some holds what it needs', async () => {
    const [a = 0, b = 0] = await tags(2)
    const id = await post({ meta: { tags: refs(a, b) } })
    await remove(`tags/${a}`)
    const { status, body } = await server.call('DELETE', `/api/tags/${b}/`)
    expect([status, body.code, body.errors]).toEqual([
      409,
      'in_use',
      { 'posts.meta.tags': ['1 post refers to it, and must keep at least 1 there'] },
    ])
    await remove(`posts/${id}`)
    await remove(`tags/${b}`)
    const purged = await server.call('DELETE', `/api/tags/${b}/?purge=1`)
    expect(purged.body.errors).toEqual({ 'posts.meta.tags': ['1 post refers to it'] })
    await restore(`tags/${b}`)
    await restore(`posts/${id}`)
    await server.expect(200, 'PATCH', `/api/posts/${id}/`, { meta: null })
    await remove(`tags/${b}`)
    await restore(`tags/${a}`)
    expect((await get(`posts/${id}`)).meta).toBeNull()
  })

  test('a member of a list cannot be purged, even if the list is deleted', async () => {
    const [a = 0, b = 0] = await people(2)
    const id = await post({ authors: refs(a), readers: refs(b) })
    await remove(`posts/${id}`)
    await remove(`people/${a}`)
    const { status, body } = await server.call('DELETE', `/api/people/${a}/?purge=1`)
    expect([status, body.errors]).toEqual([409, { 'posts.authors': ['1 post refers to it'] }])
    await server.expect(204, 'DELETE', `/api/posts/${id}/?purge=1`)
    await server.expect(204, 'DELETE', `/api/people/${a}/?purge=1`)
    const [c = 0, d = 0] = await people(2)
    await server.expect(200, 'PATCH', `/api/people/${c}/`, { friends: refs(c, d) })
    await server.expect(200, 'PATCH', `/api/people/${d}/`, { friends: refs(c, d) })
    const one = await post({ readers: refs(d, c) })
    await remove(`people/${c}`)
    await server.expect(204, 'DELETE', `/api/people/${c}/?purge=1`)
    expect((await server.call('GET', `/api/posts/?trashed=with&id=${one}`)).body.data).toEqual([])
    expect(ids((await get(`people/${d}`)).friends)).toEqual([d])
  })

  test('history, as of a time, revert', async () => {
    const [a = 0, b = 0] = await tags(2)
    const made = await server.expect(201, 'POST', '/api/posts/', { title: 'x', tags: refs(a) })
    await Bun.sleep(5)
    await server.expect(200, 'PATCH', `/api/posts/${made.id}/`, { tags: refs(b, a) })
    const { data } = await server.expect(200, 'GET', `/api/posts/${made.id}/history/`)
    const change = data.find(({ version }: { version: number }) => version === 2)
    expect(change.changed).toEqual({ tags: { from: refs(a), to: refs(b, a) } })
    const then = await server.expect(200, 'GET', `/api/posts/${made.id}/?at=${made.updated_at}`)
    expect(then.tags).toEqual(refs(a))
    const list = await server.expect(200, 'GET', `/api/posts/?at=${made.updated_at}&id=${made.id}`)
    expect(list.data[0].tags).toEqual(refs(a))
    const back = await server.expect(200, 'POST', `/api/posts/${made.id}/revert/`, { version: 1 })
    expect([back.tags, back.version]).toEqual([refs(a), 3])
    await remove(`tags/${b}`)
    const dead = await server.call('POST', `/api/posts/${made.id}/revert/`, { body: { version: 2 } })
    expect([dead.status, dead.body.errors]).toEqual([
      409,
      { [`posts/${made.id}`]: [`refers to tags/${b} in tags, which is deleted`] },
    ])
  })

  test('undo of a change, of a deletion that cleared, and of what held it', async () => {
    const [a = 0, b = 0, c = 0] = await tags(3)
    const id = await post({ tags: refs(a, b, c) })
    const operation = async (method: string, path: string, body?: object) => {
      const received = await server.call(method, path, body === undefined ? {} : { body })
      expect(received.status).toBeLessThan(300)
      return received.headers.get('Takeback-Operation') ?? ''
    }
    const undo = (which: string) => server.call('POST', `/api/operations/${which}/undo/`)
    const changed = await operation('PATCH', `/api/posts/${id}/`, { tags: refs(c) })
    expect((await undo(changed)).status).toBe(200)
    expect(ids((await get(`posts/${id}`)).tags)).toEqual([a, b, c])

    const deleted = await operation('DELETE', `/api/tags/${b}/`)
    expect((await undo(deleted)).status).toBe(200)
    expect(ids((await get(`posts/${id}`)).tags)).toEqual([a, b, c])

    // An undo of the restore takes it out, and the next restore puts it back.
    await remove(`tags/${b}`)
    const restored = await operation('DELETE', `/api/tags/${b}/?restore=1`)
    expect((await undo(restored)).status).toBe(200)
    expect(ids((await get(`posts/${id}`)).tags)).toEqual([a, c])
    await restore(`tags/${b}`)
    expect(ids((await get(`posts/${id}`)).tags)).toEqual([a, b, c])

    const fresh = await operation('POST', '/api/tags/', { name: 'fresh' })
    const [{ id: made } = { id: 0 }] = (await server.expect(200, 'GET', '/api/tags/?sort=-id&limit=1')).data
    await server.expect(200, 'PATCH', `/api/posts/${id}/`, { tags: refs(made, a) })
    const held = await undo(fresh)
    expect([held.status, held.body.errors]).toEqual([
      409,
      { [`tags/${made}`]: [`is referred to by posts/${id} in tags`] },
    ])

    const dropped = await operation('PATCH', `/api/posts/${id}/`, { tags: [] })
    await remove(`tags/${made}`)
    await server.expect(204, 'DELETE', `/api/tags/${made}/?purge=1`)
    const gone = await undo(dropped)
    expect([gone.status, gone.body.errors]).toEqual([
      409,
      { [`posts/${id}`]: [`refers to tags/${made} in tags, which was purged`] },
    ])
  })

  test('many at once put into lists what others delete: no list that is live has a dead member', async () => {
    const members = await tags(4)
    const lists = await Promise.all(Array.from({ length: 6 }, () => post({})))
    const pick = <T>(from: readonly T[]) => from[Math.floor(Math.random() * from.length)] as T
    const statuses = new Set<number>()
    const client = async () => {
      for (let n = 0; n < 40; n++) {
        const [tag, list, chance] = [pick(members), pick(lists), Math.random()]
        const some = refs(...new Set([pick(members), pick(members), pick(members)]))
        const { status } =
          chance < 0.5
            ? await server.call('PATCH', `/api/posts/${list}/`, {
                body: chance < 0.3 ? { tags: some } : { tags: some, meta: { tags: some } },
              })
            : await server.call('DELETE', `/api/tags/${tag}/${chance < 0.75 ? '' : '?restore=1'}`)
        statuses.add(status)
      }
    }
    await Promise.all(Array.from({ length: 8 }, client))
    expect([...statuses].sort()).toEqual([200, 409, 422])
    for (const links of ['posts.tags', 'posts.meta.tags'])
      expect(
        await server.query(
          `SELECT p.id FROM posts p JOIN "${links}" l ON l.source = p.id JOIN tags t ON t.id = l.target
            WHERE p.deleted_at IS NULL AND t.deleted_at IS NOT NULL`,
        ),
      ).toEqual([])
    // No list has fewer items than it must.
    expect(
      await server.query(
        'SELECT id FROM posts WHERE meta IS NOT NULL AND id NOT IN (SELECT source FROM "posts.meta.tags")',
      ),
    ).toEqual([])
    for (const id of lists) {
      const [row] = await server.query(
        "SELECT data FROM takeback_journal WHERE entity = 'posts' AND entity_id = $1 ORDER BY version DESC LIMIT 1",
        id,
      )
      expect(JSON.parse(String(row?.data))).toEqual(await get(`posts/${id}`))
    }
  })
})
