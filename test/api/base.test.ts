import { expect, test } from 'bun:test'
import { entity, integer, json, list, object, ref, signedIn, text } from '../../src/takeback.ts'
import { users, withAdmins } from '../declarations.ts'
import { expectInvalid, onEveryStore, type TestRequest } from '../harness.ts'
import { clearOut } from '../work.ts'

const open = { create: signedIn, read: signedIn, update: signedIn, delete: signedIn, restore: signedIn }
const fields = {
  title: text(),
  guests: integer({ default: 1 }),
  next: ref('trips', { optional: true }),
  place: object({ city: text({ optional: true }), zip: text({ optional: true }) }, { optional: true }),
  tags: list(text(), { default: [] }),
  extra: json({ optional: true }),
  margin: integer({ default: 7, read: 'me.type == "admin"', write: signedIn }),
}
const own = { optional: true, read: 'owner.id == me.id', write: signedIn } as const
const declared = withAdmins(
  {
    users,
    trips: entity({ fields, access: { ...open, history: 'me.type == "user"' } }),
    plans: entity({
      fields,
      access: open,
      before: {
        update: ({ title, ...rest }) => (title === undefined ? rest : { ...rest, title: title.trim() }),
      },
    }),
    // Some users see a field only in their own Entities.
    owned: entity({
      fields: {
        owner: ref('users'),
        title: text(),
        code: text(own),
        count: integer(own),
        next: ref('trips', own),
        place: object({ city: text() }, own),
        tags: list(text(), own),
        extra: json(own),
        around: object({ seen: text({ optional: true }), hidden: text({ ...own }) }),
      },
      access: { ...open, history: signedIn },
    }),
    locked: entity({ fields: { title: text() }, access: { read: signedIn } }),
  },
  { journal: { keep: '90d' } },
)

