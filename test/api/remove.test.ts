import { expect, test } from 'bun:test'
import { entity, ref, text } from '../../src/takeback.ts'
import { bookings, graph, withAdmins } from '../declarations.ts'
import { expectInvalid, giant, isDeep, onEveryStore } from '../harness.ts'

onEveryStore('delete and restore', bookings, (server) => {
  let serial = 0
  const room = (title = `room ${++serial}`) => server.expect(201, 'POST', '/api/rooms/', { title, beds: 1 })
  const user = async () => ({
    id: (
      await server.expect(201, 'POST', '/api/users/', {
        email: `u${++serial}@example.com`,
        password: 'long enough for us',
      })
    ).id as number,
  })
  const booking = (room: { id: number }, more = {}) =>
    server.expect(201, 'POST', '/api/bookings/', {
      room: { id: room.id },
      starts_at: new Date(2027, 0, ++serial).toISOString(),
      ...more,
    })
  const remove = (path: string) => server.expect(200, 'DELETE', `/api/${path}/`)
  const restore = (path: string) => server.expect(200, 'DELETE', `/api/${path}/?restore=1`)
  const isLive = async (path: string) => (await server.call('GET', `/api/${path}/`)).status === 200

  test('answers with the Entity as it then stands', async () => {
    const { id } = await room()
    const { status, body, headers } = await server.call('DELETE', `/api/rooms/${id}/`)
    expect([status, body.id, body.version, headers.get('ETag'), headers.has('Takeback-Operation')]).toEqual([
      200,
      id,
      2,
      expect.stringMatching(/^"2-/),
      true,
    ])
    expect(body.deleted_at).toBe(body.updated_at)
    const back = await server.call('DELETE', `/api/rooms/${id}/?restore=1`)
    expect([
      back.status,
      back.body.deleted_at,
      back.body.version,
      back.headers.has('Takeback-Operation'),
    ]).toEqual([200, null, 3, true])
    expect((await server.call('GET', `/api/rooms/${id}/`)).body).toEqual(back.body)
  })

  test('repeating either changes nothing', async () => {
    const { id } = await room()
    const again = await server.call('DELETE', `/api/rooms/${id}/?restore=1`)
    expect([again.status, again.body.version, again.headers.get('Takeback-Operation')]).toEqual([
      200,
      1,
      null,
    ])
    await remove(`rooms/${id}`)
    const journal = await server.rows('takeback_journal')
    const twice = await server.call('DELETE', `/api/rooms/${id}/`)
    expect([twice.status, twice.body.version, twice.headers.get('Takeback-Operation')]).toEqual([
      200,
      2,
      null,
    ])
    expect(await server.rows('takeback_journal')).toBe(journal)
  })

  test('restore is 1 or 0 and nothing else', async () => {
    const { id } = await room()
    for (const value of ['2', '', 'true', 'yes', '01', '-1'])
      expectInvalid(await server.call('DELETE', `/api/rooms/${id}/?restore=${value}`), {
        restore: ['must be 1 or 0'],
      })
    expect(await isLive(`rooms/${id}`)).toBe(true)
    await server.expect(200, 'DELETE', `/api/rooms/${id}/?restore=0`)
    expect(await isLive(`rooms/${id}`)).toBe(false)
  })

  test('restrict stands against it, and says what holds it', async () => {
    const held = await room()
    const first = await booking(held)
    await booking(held)
    const { status, body } = await server.call('DELETE', `/api/rooms/${held.id}/`)
    expect([status, body]).toEqual([
      409,
      {
        message: 'Something still refers to it.',
        errors: { 'bookings.room': ['2 bookings refer to it'] },
        code: 'in_use',
      },
    ])
    await remove(`bookings/${first.id}`)
    expect((await server.call('DELETE', `/api/rooms/${held.id}/`)).body.errors).toEqual({
      'bookings.room': ['1 booking refers to it'],
    })
    expect(await isLive(`rooms/${held.id}`)).toBe(true)
  })

  test('takes what cascades, and brings back exactly that', async () => {
    const [where, owner] = [await room(), await user()]
    const [before, taken, after] = [
      await booking(where, { owner }),
      await booking(where, { owner }),
      await booking(where, { owner }),
    ]
    await remove(`bookings/${before.id}`)
    await remove(`users/${owner.id}`)
    expect(await isLive(`bookings/${taken.id}`)).toBe(false)
    await restore(`users/${owner.id}`)
    expect(await Promise.all([before, taken, after].map(({ id }) => isLive(`bookings/${id}`)))).toEqual([
      false,
      true,
      true,
    ])
    await remove(`bookings/${after.id}`)
    await remove(`users/${owner.id}`)
    await restore(`users/${owner.id}`)
    expect(await Promise.all([before, taken, after].map(({ id }) => isLive(`bookings/${id}`)))).toEqual([
      false,
      true,
      false,
    ])
  })

  test('what the deletion took waits for its target', async () => {
    const [where, owner] = [await room(), await user()]
    const { id } = await booking(where, { owner })
    await remove(`users/${owner.id}`)
    const { status, body } = await server.call('DELETE', `/api/bookings/${id}/?restore=1`)
    expect([status, body.code, body.errors]).toEqual([
      409,
      'target_deleted',
      { 'owner.id': [`refers to users/${owner.id}, which is deleted`] },
    ])
  })

  test('a target that was deleted later stands against a restore deep down', async () => {
    const [where, owner] = [await room(), await user()]
    const { id } = await booking(where, { owner })
    await remove(`users/${owner.id}`)
    await remove(`rooms/${where.id}`)
    const { status, body } = await server.call('DELETE', `/api/users/${owner.id}/?restore=1`)
    expect([status, body.errors]).toEqual([
      409,
      { [`bookings/${id}.room.id`]: [`refers to rooms/${where.id}, which is deleted`] },
    ])
    await restore(`rooms/${where.id}`)
    await restore(`users/${owner.id}`)
    expect(await isLive(`bookings/${id}`)).toBe(true)
  })

  test('clear empties a reference, and restore sets it again where it is still empty', async () => {
    const where = await room()
    const country = await server.expect(201, 'POST', '/api/countries/', { code: 'DE' })
    const other = await server.expect(201, 'POST', '/api/countries/', { code: 'FR' })
    const address = { city: 'x', zip: '12345', country: { id: country.id } }
    const [still, moved, trashed] = [
      await booking(where, { address }),
      await booking(where, { address }),
      await booking(where, { address }),
    ]
    await remove(`countries/${country.id}`)
    expect((await server.call('GET', `/api/bookings/${still.id}/`)).body.address.country).toBeNull()
    await server.expect(200, 'PATCH', `/api/bookings/${moved.id}/`, {
      address: { country: { id: other.id } },
    })
    await remove(`bookings/${trashed.id}`)
    await restore(`countries/${country.id}`)
    await restore(`bookings/${trashed.id}`)
    const countries = await Promise.all(
      [still, moved, trashed].map(
        async ({ id }) => (await server.call('GET', `/api/bookings/${id}/`)).body.address.country.id,
      ),
    )
    expect(countries).toEqual([country.id, other.id, country.id])
  })

  test('a value is free once its Entity is deleted; a restore then names who has it', async () => {
    const first = await room('wanted')
    await remove(`rooms/${first.id}`)
    const second = await room('wanted')
    expectInvalid(await server.call('DELETE', `/api/rooms/${first.id}/?restore=1`), {
      title: [`is taken by rooms/${second.id}`],
    })
    await remove(`rooms/${second.id}`)
    await restore(`rooms/${first.id}`)
    const owner = await user()
    const taken = await booking(first, { owner })
    await remove(`users/${owner.id}`)
    const retaken = await server.expect(201, 'POST', '/api/bookings/', {
      room: { id: first.id },
      starts_at: taken.starts_at,
    })
    const by = [`is taken by bookings/${retaken.id}, together with the other value`]
    expectInvalid(await server.call('DELETE', `/api/users/${owner.id}/?restore=1`), {
      [`bookings/${taken.id}.room.id`]: by,
      [`bookings/${taken.id}.starts_at`]: by,
    })
  })

  test('references that cannot be set again, since they would no longer be unique, stand against a restore', async () => {
    const country = await server.expect(201, 'POST', '/api/countries/', { code: 'XX' })
    const make = (name: string) =>
      server.expect(201, 'POST', '/api/seats/', { name, country: { id: country.id } })
    const [first, second] = [await make('a'), await make('b')]
    await remove(`countries/${country.id}`)
    await server.expect(200, 'PATCH', `/api/seats/${second.id}/`, { name: 'a' })
    const { status, body } = await server.call('DELETE', `/api/countries/${country.id}/?restore=1`)
    expect([status, body.errors]).toEqual([
      409,
      { 'seats.name+country.id': ['would no longer be unique if it were set again'] },
    ])
    await server.expect(200, 'PATCH', `/api/seats/${first.id}/`, { name: 'c' })
    await restore(`countries/${country.id}`)
    expect((await server.expect(200, 'GET', `/api/seats/${second.id}/`)).country).toEqual({ id: country.id })
  })

  test('purge: only what is deleted, only where nothing refers to it, and then without a trace', async () => {
    const where = await room('canary-of-the-room')
    await server.expect(200, 'PATCH', `/api/rooms/${where.id}/`, { title: 'canary-renamed' })
    const path = `/api/rooms/${where.id}/?purge=1`
    expect((await server.call('DELETE', path)).body.code).toBe('not_deleted')
    const referring = await booking(where)
    await remove(`bookings/${referring.id}`)
    await remove(`rooms/${where.id}`)
    expect((await server.call('DELETE', path)).body.errors).toEqual({
      'bookings.room': ['1 booking refers to it'],
    })
    await server.expect(204, 'DELETE', `/api/bookings/${referring.id}/?purge=1`)
    const { status, headers, text } = await server.call('DELETE', path)
    expect([status, text, headers.has('Takeback-Operation')]).toEqual([204, '', true])
    expect((await server.call('DELETE', path)).status).toBe(404)
    expect((await server.call('DELETE', `/api/rooms/${where.id}/?restore=1`)).status).toBe(404)
    const rows = await server.query(
      "SELECT kind, data, actor, actor_id FROM takeback_journal WHERE entity = 'rooms' AND entity_id = $1 ORDER BY version",
      where.id,
    )
    expect(rows.map(({ kind, data }) => [kind, data])).toEqual([
      ['create', null],
      ['update', null],
      ['delete', null],
      ['purge', null],
    ])
    expect(rows.at(-1)).toMatchObject({ actor: 'admins', actor_id: 1 })
    const next = await room()
    expect(next.id).toBeGreaterThan(where.id)
    expectInvalid(await server.call('DELETE', `/api/rooms/${next.id}/?purge=1&restore=1`), {
      purge: ['cannot be combined with restore'],
    })
  })
})

onEveryStore('a graph of references', graph, (server) => {
  const make = async (type: string, fields: object): Promise<{ id: number }> => ({
    id: (await server.expect(201, 'POST', `/api/${type}/`, fields)).id,
  })
  const live = async (type: string) =>
    (await server.expect(200, 'GET', `/api/${type}/?fields=id&limit=200`)).data.map(
      ({ id }: { id: number }) => id,
    )

  test('cycles, self-references and chains of any depth', async () => {
    const company = await make('companies', { name: 'c' })
    const lead = await make('people', { name: 'lead', company })
    await server.expect(200, 'PATCH', `/api/companies/${company.id}/`, { lead })
    const twin = await make('people', { name: 'twin', twin: lead })
    await server.expect(200, 'PATCH', `/api/people/${lead.id}/`, { twin })
    let last = twin
    for (let at = 0; at < 30; at++) last = await make('people', { name: `p${at}`, twin: last })
    const paper = await make('papers', { title: 't', author: last, meta: { reviewer: lead }, keeper: twin })
    const outside = await make('people', { name: 'outside', boss: lead })
    await server.expect(200, 'DELETE', `/api/companies/${company.id}/`)
    expect(await live('people')).toEqual([outside.id])
    expect(await live('papers')).toEqual([])
    expect((await server.expect(200, 'GET', `/api/people/${outside.id}/`)).boss).toBeNull()
    await server.expect(200, 'DELETE', `/api/people/${lead.id}/?restore=1`) // a member of the cycle brings all of it back
    expect(await live('people')).toHaveLength(33)
    expect(await live('companies')).toEqual([company.id])
    expect(await server.expect(200, 'GET', `/api/papers/${paper.id}/`)).toMatchObject({
      author: last,
      meta: { reviewer: lead },
      keeper: twin,
    })
    expect((await server.expect(200, 'GET', `/api/people/${outside.id}/`)).boss).toEqual(lead)
    const journal = await server.query(
      'SELECT operation, count(*) AS n FROM takeback_journal GROUP BY operation ORDER BY n DESC LIMIT 2',
    )
    expect(journal.map(({ n }) => n)).toEqual([35, 35])
  })

  test('a restrict deep down refuses the whole, and nothing changes', async () => {
    const author = await make('people', { name: 'a' })
    const child = await make('people', { name: 'b', twin: author })
    await make('papers', { title: 'held', meta: {}, keeper: child })
    const before = await live('people')
    const { status, body } = await server.call('DELETE', `/api/people/${author.id}/`)
    expect([status, body.errors]).toEqual([409, { 'papers.keeper': ['1 paper refers to it'] }])
    expect(await live('people')).toEqual(before)
  })
})

const family = withAdmins({
  parents: entity({ fields: { name: text() } }),
  children: entity({
    fields: {
      name: text(),
      parent: ref('parents', { onDelete: 'cascade' }),
      previous: ref('children', { optional: true, onDelete: 'cascade' }),
    },
  }),
})

const CHILDREN = isDeep ? 100_000 : 6000

/** A long timeout, so that the test does not depend on the speed of the machine. */
const SLOW_MACHINE = { 'statement-timeout': '100' }

onEveryStore(
  `${CHILDREN} children`,
  family,
  (server) => {
    giant(
      'go with one request, and come back with one',
      async () => {
        const { id } = await server.expect(201, 'POST', '/api/parents/', { name: 'p' })
        const { id: first } = await server.expect(201, 'POST', '/api/children/', {
          name: 'c',
          parent: { id },
        })
        await server.stop()
        // Half of them are a chain of references, as deep as its length.
        await server.query(
          `INSERT INTO children (name, "parent.id", "previous.id", version, created_at, updated_at)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${CHILDREN - 1})
       SELECT 'c' || i, CAST($1 AS BIGINT), CASE WHEN i < ${CHILDREN / 2} THEN CAST($2 AS BIGINT) + i - 1 END, 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' FROM n`,
          id,
          first,
        )
        await server.start()
        await server.expect(200, 'DELETE', `/api/parents/${id}/`)
        expect((await server.expect(200, 'GET', '/api/children/?count=1&limit=1')).total).toBe(0)
        await server.expect(200, 'DELETE', `/api/parents/${id}/?restore=1`)
        expect((await server.expect(200, 'GET', '/api/children/?count=1&limit=1')).total).toBe(CHILDREN)
        const kinds = await server.query(
          'SELECT kind, count(*) AS n FROM takeback_journal WHERE kind IN ($1, $2) GROUP BY kind ORDER BY kind',
          'delete',
          'restore',
        )
        expect(kinds).toEqual([
          { kind: 'delete', n: CHILDREN + 1 },
          { kind: 'restore', n: CHILDREN + 1 },
        ])
      },
      120_000,
    )
  },
  SLOW_MACHINE,
)
