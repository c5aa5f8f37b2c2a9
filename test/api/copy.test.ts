import { afterAll, expect, test } from 'bun:test'
import { missedIn } from '../../src/cli/copy.ts'
import { AccessEnding } from '../../src/cli/ending.ts'
import { readConfig } from '../../src/config.ts'
import { copy } from '../../src/store/copy/copy.ts'
import { openStore } from '../../src/store/open.ts'
import { app, entity, ref, text } from '../../src/takeback.ts'
import { bookings, everything, graph } from '../declarations.ts'
import { betweenStores, newDatabase, type TestDatabase, TestServer } from '../harness.ts'
import { newFolder } from '../process/process.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    ...everything.entities,
    ...graph.entities,
    users: bookings.entities.users,
    old: entity({ fields: { note: text(), about: ref('people', { optional: true }) } }),
  },
})
const { old: _, ...rest } = declaration.entities
const withoutOld = app({ admins: 'admins', entities: rest })

const open = ({ url }: TestDatabase) => openStore(readConfig({ database: url }, {}).database)

async function copied(from: TestDatabase, to: TestDatabase): Promise<number> {
  const [source, target] = [await open(from), await open(to)]
  try {
    return (await copy(source, target, () => {})).rows
  } finally {
    await Promise.all([source.close(), target.close()])
  }
}

/** Returns all rows of all tables, as they are stored. */
async function contentsOf({ query }: TestDatabase): Promise<Record<string, unknown[]>> {
  const keys = {
    takeback_journal: 'seq',
    takeback_cleared: 'operation, entity, entity_id, "column"',
    takeback_attempts: 'id',
    takeback_ended_sessions: 'session',
    takeback_answers: 'key',
  }
  const contents: Record<string, unknown[]> = {}
  for (const [table, key] of [
    ...Object.keys(declaration.entities).map((one) => [one, 'id']),
    ...Object.entries(keys),
  ])
    contents[table ?? ''] = await query(`SELECT * FROM "${table}" ORDER BY ${key}`)
  contents.takeback_meta = (await query('SELECT key, value FROM takeback_meta ORDER BY key')).filter(
    ({ key }) => !['secret', 'lock', 'incarnation', 'origin'].includes(String(key)),
  )
  return contents
}

