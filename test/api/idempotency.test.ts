import { expect, test } from 'bun:test'
import { bookings } from '../declarations.ts'
import { ADMIN, expectInvalid, onEveryStore, type TestRequest, type TestResponse } from '../harness.ts'
import { clearOut } from '../work.ts'

const DAY = 86_400_000
/** Lets a test call from several addresses. */
const PROXIES = { 'trusted-proxies': '127.0.0.1,::1' }

onEveryStore(
  'what may be sent again',
  bookings,
  (server) => {
    const sendBy = (method: string, key: string, path: string, { body, ...sent }: TestRequest = {}) =>
      server.call(method, path, {
        ...sent,
        ...(body !== undefined && { body }),
        headers: { 'Idempotency-Key': key, ...sent.headers },
      })
    const send = (key: string, path: string, body?: unknown, sent: TestRequest = {}) =>
      sendBy('POST', key, path, { ...sent, body })
    const room = (title: string) => ({ title, beds: 1 })
    const replayed = ({ headers }: TestResponse) => headers.get('idempotent-replay')
    const told = ({ status, text, headers }: TestResponse) => [
      status,
      text,
      ...['etag', 'location', 'takeback-operation'].map((name) => headers.get(name)),
    ]
    /** Sends a request twice: the second answer must be the first, and nothing may change. */
    async function twice(
      key: string,
      path: string,
      body?: unknown,
      sent: TestRequest = {},
    ): Promise<TestResponse> {
      const first = await send(key, path, body, sent)
      const rows = await server.rows('takeback_journal')
      const second = await send(key, path, body, sent)
      expect([replayed(first), replayed(second)]).toEqual([null, 'true'])
      expect(told(second)).toEqual(told(first))
      expect(await server.rows('takeback_journal')).toBe(rows)
      return first
    }

    test('is done once, and answered alike: one, a list, a batch, a revert, an undo', async () => {
      const { status, body, headers } = await twice('one', '/api/rooms/', room('Attic'))
      expect([status, headers.get('location')]).toEqual([201, `/api/rooms/${body.id}/`])
      expect((await twice('list', '/api/rooms/', [room('a'), room('b')])).body.data).toHaveLength(2)
      const parts = [{ method: 'PATCH', path: `/api/rooms/${body.id}/`, body: { beds: 4 } }]
      expect((await twice('batch', '/api/batch/', parts)).body.results[0].body.beds).toBe(4)
      const reverted = await twice('revert', `/api/rooms/${body.id}/revert/`, { version: 1 })
      expect(reverted.body).toMatchObject({ beds: 1, version: 3 })
      const operation = reverted.headers.get('takeback-operation')
      expect((await twice('undo', `/api/operations/${operation}/undo/`)).body.total).toBe(1)
      const since = new Date().toISOString()
      await server.expect(201, 'POST', '/api/notes/', { text: 'x' })
      expect((await twice('many', '/api/operations/undo/', { since, entity: 'notes' })).body.total).toBe(1)
    })

    test('so are changes and removals, whose If-Match is no longer right by then', async () => {
      const { id } = await server.expect(201, 'POST', '/api/rooms/', room('Cellar'))
      const path = `/api/rooms/${id}/`
      const writes: [method: string, path: string, body?: unknown][] = [
        ['PATCH', path, { beds: 2 }],
        ['PATCH', path, { beds: { $add: 1 } }],
        ['PUT', path, room('Cellar')],
        ['PUT', '/api/rooms/?match=title', { title: 'Cellar', beds: 5 }],
        ['POST', `${path}revert/`, { version: 2 }],
        ['POST', `${path}undo/`],
        ['POST', `${path}redo/`],
        ['DELETE', path],
        ['DELETE', `${path}?restore=1`],
        ['DELETE', path],
        ['DELETE', `${path}?restore=1&with=targets`],
        ['PATCH', '/api/rooms/?filter=title == "Cellar"', { beds: 7 }],
        ['DELETE', '/api/rooms/?filter=title == "Cellar"'],
        ['DELETE', `${path}?purge=1`],
      ]
      for (const [at, [method, to, body]] of writes.entries()) {
        const ifMatch = to.includes('filter=') ? {} : { 'If-Match': `"${at + 1}"` }
        const first = await sendBy(method, `write-${at}`, to, { body, headers: ifMatch })
        const rows = await server.rows('takeback_journal')
        const second = await sendBy(method, `write-${at}`, to, { body, headers: ifMatch })
        expect([method, to, first.status < 300, replayed(second)]).toEqual([method, to, true, 'true'])
        expect(told(second)).toEqual(told(first))
        expect(await server.rows('takeback_journal')).toBe(rows)
      }
    })

    test('with another body, path or query it is refused, by another caller it is another', async () => {
      const other = { 'Idempotency-Key': ['was already used for another request'] }
      await twice('own', '/api/rooms/', room('own'))
      expectInvalid(await send('own', '/api/rooms/', room('other')), other)
      expectInvalid(await send('own', '/api/notes/', { text: 'x' }), other)
      expectInvalid(await send('own', '/api/rooms/', [room('own')]), other)
      expectInvalid(await send('own', '/api/rooms/?x=1', room('own')), other)
      // A missing last slash, a token in the URL and other whitespace do not make it another request.
      const again = await send('own', `/api/rooms?token=${server.adminToken}`, undefined, {
        raw: ' {"title": "own", "beds" : 1}',
      })
      expect([again.status, replayed(again)]).toEqual([201, 'true'])
      const { token } = await server.user('users', { email: 'i@example.com' })
      const mine = (title: string) => ({ room: { id: 1 }, starts_at: `2026-05-0${title}T10:00:00Z` })
      await twice('own', '/api/bookings/', mine('1'), { token })
      const login = (email: string) => ({ email, password: ADMIN.password })
      await twice('own', '/api/users/', login('n1@example.com'), { token: null })
    })

    test('strangers who choose the same key are others', async () => {
      const ask = (from: string, email: string) =>
        send(
          'mine',
          '/api/users/',
          { email, password: ADMIN.password },
          { token: null, headers: { 'X-Forwarded-For': from } },
        )
      const first = await ask('10.0.0.1', 's1@example.com')
      expect([first.status, replayed(first)]).toEqual([201, null])
      // The caller gets neither the answer of somebody else, nor a hint that there is one.
      const same = await ask('10.0.0.2', 's1@example.com')
      expectInvalid(same, { email: ['is taken'] })
      for (const from of ['10.0.0.1', '10.0.0.2']) {
        const other = await ask(from, `s${from}@example.com`)
        expect([other.status, replayed(other)]).toEqual([201, null])
      }
      // A repeated request still gets its answer.
      const again = await ask('10.0.0.1', 's1@example.com')
      expect([again.status, again.text, replayed(again)]).toEqual([201, first.text, 'true'])
    })

    test('the body of a long answer to what wrote nothing is not kept', async () => {
      const { id } = await server.expect(201, 'POST', '/api/notes/', { text: 'x'.repeat(20_000) })
      const parts = Array.from({ length: 100 }, () => ({
        method: 'PATCH',
        path: `/api/notes/${id}/`,
        body: {},
      }))
      const first = await send('nothing', '/api/batch/', parts)
      const again = await send('nothing', '/api/batch/', parts)
      expect([first.status, first.text.length > 1_000_000]).toEqual([200, true])
      expect([again.status, again.text, replayed(again)]).toEqual([200, '', 'true'])
    })

    test('a failure leaves the key free', async () => {
      await server.expect(201, 'POST', '/api/rooms/', room('taken'))
      expect((await send('free', '/api/rooms/', room('taken'))).status).toBe(422)
      expect((await send('free', '/api/rooms/', room('taken'), { token: null })).status).toBe(401)
      expect((await send('free', '/api/rooms/', { title: '' })).status).toBe(422)
      await twice('free', '/api/rooms/', room('not taken'))
    })

    test('a key has 1 to 255 visible ASCII characters', async () => {
      const sentence = { 'Idempotency-Key': ['must have 1 to 255 visible ASCII characters'] }
      for (const key of ['', 'a b', 'ä', 'x'.repeat(256), 'a, b'])
        expectInvalid(await send(key, '/api/rooms/', room(`key ${key}`)), sentence)
      await twice('~'.repeat(255), '/api/rooms/', room('long key'))
    })

    test('many at once are done once', async () => {
      const all = await Promise.all(
        Array.from({ length: 12 }, () => send('race', '/api/rooms/', room('race'))),
      )
      expect(all.map(({ status }) => status)).toEqual(all.map(() => 201))
      expect(new Set(all.map(({ text }) => text)).size).toBe(1)
      expect(all.filter((one) => replayed(one) === null)).toHaveLength(1)
      const differing = await Promise.all(
        Array.from({ length: 8 }, (_, at) => send('differing', '/api/rooms/', room(`differing ${at}`))),
      )
      expect(differing.filter(({ status }) => status === 201)).toHaveLength(1)
      expect(differing.filter(({ status }) => status === 422)).toHaveLength(7)
    })

    test('nothing that was sent is kept but as a hash', async () => {
      const password = 'a password to look for'
      await twice('a-key-to-look-for', '/api/users/', { email: 't@example.com', password })
      const kept = JSON.stringify(await server.query('SELECT * FROM takeback_answers'))
      expect(kept).toContain('t@example.com')
      for (const secret of [password, 'a-key-to-look-for', 'argon2']) expect(kept).not.toContain(secret)
    })

    test('what is purged is not told again, and not done again either', async () => {
      const { body, status } = await twice('purged', '/api/rooms/', room('secret title'))
      await twice('beside', '/api/rooms/', room('beside'))
      const dry = await send('dry', `/api/rooms/${body.id}/revert/`, { version: 1 })
      expect([dry.status, dry.headers.get('takeback-operation')]).toEqual([200, null])
      await server.expect(200, 'DELETE', `/api/rooms/${body.id}/`)
      await server.expect(204, 'DELETE', `/api/rooms/${body.id}/?purge=1`)
      const kept = JSON.stringify(await server.query('SELECT * FROM takeback_answers'))
      expect([kept.includes('secret title'), kept.includes('beside')]).toEqual([false, true])
      const again = await send('purged', '/api/rooms/', room('secret title'))
      expect([again.status, again.text, replayed(again)]).toEqual([status, '', 'true'])

      const { id } = await server.expect(201, 'POST', '/api/rooms/', room('erased title'))
      const parts = ['', '?purge=1'].map((query) => ({ method: 'DELETE', path: `/api/rooms/${id}/${query}` }))
      expect((await send('batch of a purge', '/api/batch/', parts)).status).toBe(422)
      expect((await send('batch-of-a-purge', '/api/batch/', parts)).text).toContain('erased title')
      const repeated = await send('batch-of-a-purge', '/api/batch/', parts)
      expect([repeated.status, repeated.text]).toEqual([200, ''])
      expect(JSON.stringify(await server.query('SELECT * FROM takeback_answers'))).not.toContain(
        'erased title',
      )
    })

    test('after a day the key is free, and what is old is cleared out', async () => {
      const count = async () => server.rows('takeback_answers')
      await twice('old', '/api/notes/', { text: 'old' })
      const age = () =>
        server.query('UPDATE takeback_answers SET at = $1', new Date(Date.now() - DAY - 60_000).toISOString())
      await age()
      const again = await send('old', '/api/notes/', { text: 'another' })
      expect([again.status, replayed(again)]).toEqual([201, null])
      expect(await count()).toBeGreaterThan(3)
      await clearOut(server.context)
      expect(await count()).toBe(1)
      expect(replayed(await send('old', '/api/notes/', { text: 'another' }))).toBe('true')
    })
  },
  PROXIES,
)
