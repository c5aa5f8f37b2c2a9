import { expect, test } from 'bun:test'
import { bookings } from '../declarations.ts'
import { ADMIN, onEveryStore, onStore } from '../harness.ts'

onEveryStore('the journal', bookings, (server) => {
  const journal = (where = '1 = 1') =>
    server.query(`SELECT * FROM takeback_journal WHERE ${where} ORDER BY seq`)

  test('has every change of every operation, with who, when and the Entity as it then stood', async () => {
    const { token, id: user } = await server.user('users', { email: 'actor@example.com' })
    const room = await server.expect(201, 'POST', '/api/rooms/', { title: 'r', beds: 1 })
    const made = await server.call('POST', '/api/bookings/', {
      token,
      body: { room: { id: room.id }, owner: { id: user }, starts_at: '2026-12-31T15:00:00Z' },
    })
    const changed = await server.call('PATCH', `/api/bookings/${made.body.id}/`, { body: { guests: 2 } })
    const gone = await server.call('DELETE', `/api/users/${user}/`)
    const back = await server.call('DELETE', `/api/users/${user}/?restore=1`)
    const operations = [made, changed, gone, back].map(({ headers }) => headers.get('Takeback-Operation'))
    const rows = await journal("entity = 'bookings'")
    expect(
      rows.map(({ kind, version, actor, actor_id, operation }) => [
        kind,
        version,
        actor,
        actor_id,
        operation,
      ]),
    ).toEqual([
      ['create', 1, 'users', user, operations[0]],
      ['update', 2, 'admins', 1, operations[1]],
      ['delete', 3, 'admins', 1, operations[2]],
      ['restore', 4, 'admins', 1, operations[3]],
    ])
    expect(JSON.parse(String(rows[0]?.data))).toEqual(made.body)
    expect(JSON.parse(String(rows[1]?.data))).toEqual(changed.body)
    expect(rows[0]?.at).toBe(made.body.created_at)
    const now = await server.expect(200, 'GET', `/api/bookings/${made.body.id}/`)
    expect(JSON.parse(String(rows[3]?.data))).toEqual(now)
  })

  test('a sign-up is by nobody, the command line is the system', async () => {
    await server.expect(
      201,
      'POST',
      '/api/users/',
      { email: 'self@example.com', password: ADMIN.password },
      { token: null },
    )
    const [first, ...rest] = await journal("kind = 'create' AND entity IN ('users', 'admins')")
    expect([first?.actor, first?.actor_id]).toEqual(['system', null])
    expect([rest.at(-1)?.actor, rest.at(-1)?.actor_id]).toEqual([null, null])
  })

  test('what fails leaves no row, and secrets are in no row', async () => {
    const before = (await journal()).length
    await server.call('POST', '/api/rooms/', { body: { title: 'r', beds: 1 } })
    await server.call('POST', '/api/bookings/', {
      body: { room: { id: 99 }, starts_at: '2026-12-31T15:00:00Z' },
    })
    await server.call('PATCH', '/api/rooms/1/', { body: { beds: 0 } })
    expect(await journal()).toHaveLength(before)
    expect(JSON.stringify(await journal())).not.toMatch(/argon2|password/)
  })

  test('the newest row of each Entity is the Entity', async () => {
    for (const entity of ['users', 'rooms', 'bookings'])
      for (const { data, entity_id } of await journal(
        `entity = '${entity}' AND version = (SELECT max(version) FROM takeback_journal j WHERE j.entity = '${entity}' AND j.entity_id = takeback_journal.entity_id)`,
      )) {
        const [row] = (await server.expect(200, 'GET', `/api/${entity}/?trashed=with&id=${entity_id}`)).data
        // Only the trash shows how an Entity was deleted.
        const { deletion: _, ...state } = row
        expect(JSON.parse(String(data))).toEqual(state)
      }
  })

  test('times never go back, and operations sort by time', async () => {
    const rows = await journal()
    const times = rows.map(({ at }) => String(at))
    expect(times).toEqual([...times].sort())
    const operations = [...new Set(rows.map(({ operation }) => String(operation)))]
    expect(operations).toEqual([...operations].sort())
  })
})

// The failure is specific to SQLite: a trigger that breaks a deferred key.
onStore('sqlite', 'a commit that fails', bookings, (server) => {
  test('nobody in its group gets a 2xx, and nothing of it is there', async () => {
    await server.query('CREATE TABLE poison (x INTEGER REFERENCES rooms (id) DEFERRABLE INITIALLY DEFERRED)')
    await server.query(
      "CREATE TRIGGER poisoned AFTER INSERT ON rooms WHEN new.title = 'poison' BEGIN INSERT INTO poison VALUES (-1); END",
    )
    // Which writes share a commit depends on the machine: repeats until the failing one shares a commit with others.
    let failed = 0
    for (let round = 0; failed < 2; round++) {
      const before = [await server.rows('rooms'), await server.rows('takeback_journal')]
      const titles = [...Array.from({ length: 10 }, (_, at) => `good ${round} ${at}`), 'poison']
      const answers = await Promise.all(
        titles.map((title) => server.call('POST', '/api/rooms/', { body: { title, beds: 1 } })),
      )
      expect(answers.at(-1)?.status).toBeGreaterThanOrEqual(500)
      const good = answers.filter(({ status }) => status === 201)
      failed = answers.filter(({ status }) => status >= 500).length
      expect(good.length + failed).toBe(titles.length)
      expect([await server.rows('rooms'), await server.rows('takeback_journal')]).toEqual(
        before.map((count) => count + good.length),
      )
    }
    await server.query('DROP TRIGGER poisoned')
    await server.expect(201, 'POST', '/api/rooms/', { title: 'after', beds: 1 })
  })
})
