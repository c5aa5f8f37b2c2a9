import { beforeAll, expect, test } from 'bun:test'
import { bookings } from '../declarations.ts'
import { ADMIN, expectInvalid, onEveryStore } from '../harness.ts'

onEveryStore('creating many at once', bookings, (server) => {
  const post = (body: unknown, entity = 'rooms') => server.call('POST', `/api/${entity}/`, { body })
  const rooms = (...titles: string[]) => titles.map((title) => ({ title, beds: 1 }))
  let room = 0

  beforeAll(async () => {
    room = (await server.expect(201, 'POST', '/api/rooms/', { title: 'Attic', beds: 1 })).id
  })

  test('all of them come back in their order, as one operation that can be undone', async () => {
    const made = await post(rooms('c', 'a', 'b'))
    expect(made.status).toBe(201)
    expect(Object.keys(made.body)).toEqual(['data'])
    expect(made.body.data.map(({ title }: { title: string }) => title)).toEqual(['c', 'a', 'b'])
    for (const one of made.body.data)
      expect(await server.expect(200, 'GET', `/api/rooms/${one.id}/`)).toEqual(one)
    const operation = made.headers.get('takeback-operation')
    expect((await server.expect(200, 'GET', `/api/operations/${operation}/`)).data).toHaveLength(3)
    const undone = await server.expect(200, 'POST', `/api/operations/${operation}/undo/`)
    expect(undone.total).toBe(3)
    for (const { id } of made.body.data) await server.expect(404, 'GET', `/api/rooms/${id}/`)
  })

  test('all failures of all of them come at once, and nothing is written', async () => {
    const before = [await server.rows('rooms'), await server.rows('takeback_journal')]
    expectInvalid(await post([{ title: '' }, { title: 'fine', beds: 1 }, 5, { title: 'Attic', beds: 0 }]), {
      '0.title': ['must have at least 1 character'],
      '0.beds': ['is required'],
      '2': ['must be an object'],
      '3.beds': ['must be at least 1'],
      '3.title': [`is taken by rooms/${room}`],
    })
    expect([await server.rows('rooms'), await server.rows('takeback_journal')]).toEqual(before)
  })

  test('what only the database finds has its place too', async () => {
    const starts_at = '2026-05-01T10:00:00Z'
    const booking = (id: number, more = {}) => ({ room: { id }, starts_at, ...more })
    await server.expect(201, 'POST', '/api/bookings/', booking(room))
    const nothing = ['refers to nothing']
    const other = { starts_at: '2026-05-02T10:00:00Z' }
    const received = await post([booking(room, other), booking(999), booking(room)], 'bookings')
    expect(received.status).toBe(422)
    expect(received.body.errors).toMatchObject({ '1.room': nothing, '1.room.id': nothing })
    expect(received.body.errors['2.starts_at'][0]).toMatch(/^is taken by bookings\/1, together/)
    expect(Object.keys(received.body.errors).toSorted()).toEqual([
      '1.room',
      '1.room.id',
      '2.room.id',
      '2.starts_at',
    ])
    expect(await server.rows('bookings')).toBe(1)
  })

  test('a value that stands twice in the list is said to', async () => {
    expectInvalid(await post([...rooms('x', 'y', 'x', 'Attic', 'Attic'), { title: 'y' }]), {
      '2.title': ['is taken by 0 of the same list'],
      '3.title': [`is taken by rooms/${room}`],
      '4.title': ['is taken by 3 of the same list'],
      '5.title': ['is taken by 1 of the same list'],
      '5.beds': ['is required'],
    })
    const users = ['A@example.com', 'a@EXAMPLE.com'].map((email) => ({ email, password: ADMIN.password }))
    expectInvalid(await post(users, 'users'), { '1.email': ['is taken by 0 of the same list'] })
    expect(await server.rows('users')).toBe(0)
  })

  test('empty and too long lists are refused, and the rules of single creates hold', async () => {
    for (const number of [0, 1001])
      expectInvalid(await post(Array.from({ length: number }, () => ({}))), {
        '': [`must be a list of 1 to 1000 items, not ${number}`],
      })
    const { token } = await server.user('users', { email: 'u@example.com' })
    expect((await server.call('POST', '/api/rooms/', { body: rooms('z'), token })).status).toBe(403)
    expect((await server.call('POST', '/api/rooms/', { body: rooms('z'), token: null })).status).toBe(401)
    for (const [method, path] of [
      ['PATCH', `/api/rooms/${room}/`],
      ['POST', '/api/auth/login'],
    ] as const)
      expect((await server.call(method, path, { body: [] })).body.code).toBe('not_an_object')
  })

  test('users of a list can log in', async () => {
    const emails = ['l1@example.com', 'l2@example.com', 'l3@example.com']
    const made = await post(
      emails.map((email) => ({ email, password: ADMIN.password })),
      'users',
    )
    expect(made.status).toBe(201)
    expect(made.text).not.toContain('password')
    for (const email of emails)
      await server.expect(
        200,
        'POST',
        '/api/auth/login',
        { email, password: ADMIN.password },
        { token: null },
      )
  })

  test('more passwords than can be hashed in a moment are refused', async () => {
    const users = Array.from({ length: 101 }, (_, at) => ({
      email: `p${at}@example.com`,
      password: ADMIN.password,
    }))
    const before = await server.rows('users')
    expectInvalid(await post(users, 'users'), {
      '': ['has 101 passwords or other secrets: at most 100 are taken in one go'],
    })
    expect(await server.rows('users')).toBe(before)
  })

  test('a thousand in one go take less time than a few hundred one by one', async () => {
    const many = (tag: string, length: number) => rooms(...Array.from({ length }, (_, at) => `${tag} ${at}`))
    await post(many('warm', 1000))
    const timed = async (work: () => Promise<unknown>) => {
      const began = performance.now()
      await work()
      return performance.now() - began
    }
    // The best of several, because other work on the machine only adds time.
    const lists: number[] = []
    let single = 0
    for (let round = 0; round < 4; round++) {
      lists.push(await timed(() => post(many(`list ${round}`, 1000))))
      single += await timed(async () => {
        for (const one of many(`single ${round}`, 100)) await post(one)
      })
    }
    expect(Math.min(...lists)).toBeLessThan(single)
  })
})
