import { expect, test } from 'bun:test'
import { app, entity, everyone, integer, invalid, list, ref, signedIn, text } from '../../src/takeback.ts'
import { expectInvalid, onEveryStore } from '../harness.ts'

/** What the hooks of notes were given. */
const seen: any[] = []

function look(note: any): void {
  seen.push(structuredClone(note))
  if (note.motto !== undefined) note.motto = note.motto.trim()
  if (note.weight !== undefined && note.weight.toFixed() > 10) throw invalid({ weight: 'is too much' })
}

const fields = {
  owner: ref('users'),
  code: text({ optional: true, unique: true }),
  title: text({ optional: true }),
  rank: integer({ default: 0, write: 'me.type == "admin"' }),
  keeper: ref('users', { optional: true, write: 'me.type == "admin"' }),
  motto: text({ optional: true, write: 'owner.id == me.id' }),
  said: text({ optional: true, read: 'me.type == "admin"' }),
  weight: integer({ default: 0 }),
  friends: list(ref('users'), { default: [] }),
}
const access = { create: signedIn, read: signedIn, update: signedIn } as const

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user' }, fields: { name: text() }, access: { read: everyone } }),
    plain: entity({ fields: { number: integer(), title: text() }, access }),
    notes: entity({ fields, access, before: { create: look, update: look } }),
    cards: entity({ fields, access }),
  },
})

onEveryStore('hooks and rules', declaration, (server) => {
  let [owner, other] = [
    { id: 0, token: '' },
    { id: 0, token: '' },
  ]
  const plain = { method: 'POST', path: '/api/plain/', body: { number: 77, title: 'big' } }

  test('the caller’s rules apply to what they sent, even if a hook has changed it', async () => {
    owner = await server.user('users', { email: 'a@example.com', name: 'A' })
    other = await server.user('users', { email: 'b@example.com', name: 'B' })
    const whole = { owner: { id: owner.id }, code: 'c' }
    const { id } = await server.expect(201, 'POST', '/api/notes/', whole, owner)
    const path = `/api/notes/${id}/`
    const writes = (motto: string): [string, string, unknown][] => [
      ['PATCH', path, { motto }],
      ['PUT', path, { ...whole, motto }],
      ['PATCH', `/api/notes/?filter=id==${id}`, { motto }],
      ['PUT', '/api/notes/?match=code', { ...whole, motto }],
      ['POST', '/api/batch/', [{ method: 'PATCH', path, body: { motto } }]],
      ['POST', '/api/batch/', [{ method: 'PUT', path: '/api/notes/?match=code', body: { ...whole, motto } }]],
    ]
    // Spaces make the hook change the value.
    for (const motto of ['theirs', ' theirs '])
      for (const [method, place, body] of writes(motto)) {
        const { status } = await server.call(method, place, { body, token: other.token })
        expect([method, place, motto, status === 403 || status === 422]).toEqual([method, place, motto, true])
      }
    expect(await server.expect(200, 'GET', path)).toMatchObject({ version: 1, motto: null })
    for (const [at, [method, place, body]] of writes(' mine ').entries()) {
      await server.expect(200, 'PATCH', path, { motto: `${at}` }, owner)
      expect((await server.call(method, place, { body, token: owner.token })).status).toBe(200)
      expect(await server.expect(200, 'GET', path)).toMatchObject({ motto: 'mine' })
    }
  })

  test('a batch gives no value to a write that its hook has not seen, nor that the caller may not set', async () => {
    const { id } = await server.expect(
      201,
      'POST',
      '/api/notes/',
      { owner: { id: other.id }, code: 'd' },
      other,
    )
    const before = await server.rows('takeback_journal')
    for (const [method, path] of [
      ['POST', '/api/notes/'],
      ['PATCH', `/api/notes/${id}/`],
      ['PUT', `/api/notes/${id}/`],
      ['PUT', '/api/notes/?match=code'],
    ])
      for (const sent of [
        { weight: '$0.number' },
        { rank: '$0.number' },
        { title: '$0.title' },
        { said: '$0.title' },
      ]) {
        const [field = ''] = Object.keys(sent)
        const body = [plain, { method, path, body: { owner: { id: other.id }, code: 'd', ...sent } }]
        expectInvalid(await server.call('POST', '/api/batch/', { token: other.token, body }), {
          [`1.${field}`]: ['must be a value: code runs before this part, and must see it'],
        })
      }
    expect(await server.rows('takeback_journal')).toBe(before)
  })

  test('a batch refers to the id of an Entity that it creates, and to no other', async () => {
    const user = { email: 'c@example.com', password: 'correct horse battery', name: 'C' }
    const made = { method: 'POST', path: '/api/users/', body: user }
    const changed = { method: 'PATCH', path: `/api/users/${other.id}/`, body: { name: 'O' } }
    const note = (body: object) => ({ method: 'POST', path: '/api/notes/', body })
    expectInvalid(
      await server.call('POST', '/api/batch/', { body: [changed, note({ owner: { id: '$0.id' } })] }),
      {
        '1.owner.id': ['must be a value: code runs before this part, and must see it'],
      },
    )
    const keeper = { owner: { id: other.id }, keeper: { id: '$0.id' } }
    expectInvalid(
      await server.call('POST', '/api/batch/', { token: other.token, body: [plain, note(keeper)] }),
      {
        '1.keeper': ['is not yours to set'],
      },
    )
    const all = { owner: { id: '$0.id' }, friends: [{ id: '$0.id' }, { id: 1 }], title: '$$0.id' }
    const upsert = { method: 'PUT', path: '/api/notes/?match=code', body: { ...all, code: 'e' } }
    const { results } = await server.expect(200, 'POST', '/api/batch/', [made, note(all), upsert])
    const { id } = results[0].body
    for (const { body } of results.slice(1))
      expect(body).toMatchObject({ owner: { id }, friends: [{ id }, { id: 1 }], title: '$0.id' })
    // The hook sees texts as they are written. Only the ids are not known yet.
    expect(seen.at(-1)).toMatchObject({ owner: { id: '$0.id' }, title: '$0.id' })
  })

  test('a hook gets what has the right types only', async () => {
    const count = seen.length
    const body = { owner: { id: other.id }, weight: '$0.number' }
    expectInvalid(await server.call('POST', '/api/notes/', { token: other.token, body }), {
      weight: ['must be an integer'],
    })
    expect(seen.length).toBe(count)
  })

  test('a create may set the same with a hook as without', async () => {
    for (const type of ['cards', 'notes']) {
      const body = { owner: { id: other.id }, said: 'something' }
      const { id } = await server.expect(201, 'POST', `/api/${type}/`, body, other)
      expect(await server.expect(200, 'GET', `/api/${type}/${id}/`)).toMatchObject({ said: 'something' })
    }
  })
})
