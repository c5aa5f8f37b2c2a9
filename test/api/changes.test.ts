import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { boolean, entity, everyone, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, giant, onEveryStore, type TestServer } from '../harness.ts'

const declaration = withAdmins({
  users: entity({
    login: { userType: 'user' },
    fields: { team: text({ optional: true }), note: text({ optional: true }) },
    access: { read: 'id == me.id' },
  }),
  news: entity({ fields: { title: text() }, access: { read: everyone, history: everyone } }),
  notes: entity({
    fields: {
      title: text(),
      secret: text({ optional: true, read: 'owner.id == me.id' }),
      owner: ref('users'),
    },
    access: { read: 'owner.id == me.id || title.startsWith("shared")', update: 'owner.id == me.id' },
  }),
  rooms: entity({ fields: { title: text(), open: boolean() }, access: { read: everyone } }),
  bookings: entity({
    fields: { title: text(), room: ref('rooms', { onDelete: 'cascade' }), team: text({ optional: true }) },
    access: { read: 'room.open || team == me.team' },
  }),
})

interface Change {
  type: string
  entity: string
  id: number
  data: Record<string, unknown>
  actor: string | null
}

const short = ({ type, entity, id }: Change) =>
  type === 'reset' ? `reset ${entity}` : `${type} ${entity}/${id}`

