import { afterEach, expect, test } from 'bun:test'
import { budget } from '../../src/budget.ts'
import { boolean, entity, everyone, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, onEveryStore, type TestServer } from '../harness.ts'
import { TestStream } from '../test-stream.ts'

const declaration = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {}, access: { read: 'id == me.id' } }),
  rooms: entity({ fields: { title: text(), open: boolean() }, access: { read: everyone } }),
  notes: entity({
    fields: { title: text(), owner: ref('users') },
    access: { read: 'owner.id == me.id', create: everyone },
  }),
})

onEveryStore('the stream of several lists', declaration, (server: TestServer) => {
  let all: TestStream[] = []
  afterEach(() => {
    for (const one of all) one.cut()
    all = []
  })

  async function follow(body: unknown, token: string | null = server.adminToken): Promise<TestStream> {
    const stream = await TestStream.open(server, body, token)
    all.push(stream)
    return stream
  }
  const add = (title: string, open = true) =>
    server.expect(201, 'POST', '/api/rooms/', { title, open }) as Promise<{ id: number }>
  const now = async () => (await server.call('GET', '/api/changes/')).body.next as string

  test('sends each list what a stream of its own would send, from the position of that list', async () => {
    const early = await now()
    const first = await add('first', false)
    const late = await now()
    const second = await add('second')
    const lists = [
      { entity: 'rooms', since: early },
      { entity: ['rooms'], since: late, filter: 'open', fields: ['id', 'title'] },
      { since: early, entity: 'notes,rooms' },
      {},
    ]
    const stream = await follow({ lists })
    expect([stream.response.status, stream.response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream',
    ])
    await server.call('PATCH', `/api/rooms/${first.id}/`, { body: { title: 'changed', open: true } })
    await server.call('PATCH', `/api/rooms/${second.id}/`, { body: { open: false } })
    await eventually(() => lists.every((_, at) => stream.of(at).length >= 2))
    const all = ['upsert first', 'upsert second', 'upsert changed', 'upsert second']
    await eventually(() => stream.titles(0).length === all.length && stream.titles(2).length === all.length)
    expect(stream.titles(0)).toEqual(all)
    expect(stream.titles(1)).toEqual(['upsert second', 'upsert changed', `remove ${second.id}`])
    expect(Object.keys(stream.of(1)[0]?.data.data)).toEqual(['id', 'title'])
    expect(stream.titles(2)).toEqual(all)
    expect(stream.titles(3)).toEqual(['upsert changed', 'upsert second'])
    // From each position, a stream of the same list continues where this one was.
    const [, at] = stream.of(0)
    const rest = await server.call('GET', `/api/changes/?entity=rooms&since=${at?.id}`)
    expect(rest.body.data).toEqual(
      stream
        .of(0)
        .slice(2)
        .map(({ data }) => data),
    )
  })

  test('refuses a list as a request of its own would be refused, and follows the others', async () => {
    const user = await server.user('users', { email: 'eve@example.com', password: 'correct horse' })
    const gone = `${'0'.repeat(12)}-1-1`
    const lists = [
      { entity: 'roms' },
      { entity: 'rooms' },
      { entity: 'rooms', filter: 'opn' },
      { entity: 'rooms', fields: 'nothing' },
      { entity: 'rooms,notes', filter: 'open' },
      { entity: 'rooms', since: 'nowhere' },
      { entity: 'admins' },
      { entity: 'rooms', since: gone },
    ]
    const stream = await follow({ lists }, user.token)
    await add('third')
    await eventually(() => stream.of(1).length > 0)
    expect(stream.titles(1)).toEqual(['upsert third'])
    const refused = lists.map((_, at) => stream.of(at)[0]?.data).filter(({ type }) => type === 'error')
    const asked = []
    for (const list of lists) {
      const query = new URLSearchParams(list as Record<string, string>)
      const { status, body } = await server.call('GET', `/api/changes/?${query}`, { token: user.token })
      if (status !== 200) asked.push({ type: 'error', status, ...body })
    }
    expect(asked.map(({ status }) => status)).toEqual([422, 422, 422, 422, 422, 403, 410])
    expect(refused).toEqual(asked)
  })

  test('names at most as many failures as one answer, but at least one for each list', async () => {
    const entity = Array.from({ length: 2 * budget.failures }, (_, at) => `rooms${at}`)
    const stream = await follow({ lists: Array(budget.streamLists).fill({ entity }) })
    await eventually(() => stream.isOver)
    const named = Array.from({ length: budget.streamLists }, (_, at) => stream.of(at)[0]?.data.errors)
    const counts = named.map(({ entity }) => entity.length)
    expect(counts).toEqual([budget.failures, ...Array(budget.streamLists - 1).fill(1)])
    expect(named.at(-1)['']).toEqual([`and ${entity.length - 1} more`])
  })

  test('ends at once if no list can be followed', async () => {
    const stream = await follow({ lists: [{ entity: 'notes' }, { entity: 'nothing' }] }, null)
    await eventually(() => stream.isOver)
    expect([0, 1].map((at) => stream.of(at)[0]?.data.status)).toEqual([401, 422])
  })

  test('refuses a body that names no lists', async () => {
    const refused = async (body: unknown) => {
      const stream = await follow(body)
      expect(stream.response.status).toBe(422)
      await eventually(() => stream.isOver)
    }
    const errorsOf = async (body: unknown) => {
      const { status, body: answer } = await server.call('POST', '/api/changes/', {
        body,
        headers: { Accept: 'text/event-stream' },
      })
      return [status, answer.errors]
    }
    await refused({})
    const none = { lists: ['must be a list of 1 to 100 lists to follow'] }
    for (const lists of [undefined, null, 'rooms', {}, [], Array(101).fill({})])
      expect(await errorsOf({ lists })).toEqual([422, none])
    expect(
      await errorsOf({ lists: [{}, 1, { entity: 1, fields: [1], filter: ['open'], limit: '1' }], to: 1 }),
    ).toEqual([
      422,
      {
        to: ['is not known here'],
        'lists.1': ['must be an object'],
        'lists.2.entity': ['must be a text, or a list of texts'],
        'lists.2.fields': ['must be a text, or a list of texts'],
        'lists.2.filter': ['must be a text'],
        'lists.2.limit': ['is not known here'],
      },
    ])
    const { status, body } = await server.call('POST', '/api/changes/', { body: { lists: [{}] } })
    expect([status, body.message]).toEqual([
      406,
      'The Accept header is required and must allow text/event-stream.',
    ])
  })

  test('cuts off no client because an operation concerns many lists', async () => {
    const lists = Array.from({ length: 20 }, () => ({ entity: 'rooms', fields: 'title' }))
    const stream = await follow({ lists })
    const body = { title: 'x'.repeat(1000), open: true }
    const parts = Array.from({ length: 100 }, () => ({ method: 'POST', path: '/api/rooms/', body }))
    await server.expect(200, 'POST', '/api/batch/', parts)
    await eventually(() => stream.isOver || lists.every((_, at) => stream.of(at).length === parts.length))
    expect(stream.isOver).toBe(false)
  })

  test('ends with the token, whatever list has something to tell', async () => {
    const user = await server.user('users', { email: 'uma@example.com', password: 'correct horse' })
    const stream = await follow({ lists: [{ entity: 'notes' }, { entity: 'rooms' }] }, user.token)
    await server.call('POST', '/api/auth/logout', { token: user.token })
    await add('after')
    await eventually(() => stream.isOver)
    expect(stream.of(1)).toEqual([])
  })
})