onEveryStore('a change that says what it is based on', declared, (server) => {
  let token = ''
  const patch = (path: string, body: unknown, sent: TestRequest = {}) =>
    server.call('PATCH', `/api/${path}`, { token, ...sent, body })
  async function trip(body: object, type = 'trips'): Promise<string> {
    token ||= (await server.user('users', { email: 'b@example.com' })).token
    const { id } = await server.expect(201, 'POST', `/api/${type}/`, { title: 'Alps', ...body }, { token })
    return `${type}/${id}/`
  }

  test('is merged where others have changed other fields, and refused where they changed the same', async () => {
    const path = await trip({ place: { city: 'Bern', zip: '3000' }, extra: { a: 1, b: 1 } })
    await server.expect(200, 'PATCH', `/api/${path}`, { guests: 4, place: { city: 'Chur' }, extra: { a: 2 } })
    const merged = await patch(`${path}?base=1`, { title: 'Jura', place: { zip: '7000' }, extra: { b: 2 } })
    expect(merged.status).toBe(200)
    expect(merged.body).toMatchObject({
      version: 3,
      title: 'Jura',
      guests: 4,
      place: { city: 'Chur', zip: '7000' },
      extra: { a: 2, b: 2 },
    })
    const rows = await server.rows('takeback_journal')
    const body = {
      title: 'Jura',
      guests: 5,
      place: { city: 'Genf', zip: '7000' },
      extra: { a: 3 },
      tags: ['x'],
    }
    const refused = await patch(`${path}?base=1`, body)
    expect([refused.status, refused.body.code, refused.body.version]).toEqual([409, 'changed_meanwhile', 3])
    expect(Object.keys(refused.body.errors)).toEqual(['guests', 'place.city', 'extra.a'])
    expect(refused.body.errors.guests[0]).toMatch(
      /^was changed since version 1, by admins\/1 at \S+; is 4 now$/,
    )
    expect(refused.body.conflicts.guests).toEqual({
      now: 4,
      version: 2,
      actor: 'admins/1',
      at: expect.any(String),
      operation: expect.any(String),
    })
    expect(refused.body.conflicts['extra.a'].now).toBe(2)
    expect(await server.rows('takeback_journal')).toBe(rows)
    // A value that was changed back is no conflict, and neither is a change to the current value.
    await server.expect(200, 'PATCH', `/api/${path}`, { guests: 1 })
    expect((await patch(`${path}?base=1`, { guests: 6, place: { city: 'Chur' } })).body.guests).toBe(6)
  })

  test('an object that is gone, a reference and a list are fields too; additions never conflict', async () => {
    const other = Number((await trip({})).split('/')[1])
    const path = await trip({ place: { city: 'Bern' }, tags: ['a'] })
    await server.expect(200, 'PATCH', `/api/${path}`, {
      place: null,
      next: { id: other },
      tags: ['b'],
      guests: 3,
    })
    const refused = await patch(`${path}?base=1`, { place: { zip: '1' }, next: null, tags: ['c'] })
    expect(Object.keys(refused.body.errors).toSorted()).toEqual(['next.id', 'place', 'tags'])
    expect(refused.body.conflicts['next.id'].now).toBe(other)
    const added = await patch(`${path}?base=1`, { tags: { $add: ['c'] }, guests: { $add: 2 } })
    expect(added.body).toMatchObject({ tags: ['b', 'c'], guests: 5 })
    expect((await patch(`${path}?base=1`, { place: null })).status).toBe(200)
  })

  test('who changed it is for those who see the history, and hidden fields are neither named nor compared', async () => {
    const path = await trip({}, 'plans')
    await server.expect(200, 'PATCH', `/api/${path}`, { guests: 2, margin: 9 })
    const refused = await patch(`${path}?base=1`, { guests: 3, margin: 8 })
    expect(refused.body.errors).toEqual({ guests: ['was changed since version 1; is 2 now'] })
    expect(refused.body.conflicts).toEqual({ guests: { now: 2 } })
    expect((await patch(`${path}?base=1`, { margin: 8 })).status).toBe(200)
    // The value that a hook stores differs from the value that was sent.
    await server.expect(200, 'PATCH', `/api/${path}`, { title: 'Jura' })
    expect((await patch(`${path}?base=1`, { title: ' Alps ' })).body.errors.title).toHaveLength(1)
  })

  test('in a batch it is refused at its place', async () => {
    const path = await trip({})
    await server.expect(200, 'PATCH', `/api/${path}`, { guests: 2 })
    const part = (body: object) => ({ method: 'PATCH', path: `/api/${path}?base=1`, body })
    const batch = (...body: object[]) => server.call('POST', '/api/batch/', { token, body })
    const refused = await batch(part({ title: 'x' }), part({ guests: 5 }))
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([409, ['1.guests']])
    expect((await batch(part({ title: 'x' }))).body.results[0].body).toMatchObject({ title: 'x', guests: 2 })
  })

  test('a base that is no version, or whose version is gone, is refused, and only after the rules', async () => {
    const path = await trip({})
    for (const base of ['', '0', 'x', '1.5', '1e1'])
      expectInvalid(await patch(`${path}?base=${base}`, { guests: 2 }), {
        base: ['must be a version: a whole number from 1'],
      })
    expectInvalid(await patch(`${path}?base=2`, { guests: 2 }), {
      base: ['is not a version yet: the last one is 1'],
    })
    expectInvalid(await server.call('PUT', `/api/${path}?base=1`, { body: { title: 'x' } }), {
      base: ['is not a parameter here'],
    })
    const { id } = await server.expect(201, 'POST', '/api/locked/', { title: 'x' })
    expect((await patch(`locked/${id}/?base=9`, { title: 'y' })).status).toBe(403)
    expect((await patch('trips/999/?base=9', { title: 'y' })).status).toBe(404)
    const stale = await patch(`${path}?base=1`, { guests: 2 }, { headers: { 'If-Match': '"7"' } })
    expect(stale.status).toBe(412)
    for (const guests of [2, 3]) await server.expect(200, 'PATCH', `/api/${path}`, { guests })
    await clearOut(server.context, Date.now() + 91 * 86_400_000)
    const gone = await patch(`${path}?base=1`, { title: 'y' })
    expect([gone.status, gone.body.code]).toEqual([410, 'version_gone'])
    expect((await patch(`${path}?base=3`, { title: 'y' })).status).toBe(200)
  })

  test('of many at once with one base, one wins for each field, and nothing is lost', async () => {
    const path = await trip({})
    const sent = Array.from({ length: 24 }, (_, at) =>
      at % 2 === 0 ? { guests: at + 10 } : { title: `${at}` },
    )
    const all = await Promise.all(sent.map((body) => patch(`${path}?base=1`, body)))
    expect(all.filter(({ status }) => status === 200)).toHaveLength(2)
    expect(all.filter(({ body }) => body.code === 'changed_meanwhile')).toHaveLength(22)
    const { guests, title } = await server.expect(200, 'GET', `/api/${path}`)
    expect([guests >= 10, title !== 'Alps']).toEqual([true, true])
  })

  test('a lost answer can be asked for again', async () => {
    const path = await trip({})
    const headers = { 'Idempotency-Key': 'based' }
    const first = await patch(`${path}?base=1`, { guests: 2 }, { headers })
    const again = await patch(`${path}?base=1`, { guests: 2 }, { headers })
    expect([again.text, again.headers.get('idempotent-replay')]).toEqual([first.text, 'true'])
  })

  test('knows nothing of values that the caller does not see in this Entity', async () => {
    const [ann, ben] = [
      await server.user('users', { email: 'ann@example.com' }),
      await server.user('users', { email: 'ben@example.com' }),
    ]
    const { id: next } = await server.expect(201, 'POST', '/api/trips/', { title: 'a' }, { token: ann.token })
    const full = {
      code: 'a',
      count: 1,
      next: { id: next },
      place: { city: 'Bern' },
      tags: ['a'],
      extra: { a: 1 },
      around: { seen: null, hidden: 'a' },
    }
    const others = {
      code: 'b',
      count: 2,
      next: null,
      place: { city: 'Chur' },
      tags: ['b'],
      extra: { a: 2 },
      around: { hidden: 'b' },
    }
    const empty = { around: {} }

    for (const [before, changed] of [
      [full, {}],
      [full, others],
      [empty, others],
      [full, { ...others, code: null, count: null, place: null, tags: null, extra: null }],
    ] as const) {
      const body = { title: 'a', owner: { id: ann.id }, ...before }
      const { id } = await server.expect(201, 'POST', '/api/owned/', body)
      await server.expect(200, 'PATCH', `/api/owned/${id}/`, { ...changed, title: 'b' })
      const path = `owned/${id}/?base=1&dry_run=1`
      for (const [name, value] of Object.entries({ ...full, ...others })) {
        const sent = { token: ben.token }
        expect([name, (await patch(path, { [name]: value }, sent)).status]).toEqual([name, 200])
        expect([name, (await patch(path, { [name]: null }, sent)).status < 500]).toEqual([name, true])
      }
      const both = await patch(path, { code: 'c', title: 'c' }, { token: ben.token })
      expect([both.status, Object.keys(both.body.conflicts)]).toEqual([409, ['title']])
      // The owner is told of the conflict.
      if ('count' in changed)
        expect(Object.keys((await patch(path, { count: 9 }, { token: ann.token })).body.conflicts)).toEqual([
          'count',
        ])
    }
  })
})