/** Reads a stream of events as they arrive. */
async function listen(server: TestServer, path: string, headers: Record<string, string> = {}) {
  const cut = new AbortController()
  const response = await fetch(server.url + path, {
    headers: { Accept: 'text/event-stream', ...headers },
    signal: cut.signal,
  })
  const heard = {
    status: response.status,
    text: '',
    isOver: false,
    type: response.headers.get('content-type'),
  }
  const read = async () => {
    for await (const chunk of response.body as ReadableStream<Uint8Array>)
      heard.text += new TextDecoder().decode(chunk)
  }
  read()
    .catch(() => {})
    .finally(() => {
      heard.isOver = true
    })
  return { heard, cut: () => cut.abort() }
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

onEveryStore('the feed of changes', declaration, (server) => {
  const people = new Map<string, { id: number; token: string }>()
  const person = async (name: string, fields: object = {}) => {
    const known = people.get(name)
    if (known !== undefined) return known
    const made = await server.user('users', {
      email: `${name}@example.com`,
      password: 'correct horse',
      ...fields,
    })
    people.set(name, made)
    return made
  }
  const now = async () => (await server.call('GET', '/api/changes/')).body.next as string
  const since = async (position: string, token: string | null = null, query = '') => {
    const { status, body } = await server.call('GET', `/api/changes/?since=${position}${query}`, { token })
    expect([status, body]).toEqual([200, body])
    return body as { data: Change[]; next: string; more: boolean }
  }
  const add = async (name: string, body: object) =>
    (await server.expect(201, 'POST', `/api/${name}/`, body)) as { id: number; created_at: string }
  const change = (path: string, body: object) => server.call('PATCH', `/api/${path}/`, { body })

  test('tells each caller what they see now, and what they see no longer, with the fields that they see', async () => {
    const [ann, bob] = [await person('ann'), await person('bob')]
    const start = await now()
    const note = await add('notes', { title: 'mine', secret: 's', owner: { id: ann.id } })
    const first = await since(start, ann.token)
    expect(first.data).toMatchObject([
      {
        type: 'upsert',
        entity: 'notes',
        id: note.id,
        version: 1,
        at: note.created_at,
        data: note,
        actor: null,
      },
    ])
    expect((await since(start, bob.token)).data).toEqual([])
    await change(`notes/${note.id}`, { title: 'shared', owner: { id: bob.id } })
    const [later] = (await since(first.next, ann.token)).data
    expect(later).toMatchObject({ type: 'upsert', data: { title: 'shared', secret: null } })
    await change(`notes/${note.id}`, { title: 'not any more' })
    const { data } = await since(first.next, ann.token)
    expect(data.map(short)).toEqual([`upsert notes/${note.id}`, `remove notes/${note.id}`])
    expect(Object.keys(data[1] ?? {})).toEqual(['type', 'entity', 'id', 'operation'])
    const publicly = (await since(start)).data
    expect(publicly.map(({ type, data }) => [type, data?.title, data && 'secret' in data])).toEqual([
      ['upsert', 'shared', false],
      ['remove', undefined, undefined],
    ])
    // The Actor is shown to callers who see the history, and to the Actor.
    await server.call('PATCH', `/api/notes/${note.id}/`, { body: { title: 'own' }, token: bob.token })
    const own = (await since(start, bob.token)).data.at(-1)
    expect(own).toMatchObject({ actor: `users/${bob.id}`, data: { title: 'own' } })
    expect((await since(start, server.adminToken)).data.at(-1)?.actor).toBe(`users/${bob.id}`)
  })

  test('keeps to types, to a filter, to fields, and to whole operations', async () => {
    const start = await now()
    const made = await server.expect(201, 'POST', '/api/news/', [
      { title: 'a' },
      { title: 'b' },
      { title: 'c' },
    ])
    const [a] = made.data
    await add('rooms', { title: 'r', open: true })
    await change(`news/${a.id}`, { title: 'z' })
    await server.call('DELETE', `/api/news/${a.id}/`)
    expect((await since(start, null, '&entity=news')).data.map(({ type }) => type).join()).toBe(
      'upsert,upsert,upsert,upsert,remove',
    )
    const filtered = await since(
      start,
      null,
      `&entity=news&filter=${encodeURIComponent('title < "c"')}&fields=title`,
    )
    expect(filtered.data).toMatchObject([
      { data: { title: 'a' } },
      { data: { title: 'b' } },
      { type: 'remove', id: a.id },
    ])
    expect(Object.keys(filtered.data[0]?.data ?? {})).toEqual(['title'])
    const part = await since(start, null, '&entity=news,rooms&limit=1')
    expect([part.data.length, part.more]).toEqual([3, true])
    expect((await since(part.next, null, '&limit=1')).data.map(short)).toEqual(['upsert rooms/1'])
  })

  test('tells what a change of another Entity shows or hides, and starts over for callers who changed themselves', async () => {
    const ann = await person('ann')
    const room = await add('rooms', { title: 'r', open: false })
    const booking = await add('bookings', { title: 'b', room: { id: room.id }, team: 'blue' })
    const start = await now()
    const told = async (token: string | null) =>
      (await since(start, token, '&entity=bookings')).data.map(short)
    await change(`rooms/${room.id}`, { title: 'not what the rule looks at' })
    expect(await told(null)).toEqual([])
    await change(`rooms/${room.id}`, { open: true })
    await change(`rooms/${room.id}`, { open: false })
    const both = [`upsert bookings/${booking.id}`, `remove bookings/${booking.id}`]
    expect(await told(null)).toEqual(both)
    expect(await told(server.adminToken)).toEqual([])
    await change(`users/${ann.id}`, { note: 'no rule looks at it' })
    expect(await told(ann.token)).toEqual(both)
    await change(`users/${ann.id}`, { team: 'blue' })
    expect(await told(ann.token)).toEqual([...both, 'reset bookings'])
    expect(await told(null)).toEqual(both)
  })

  test('tells of nothing that is long past, but of what is there today', async () => {
    const [ann, start] = [await person('ann'), await now()]
    const note = await add('notes', { title: 'old', secret: 'former', owner: { id: ann.id } })
    await change(`notes/${note.id}`, { secret: 'present' })
    const gone = await add('notes', { title: 'gone', owner: { id: ann.id } })
    await server.call('DELETE', `/api/notes/${gone.id}/`)
    expect((await since(start, ann.token)).data.map(({ data }) => data?.secret)).toEqual([
      'former',
      'present',
      null,
      undefined,
    ])
    const dated =
      server.context.store.dialect.lock === undefined
        ? "'2026-01-01T00:00:00.000Z'"
        : "timestamptz '2026-01-01'"
    await server.query(`UPDATE takeback_journal SET at = ${dated}`)
    const { data } = await since(start, ann.token)
    expect(data.map((one) => [short(one), one.data?.secret])).toEqual([
      [`upsert notes/${note.id}`, 'present'],
      [`remove notes/${gone.id}`, undefined],
    ])
    // After a purge, nobody knows who saw the Entity.
    await server.expect(204, 'DELETE', `/api/notes/${gone.id}/?purge=1`)
    expect((await since(start, ann.token)).data.map(short)).toEqual([
      `upsert notes/${note.id}`,
      'reset notes',
    ])
    expect((await since(start, server.adminToken)).data.map(short)).toContain(`remove notes/${gone.id}`)
  })

  test('waits for a change', async () => {
    const start = await now()
    const waiting = since(start, null, '&wait=30&entity=news')
    await add('rooms', { title: 'not waited for', open: true })
    const { id } = await add('news', { title: 'waited for' })
    expect((await waiting).data.map(short)).toEqual([`upsert news/${id}`])
    const nothing = await since(await now(), null, '&wait=1')
    expect([nothing.data, nothing.more]).toEqual([[], false])
    expect(server.context.hub.listeners).toBe(0)
  })

  test('refuses what it does not understand, and positions from which nobody can go on', async () => {
    const errors = async (query: string, token: string | null = null) => {
      const { status, body } = await server.call('GET', `/api/changes/?${query}`, { token })
      return [status, ...Object.entries(body.errors ?? {}).map(([path, [text]]: any) => `${path}: ${text}`)]
    }
    expect(await errors('since=yesterday')).toEqual([
      422,
      'since: must be a position: the Takeback-Position of a list, or the next of an answer',
    ])
    expect(await errors('entity=new')).toEqual([
      422,
      'entity: "new" is not an Entity type; did you mean "news"?',
    ])
    expect(await errors('filter=id==1')).toEqual([422, 'filter: needs entity with exactly one Entity type'])
    expect((await errors('entity=news&filter=titel=="a"'))[0]).toBe(422)
    expect((await errors('entity=notes&filter=secrets=="a"'))[0]).toBe(422)
    expect(await errors('wait=31')).toEqual([422, 'wait: must be a whole number of seconds from 0 to 30'])
    expect((await errors('limit=0&form=json&wait=-1')).length).toBe(4)
    expect((await errors('entity=users'))[0]).toBe(401)
    const position = await now()
    const [incarnation, seq, rules] = position.split('-')
    for (const gone of [
      `000000000000-${seq}-${rules}`,
      `${incarnation}-${seq}-0`,
      `${incarnation}-999999999-${rules}`,
    ])
      for (const accept of ['application/json', 'text/event-stream']) {
        const { status, body } = await server.call('GET', `/api/changes/?since=${gone}`, {
          headers: { Accept: accept },
        })
        expect([status, body.code]).toEqual([410, 'position_gone'])
      }
  })

  test('is a stream of events, each operation with its position at its end, that goes on where it was cut', async () => {
    const start = await now()
    const made = await server.expect(201, 'POST', '/api/news/', [{ title: 'a' }, { title: 'b' }])
    const { heard, cut } = await listen(server, `/api/changes/?entity=news&since=${start}`)
    await eventually(() => heard.text.includes('"b"'))
    expect([heard.status, heard.type]).toEqual([200, 'text/event-stream'])
    const frames = heard.text.split('\n\n').filter((one) => one !== '')
    expect(frames[0]).toBe(`retry: 2000\nid: ${start}`)
    expect(frames.slice(1).map((one) => one.split('\n').map((line) => line.split(':')[0]))).toEqual([
      ['data'],
      ['id', 'data'],
    ])
    await add('rooms', { title: 'not listened to', open: true })
    const { id } = await add('news', { title: 'live' })
    await eventually(() => heard.text.includes('"live"'))
    cut()
    await eventually(() => server.context.hub.listeners === 0)
    const [, last = ''] = /id: (.*)\ndata: .*"b"/.exec(heard.text) ?? []
    const again = await listen(server, `/api/changes/?entity=news&since=${start}`, { 'Last-Event-ID': last })
    await eventually(() => again.heard.text.includes('"live"'))
    expect(again.heard.text).not.toContain('"b"')
    expect(again.heard.text).toContain(`"id":${id}`)
    expect(made.data.length).toBe(2)
    again.cut()
  })

  test('ends with the token, and lets those in who have a ticket, once', async () => {
    const cem = await server.user('users', { email: 'cem@example.com', password: 'correct horse' })
    const { ticket } = await server.expect(201, 'POST', '/api/auth/ticket/', undefined, { token: cem.token })
    const first = await listen(server, `/api/changes/?ticket=${ticket}`)
    const second = await listen(server, `/api/changes/?ticket=${ticket}`)
    expect([first.heard.status, second.heard.status]).toEqual([200, 401])
    expect((await server.call('GET', `/api/changes/?ticket=${cem.token}`, { token: null })).status).toBe(401)
    expect((await server.call('GET', '/api/auth/me', { token: ticket })).status).toBe(401)
    const third = await listen(server, '/api/changes/', bearer(cem.token))
    const { id } = await add('notes', { title: 'for cem', owner: { id: cem.id } })
    for (const { heard } of [first, third]) await eventually(() => heard.text.includes(`"id":${id},`))
    await server.call('POST', '/api/auth/logout', { token: cem.token })
    await change(`notes/${id}`, { title: 'not for cem' })
    for (const { heard } of [first, third]) {
      await eventually(() => heard.isOver)
      expect(heard.text).not.toContain('not for cem')
    }
    expect(server.logged.join('')).not.toContain(ticket)
  })

  giant('cuts off a client that does not read, and nobody else', async () => {
    const { heard, cut } = await listen(server, '/api/changes/?entity=news&fields=id')
    const { hostname, port, host } = new URL(server.url)
    const deaf = connect({ host: hostname, port: Number(port) })
    deaf.write(`GET /api/changes/?entity=news HTTP/1.1\r\nHost: ${host}\r\nAccept: text/event-stream\r\n\r\n`)
    await new Promise((resolve) => deaf.once('data', resolve))
    deaf.pause()
    await eventually(() => server.context.hub.listeners === 2)
    const page = Array.from({ length: 4 }, () => ({ title: 'x'.repeat(200_000) }))
    // The system's own buffers hold a few megabytes before anything waits in the server.
    for (let sent = 0; sent < 50 && server.context.hub.listeners === 2; sent++)
      await server.expect(201, 'POST', '/api/news/', page)
    await eventually(() => server.context.hub.listeners === 1)
    const { id } = await add('news', { title: 'the last one' })
    await eventually(() => heard.text.includes(`"id":${id},`))
    let got = ''
    deaf.on('data', (chunk) => {
      got = (got + chunk.toString('latin1')).slice(-100)
    })
    deaf.on('error', () => {})
    const closed = new Promise((resolve) => deaf.once('close', resolve))
    deaf.resume()
    await closed
    expect(got).not.toContain('the last one')
    cut()
  })

  test('ends when the server stops, and tells clients to come back', async () => {
    const { heard } = await listen(server, '/api/changes/?entity=news')
    await eventually(() => heard.text !== '')
    const position = /id: (.*)/.exec(heard.text)?.[1] ?? ''
    await server.restart()
    await eventually(() => heard.isOver)
    expect(heard.text.match(/retry: \d+/g)?.length).toBe(2)
    await add('news', { title: 'after' })
    expect((await since(position)).data.map(({ data }) => data.title)).toEqual(['after'])
  })
})

const shop = withAdmins({
  rooms: entity({ fields: { title: text({ fold: true }), open: boolean() }, access: { read: everyone } }),
  desks: entity({
    fields: { title: text({ fold: true }), room: ref('rooms') },
    computed: { place: 'room.title + ", " + title' },
    access: { read: 'place != "hidden, desk"' },
  }),
  folded: entity({ fields: { title: text({ fold: true }) }, access: { read: 'fold(title) == fold("A")' } }),
})

onEveryStore('the feed of changes with values that are made of others', shop, (server) => {
  const told = async (query: string) => {
    const { status, body } = await server.call('GET', `/api/changes/?${query}`, { token: null })
    return status === 200
      ? body.data.map(({ type, data }: Change) => [type, data?.place])
      : [status, body.errors]
  }
  test('has computed fields, and refuses to fold', async () => {
    const { next } = (await server.call('GET', '/api/changes/')).body
    const room = await server.expect(201, 'POST', '/api/rooms/', { title: 'Loft', open: true })
    await server.expect(201, 'POST', '/api/desks/', { title: 'desk', room: { id: room.id } })
    for (const title of ['Attic', 'hidden'])
      await server.call('PATCH', `/api/rooms/${room.id}/`, { body: { title } })
    const since = `since=${next}&entity=desks`
    expect(await told(since)).toEqual([
      ['upsert', 'Loft, desk'],
      ['upsert', 'Attic, desk'],
      ['remove', undefined],
    ])
    const filter = (text: string) => `${since}&filter=${encodeURIComponent(text)}`
    expect(await told(filter('place.startsWith("Loft")'))).toEqual([
      ['upsert', 'Loft, desk'],
      ['remove', undefined],
    ])
    for (const text of ['fold(title) == fold("a")', 'fold(room.title) == fold("a")'])
      expect(await told(filter(text))).toEqual([
        422,
        { filter: ['uses fold(), which changes cannot be filtered by'] },
      ])
    expect(await told('entity=folded')).toEqual([
      422,
      { entity: ['must not include folded: its rules or computed fields use fold()'] },
    ])
  })
})
