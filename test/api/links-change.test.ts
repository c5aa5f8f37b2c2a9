import { afterAll, expect, test } from 'bun:test'
import { readConfig } from '../../src/config.ts'
import type { AppDeclaration, Fields } from '../../src/declare/define.ts'
import { resolve } from '../../src/declare/resolve.ts'
import { tablesOf } from '../../src/plan/tables/schema.ts'
import { copy } from '../../src/store/copy/copy.ts'
import { dropAside, findAside } from '../../src/store/migration/drop.ts'
import { preview } from '../../src/store/migration/migrate.ts'
import { openStore } from '../../src/store/open.ts'
import { ownTables } from '../../src/store/own.ts'
import { entity, json, list, object, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { isTested, newDatabase, onEveryStoreByHand, type TestDatabase, TestServer } from '../harness.ts'
import { linksAstray } from '../links.ts'
import { newFolder } from '../process/process.ts'

const tags = entity({ fields: { name: text({ default: '' }) } })
const posts = (fields: Fields) =>
  withAdmins({ tags, posts: entity({ fields: { title: text({ default: '' }), ...fields } }) })

const cleared = list(ref('tags', { onDelete: 'clear' }), { default: [] })
const refs = (...list: readonly number[]) => list.map((id) => ({ id }))

onEveryStoreByHand('a list of references in a declaration that changes', (store) => {
  const servers: TestServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.remove())))

  /** Starts a server with three tags, and a post for each body. */
  async function started(
    declaration: AppDeclaration,
    bodies: readonly object[],
    database?: TestDatabase,
  ): Promise<TestServer> {
    const server = new TestServer(store, declaration, {}, database)
    servers.push(server)
    await server.start()
    for (let n = 0; n < 3; n++) await server.expect(201, 'POST', '/api/tags/', {})
    for (const body of bodies) await server.expect(201, 'POST', '/api/posts/', body)
    return server
  }
  const get = (server: TestServer, path: string) => server.expect(200, 'GET', `/api/${path}/`)
  const remove = (server: TestServer, path: string) => server.expect(200, 'DELETE', `/api/${path}/`)
  const restore = (server: TestServer, path: string) =>
    server.expect(200, 'DELETE', `/api/${path}/?restore=1`)
  const refusal = (server: TestServer, declaration: AppDeclaration) =>
    server.restart(declaration).then(
      () => 'started',
      (error: Error) => error.message,
    )

  test('it is added to a type with rows', async () => {
    const server = await started(posts({}), [{}, {}])
    expect(await refusal(server, posts({ tags: list(ref('tags')) }))).toContain(
      'posts.tags is new and required, but is missing in 2 posts',
    )
    const more = posts({ tags: cleared, meta: object({ more: list(ref('tags'), { optional: true }) }) })
    await server.restart(more)
    expect((await get(server, 'posts/1')).tags).toEqual([])
    const body = { tags: refs(3, 1), meta: { more: refs(2) } }
    expect((await server.expect(200, 'PATCH', '/api/posts/1/', body)).tags).toEqual(refs(3, 1))
    expect((await server.call('DELETE', '/api/tags/2/')).status).toBe(409)
    expect(await linksAstray(server, more)).toEqual([])
  })

  test('it is added together with the type that it refers to, and to itself', async () => {
    const titled = { title: text({ default: '' }) }
    const server = new TestServer(store, withAdmins({ posts: entity({ fields: titled }) }))
    servers.push(server)
    await server.start()
    await server.expect(201, 'POST', '/api/posts/', {})
    const more = withAdmins({
      posts: entity({ fields: { ...titled, tags: cleared, others: list(ref('posts'), { default: [] }) } }),
      tags,
    })
    await server.restart(more)
    const { id } = await server.expect(201, 'POST', '/api/tags/', {})
    await server.expect(200, 'PATCH', '/api/posts/1/', { tags: refs(id), others: refs(1) })
    await remove(server, `tags/${id}`)
    await remove(server, 'posts/1')
    await server.expect(204, 'DELETE', '/api/posts/1/?purge=1')
    expect(await linksAstray(server, more)).toEqual([])
  })

  test('servers that do not know of it do not go on beside it', async () => {
    const server = await started(posts({}), [])
    await server.stop()
    const lists = entity({ fields: { tags: cleared } })
    const opened = await server.openStore()
    const additive = async (declaration: AppDeclaration) =>
      (await preview(opened.structure, tablesOf(resolve(declaration)))).additive
    expect(await additive(posts({ tags: cleared }))).toBe(false)
    expect(await additive(withAdmins({ ...posts({}).entities, lists }))).toBe(false)
    expect(await additive(posts({ note: text({ optional: true }) }))).toBe(true)
    await opened.close()
  })

  test('long names have a link table too', async () => {
    const long = 'a'.repeat(59)
    const both = { [`${long}b`]: cleared, [`${long}c`]: cleared }
    const server = await started(posts(both), [{ [`${long}b`]: refs(1, 2), [`${long}c`]: refs(2) }])
    expect(await linksAstray(server, posts(both))).toEqual([])
    await remove(server, 'tags/1')
    const { [`${long}c`]: _, ...one } = both
    await server.restart(posts({ ...one, short: { ...cleared, was: `${long}c` } }))
    await restore(server, 'tags/1')
    const { [`${long}b`]: first, short } = await get(server, 'posts/1')
    expect([first, short]).toEqual([refs(1, 2), refs(2)])
    expect(await linksAstray(server, posts({ ...one, short: cleared }))).toEqual([])
  })

  test('it is set aside, and comes back with what it held', async () => {
    const full = posts({ tags: cleared })
    const server = await started(full, [{ tags: refs(1, 2) }, { tags: refs(3) }])
    await server.restart(posts({}))
    // A column that is aside does not prevent deletions, but it prevents purges.
    await remove(server, 'tags/2')
    const purged = await server.call('DELETE', '/api/tags/2/?purge=1')
    expect([purged.status, purged.body.errors]).toEqual([409, { 'posts.tags': ['1 post refers to it'] }])
    expect(await refusal(server, full)).toContain(
      'posts.tags is declared again, but refers to deleted tags in 1 post (posts/1)',
    )
    await server.restart(posts({}))
    await restore(server, 'tags/2')
    await remove(server, 'posts/2')
    await server.expect(204, 'DELETE', '/api/posts/2/?purge=1')
    await server.expect(200, 'PATCH', '/api/posts/1/', { title: 'while it was aside' })
    await server.restart(full)
    expect((await get(server, 'posts/1')).tags).toEqual(refs(1, 2))
    expect(await linksAstray(server, full)).toEqual([])
  })

  test('it is dropped for good, with its link table', async () => {
    const server = await started(posts({ tags: cleared }), [{ tags: refs(1, 2) }])
    await server.restart(posts({}))
    const again = await server.openStore()
    try {
      await dropAside(again.structure, await findAside(again.structure, ['posts.tags']))
    } finally {
      await again.close()
    }
    await server.restart(posts({ tags: cleared }))
    expect((await get(server, 'posts/1')).tags).toEqual([])
    await server.expect(200, 'PATCH', '/api/posts/1/', { tags: refs(2) })
    expect(await linksAstray(server, posts({ tags: cleared }))).toEqual([])

    // The types on both sides of it are dropped, too.
    await server.restart(withAdmins({}))
    const last = await server.openStore()
    try {
      const find = findAside(last.structure, ['tags'])
      expect(await find.catch((error: Error) => error.message)).toContain('posts still refers to it')
      await dropAside(last.structure, await findAside(last.structure, ['tags', 'posts']))
    } finally {
      await last.close()
    }
    await server.restart(posts({ tags: cleared }))
    const { id } = await server.expect(201, 'POST', '/api/tags/', {})
    const made = await server.expect(201, 'POST', '/api/posts/', { tags: refs(id) })
    expect(made.tags).toEqual(refs(id))
    expect(await linksAstray(server, posts({ tags: cleared }))).toEqual([])
  })

  test('renamed itself, with the object that it is in, and with both types', async () => {
    const inner = (field: object) => object({ tags: cleared, ...field }, { optional: true })
    const server = await started(posts({ tags: cleared, meta: inner({}) }), [
      { tags: refs(2, 1), meta: { tags: refs(3) } },
    ])
    await remove(server, 'tags/1')
    const renamed = withAdmins({
      labels: entity({ was: 'tags', fields: { name: text({ default: '' }) } }),
      articles: entity({
        was: 'posts',
        fields: {
          title: text({ default: '' }),
          labels: list(ref('labels', { onDelete: 'clear' }), { default: [], was: 'tags' }),
          about: object(
            { labels: list(ref('labels', { onDelete: 'clear' }), { default: [], was: 'tags' }) },
            { optional: true, was: 'meta' },
          ),
        },
      }),
    })
    await server.restart(renamed)
    expect(await linksAstray(server, renamed)).toEqual([])
    const lists = async () => {
      const { labels, about } = await get(server, 'articles/1')
      return [labels, about.labels]
    }
    expect(await lists()).toEqual([refs(2), refs(3)])
    await restore(server, 'labels/1')
    expect(await lists()).toEqual([refs(2, 1), refs(3)])
    await server.expect(200, 'PATCH', '/api/articles/1/', {
      labels: refs(1, 3),
      about: { labels: refs(2, 1) },
    })
    await remove(server, 'labels/1')
    expect(await lists()).toEqual([refs(3), refs(2)])
    const back = await server.expect(200, 'POST', '/api/articles/1/revert/', { version: 2 })
    expect(back.labels).toEqual(refs(2))
    expect(await linksAstray(server, renamed)).toEqual([])
    // New types can take the former names.
    const anew = withAdmins({
      ...posts({ tags: cleared }).entities,
      labels: entity({ fields: { name: text({ default: '' }) } }),
      articles: entity({
        fields: {
          title: text({ default: '' }),
          labels: list(ref('labels', { onDelete: 'clear' }), { default: [] }),
          about: object(
            { labels: list(ref('labels', { onDelete: 'clear' }), { default: [] }) },
            { optional: true },
          ),
        },
      }),
    })
    await server.restart(anew)
    const { id } = await server.expect(201, 'POST', '/api/tags/', {})
    await server.expect(201, 'POST', '/api/posts/', { tags: refs(id) })
    expect(await linksAstray(server, anew)).toEqual([])
  })

  test('another onDelete applies from then on; what the former one did is taken back as it was done', async () => {
    const server = await started(posts({ tags: cleared }), [{ tags: refs(1, 2) }])
    await remove(server, 'tags/1')
    const cascades = posts({ tags: list(ref('tags', { onDelete: 'cascade' }), { default: [] }) })
    await server.restart(cascades)
    await restore(server, 'tags/1')
    expect((await get(server, 'posts/1')).tags).toEqual(refs(1, 2))
    await remove(server, 'tags/2')
    await server.restart(posts({ tags: list(ref('tags'), { default: [] }) }))
    await restore(server, 'tags/2')
    expect((await get(server, 'posts/1')).tags).toEqual(refs(1, 2))
    expect((await server.call('DELETE', '/api/tags/2/')).status).toBe(409)
  })

  test('other limits are held against the rows', async () => {
    const server = await started(posts({ tags: cleared }), [{ tags: refs(1, 2, 3) }, { tags: [] }])
    const limited = (options: object) =>
      posts({ tags: list(ref('tags', { onDelete: 'clear' }), { optional: true, ...options }) })
    expect(await refusal(server, limited({ max: 2 }))).toContain(
      'posts.tags has limits that are violated by 1 post (posts/1): the first must have at most 2 items',
    )
    expect(await refusal(server, limited({ min: 1 }))).toContain('must have at least 1 items')
    await server.restart(limited({ max: 3 }))
    expect((await server.expect(200, 'PATCH', '/api/posts/1/', { tags: null })).tags).toBeNull()
  })

  test('nothing else becomes one, and it becomes nothing else', async () => {
    const others = {
      json: { tags: json({ optional: true }) },
      texts: { tags: list(text(), { default: [] }) },
      one: { tags: ref('tags', { optional: true }) },
      object: { tags: object({ name: text({ default: '' }) }) },
      posts: { tags: list(ref('posts'), { default: [] }) },
    }
    const mine = await started(posts({ tags: cleared }), [{ tags: refs(1) }])
    for (const fields of Object.values(others))
      expect(await refusal(mine, posts(fields))).toMatch(
        /posts\.tags holds lists of references to tags and cannot become [^:]+: declare it as it was, or choose another name/,
      )
    await mine.restart(posts({ tags: cleared }))
    expect((await get(mine, 'posts/1')).tags).toEqual(refs(1))
    const of = (fields: readonly Fields[]) =>
      withAdmins({
        tags,
        ...Object.fromEntries(fields.map((one, at) => [`kind_${at}`, entity({ fields: one })])),
        posts: entity({ fields: {} }),
      })
    const server = await started(of(Object.values(others)), [])
    const said = await refusal(server, of(Object.values(others).map(() => ({ tags: cleared }))))
    for (const at of Object.values(others).keys())
      expect(said).toMatch(
        new RegExp(`kind_${at}\\.tags holds [^:]+ and cannot become lists of references to tags`),
      )
  })

  test('a database of a former format is brought along, by a start and by a copy', async () => {
    const single = posts({ tag: ref('tags', { optional: true, onDelete: 'clear' }) })
    const server = await started(
      single,
      [{ tag: { id: 1 } }, { tag: { id: 2 } }],
      await newDatabase(store, newFolder()),
    )
    await remove(server, 'tags/1')
    await remove(server, 'tags/2')
    await server.stop()
    const kept = await server.query('SELECT * FROM takeback_cleared')
    await server.query('DROP TABLE takeback_cleared')
    for (const { name, since = 1, columns, indexes = [] } of ownTables) {
      if (since > 1) await server.query(`DROP TABLE ${name}`)
      if (since > 1 || name === 'takeback_cleared') continue
      for (const index of indexes) {
        if ((index.since ?? 1) === 1) continue
        await server.query(`DROP INDEX IF EXISTS "${name}:${index.name}"`)
        const was = index.was?.map((column) => `"${column}"`).join()
        if (was !== undefined) await server.query(`CREATE INDEX "${name}:${index.name}" ON ${name} (${was})`)
      }
      for (const column of columns)
        if ((column.since ?? 1) > 1) await server.query(`ALTER TABLE ${name} DROP COLUMN "${column.name}"`)
    }
    const [whole, words] = store === 'sqlite' ? ['INTEGER', 'TEXT'] : ['bigint', 'text COLLATE "C"']
    await server.query(
      `CREATE TABLE "takeback_cleared" ("operation" ${words} NOT NULL, "entity" ${words} NOT NULL, "entity_id" ${whole} NOT NULL,
        "column" ${words} NOT NULL, "target" ${whole} NOT NULL, PRIMARY KEY ("operation", "entity", "entity_id", "column"))`,
    )
    for (const { operation, entity, entity_id, column, target } of kept as Record<string, string>[])
      await server.query(
        'INSERT INTO takeback_cleared VALUES ($1, $2, $3, $4, $5)',
        String(operation),
        String(entity),
        Number(entity_id),
        String(column),
        Number(target),
      )
    await server.query("UPDATE takeback_meta SET value = '1' WHERE key = 'format'")

    const copyDatabase = await newDatabase(store, newFolder())
    const [from, to] = [
      await server.openStore(),
      await openStore(readConfig({ database: copyDatabase.url }, {}).database),
    ]
    await copy(from, to, () => {})
    await Promise.all([from.close(), to.close()])

    const both = posts({ tag: ref('tags', { optional: true, onDelete: 'clear' }), tags: cleared })
    const copied = new TestServer(store, both, {}, copyDatabase)
    servers.push(copied)
    copied.adminToken = server.adminToken
    await copied.start()
    await server.restart(both)
    expect(await server.rows('takeback_answers')).toBe(0)
    for (const one of [server, copied]) {
      await restore(one, 'tags/1')
      expect((await get(one, 'posts/1')).tag).toEqual({ id: 1 })
      await one.expect(200, 'PATCH', '/api/posts/1/', { tags: refs(3, 1) })
      await remove(one, 'tags/1')
      await restore(one, 'tags/1')
      expect((await get(one, 'posts/1')).tags).toEqual(refs(3, 1))
    }
  })

  test.skipIf(!isTested('postgres'))(
    'a copy to the other database has them, aside and cleared ones too',
    async () => {
      const other = store === 'sqlite' ? 'postgres' : 'sqlite'
      const full = posts({ tags: cleared, more: cleared })
      const server = await started(
        full,
        [{ tags: refs(3, 1, 2), more: refs(2) }, { tags: refs(1) }, {}],
        await newDatabase(store, newFolder()),
      )
      await remove(server, 'posts/2')
      await remove(server, 'tags/1')
      await server.restart(posts({ tags: cleared }))
      const target = await newDatabase(other, newFolder())
      const [from, to] = [
        await server.openStore(),
        await openStore(readConfig({ database: target.url }, {}).database),
      ]
      await copy(from, to, () => {})
      await Promise.all([from.close(), to.close()])
      const copied = new TestServer(other, full, {}, target)
      servers.push(copied)
      copied.adminToken = server.adminToken
      await copied.start()
      expect(await linksAstray(copied, full)).toEqual([])
      expect((await get(copied, 'posts/1')).more).toEqual(refs(2))
      await restore(copied, 'tags/1')
      await restore(copied, 'posts/2')
      expect((await get(copied, 'posts/1')).tags).toEqual(refs(3, 1, 2))
      await remove(copied, 'tags/2')
      expect((await get(copied, 'posts/1')).more).toEqual([])
      expect(await linksAstray(copied, full)).toEqual([])
    },
  )
})