betweenStores('a copy', (store, other) => {
  const servers: TestServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.remove())))

  async function filled(): Promise<{ database: TestDatabase; server: TestServer; token: string }> {
    const database = await newDatabase(store, newFolder())
    const server = new TestServer(store, declaration, {}, database)
    servers.push(server)
    await server.start()
    const { token } = await server.user('users', { email: 'U@Example.com' })
    const { token: ended } = await server.user('users', { email: 'v@example.com' })
    await server.expect(204, 'POST', '/api/auth/logout', undefined, { token: ended })
    await server.call('POST', '/api/auth/login', {
      body: { email: 'u@example.com', password: 'wrong wrong wrong' },
      token: null,
    })
    const values = [
      { name: 'plain' },
      {
        name: '"quoted" \\ 💥 \u0001\n{}',
        mail: 'x@example.com',
        site: 'https://example.com/?a=1',
        count: -5,
        big: 9007199254740991,
        ratio: 0.1 + 0.2,
        price: '-0.05',
        fine: '123456789012.000001',
        flag: false,
        day: '0001-01-01',
        instant: '9999-12-31T23:59:59.999Z',
        colour: 'green',
        anything: { b: [1, null, 'x', { y: 1.5e-7 }], a: 'null' },
        tags: ['', 'null'],
        lines: [{ price: '1.00' }],
        pin: 'hidden hidden',
        inner: { deep: {} },
        parent: { id: 1 },
      },
      { name: 'false things', anything: false, flag: true, tags: [] },
      { name: 'text', anything: 'a text' },
    ]
    for (const body of values) await server.expect(201, 'POST', '/api/things/', body)
    for (let n = 0; n < 30; n++)
      await server.expect(201, 'POST', '/api/things/', { name: `n${n}`, ratio: n / 7 })
    await server.expect(200, 'DELETE', '/api/things/34/')
    await server.expect(204, 'DELETE', '/api/things/34/?purge=1')
    const once = { headers: { 'Idempotency-Key': 'once' } }
    const { id: lead } = await server.expect(201, 'POST', '/api/people/', { name: 'lead' }, once)
    const { id: one } = await server.expect(201, 'POST', '/api/people/', { name: 'one', boss: { id: lead } })
    const { id: company } = await server.expect(201, 'POST', '/api/companies/', {
      name: 'c',
      lead: { id: lead },
    })
    await server.expect(200, 'PATCH', `/api/people/${lead}/`, { company: { id: company } })
    await server.expect(201, 'POST', '/api/old/', { note: 'kept aside', about: { id: one } })
    // A deletion that clears references in a circle, and a type that is no longer declared.
    await server.expect(200, 'DELETE', `/api/companies/${company}/`)
    await server.restart(withoutOld)
    return { database, server, token }
  }

  test('beside a server says what has ended in the source since, or ends all', async () => {
    const database = await newDatabase(store, newFolder())
    const server = new TestServer(store, declaration, {}, database)
    servers.push(server)
    await server.start()
    for (const isAsked of [false, true]) {
      const tokens: string[] = []
      for (const name of ['before', 'meanwhile', 'open']) {
        const email = `${name}.${isAsked}@example.com`
        tokens.push((await server.user('users', { email })).token)
      }
      await server.expect(204, 'POST', '/api/auth/logout', undefined, { token: tokens[0] ?? '' })
      const key = await server.expect(201, 'POST', '/api/auth/keys/', { name: 'Import' })
      const ending = new AccessEnding({ sessions: isAsked, keys: isAsked }, ' in the source')
      const place = await newDatabase(other, newFolder())
      const [source, target] = [await open(database), await open(place)]
      const keepSecret = target.keepSecret.bind(target)
      // All rows were read by then.
      target.keepSecret = async (secret) => {
        await server.expect(204, 'POST', '/api/auth/logout', undefined, { token: tokens[1] ?? '' })
        await server.expect(200, 'DELETE', `/api/auth/keys/${key.id}/`)
        return keepSecret(secret)
      }
      const copied = await copy(
        source,
        target,
        () => {},
        (site, memory) => ending.run(site, memory),
      )
      await Promise.all([source.close(), target.close()])
      const said = [...ending.messages, ...missedIn(copied, 'there', ending)]
      const served = new TestServer(other, declaration, {}, place)
      servers.push(served)
      served.adminToken = server.adminToken
      await served.start()
      const statuses: number[] = []
      // Only an admin may read users.
      for (const token of [...tokens, key.key])
        statuses.push((await served.call('GET', '/api/users/', { token })).status)
      expect({ said, statuses }).toEqual(
        !isAsked
          ? {
              said: [
                'Tokens (1) and keys (1) ended in there after the copy began. They still work in the copy. Stop the servers and copy again, or end all of them in the copy with --end-sessions and --end-keys.',
              ],
              statuses: [401, 403, 403, 200],
            }
          : {
              said: [
                // The admin's session, those that were open before, and those of this test.
                'Ended all sessions (4 in the source) and all mailed links (0 in the source). Everyone must log in again.',
                'Ended all keys (1 in the source). Programs need new ones.',
              ],
              statuses: [401, 401, 401, 401],
            },
      )
    }
  })

  test('there and back again holds all that there was, and serves it as before', async () => {
    const { database, server, token } = await filled()
    await server.stop()
    const there = await newDatabase(other, newFolder())
    const back = await newDatabase(store, newFolder())
    const rows = await copied(database, there)
    expect(rows).toBeGreaterThan(80)
    expect(await copied(there, back)).toBe(rows)
    expect(await contentsOf(back)).toEqual(await contentsOf(database))

    for (const [kind, place] of [
      [other, there],
      [store, back],
    ] as const) {
      const copy = new TestServer(kind, withoutOld, {}, place)
      servers.push(copy)
      copy.adminToken = server.adminToken
      await copy.start({ back: false })
      expect((await copy.expect(200, 'GET', '/api/auth/me', undefined, { token })).email).toBe(
        'U@Example.com',
      )
      // The id of a purged Entity is not given again.
      expect((await copy.expect(201, 'POST', '/api/things/', { name: 'next' })).id).toBe(35)
      const taken = await copy.call('POST', '/api/things/', { body: { name: 'x', mail: 'x@example.com' } })
      expect(taken.body.errors).toEqual({ mail: ['is taken by things/2'] })
      await copy.expect(200, 'DELETE', '/api/companies/1/?restore=1')
      expect((await copy.expect(200, 'GET', '/api/people/2/')).boss).toEqual({ id: 1 })
      const again = { body: { name: 'lead' }, headers: { 'Idempotency-Key': 'once' } }
      expect((await copy.call('POST', '/api/people/', again)).headers.get('idempotent-replay')).toBe('true')
      await copy.restart(declaration)
      expect(await copy.expect(200, 'GET', '/api/old/1/')).toMatchObject({
        note: 'kept aside',
        about: { id: 2 },
      })
      expect((await copy.call('DELETE', '/api/people/2/')).status).toBe(409)
    }
  })

  test('what is not empty is refused; half of a copy is not served, and is begun anew', async () => {
    const { database, server } = await filled()
    await server.stop()
    const target = await newDatabase(other, newFolder())
    const [source, half] = [await open(database), await open(target)]
    const cut = copy(source, half, ({ rows }) => {
      if (rows > 40) throw new Error('cut off')
    })
    expect(await cut.catch((error: Error) => error.message)).toBe('cut off')
    await Promise.all([source.close(), half.close()])
    const early = new TestServer(other, withoutOld, {}, target)
    expect(await early.start().catch((error: Error) => error.message)).toContain('is an incomplete copy')

    // As an earlier version leaves it.
    await database.query('DROP TABLE takeback_answers')
    await copied(database, target)
    expect(await copied(database, target).catch((error: Error) => error.message)).toContain('is not empty')
    early.adminToken = server.adminToken
    await early.start()
    expect((await early.expect(200, 'GET', '/api/things/')).data).toHaveLength(20)
    await early.remove()
  })

  test('a database that is somebody else’s is left alone', async () => {
    const { database, server } = await filled()
    await server.stop()
    const target = await newDatabase(other, newFolder())
    await target.query('CREATE TABLE mine (a INTEGER)')
    expect(await copied(database, target).catch((error: Error) => error.message)).toContain(
      "has tables that are not Takeback's",
    )
    expect(await target.query('SELECT count(*) AS n FROM mine')).toEqual([{ n: 0 }])
    await target.remove()
  })
})
