import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { anonymous } from '../../src/api/account/identify.ts'
import type { Answer } from '../../src/api/context.ts'
import { runOnce } from '../../src/api/idempotency.ts'
import { budget } from '../../src/budget.ts'
import { TooLate } from '../../src/errors.ts'
import { check } from '../../src/store/check/check.ts'
import { app, entity, everyone, forbidden, integer, object, text } from '../../src/takeback.ts'
import { eventually, expectInvalid, onEveryStore, onStore, type TestResponse } from '../harness.ts'

/** Lets a test call from several addresses. */
const PROXIES = { 'trusted-proxies': '127.0.0.1,::1' }

/** What the route waits for, and how often it has run, by title. */
const gates = new Map<string, Promise<void>>()
const runs = new Map<string, number>()

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    notes: entity({ fields: { title: text() } }),
  },
  routes: {
    'POST /api/order/': {
      access: everyone,
      body: object({ title: text() }),
      async run({ body: { title }, api }) {
        const count = (runs.get(title) ?? 0) + 1
        runs.set(title, count)
        const { id } = await api.system.notes.create({ title })
        await gates.get(title)
        if (title === 'fails' && count === 1) throw forbidden('Not now.')
        return { id, title }
      },
    },
    'POST /api/trashed/': {
      access: everyone,
      body: object({ title: text() }),
      async run({ body: { title }, api }) {
        const { data } = await api.system.notes.list({ trashed: 'only' })
        runs.set(title, 1)
        await gates.get(title)
        return data
      },
    },
    'POST /api/long/': {
      access: everyone,
      body: object({ bytes: integer() }),
      run({ body: { bytes } }) {
        runs.set('long', (runs.get('long') ?? 0) + 1)
        return 'x'.repeat(bytes - 2)
      },
    },
    'DELETE /api/nothing/': {
      access: everyone,
      run: () => void runs.set('nothing', (runs.get('nothing') ?? 0) + 1),
    },
  },
})

onEveryStore(
  'routes with an Idempotency-Key',
  declaration,
  (server) => {
    const send = (key: string, title: string): Promise<TestResponse> =>
      server.call('POST', '/api/order/', { body: { title }, headers: { 'Idempotency-Key': key } })
    const replayed = ({ headers }: TestResponse) => headers.get('idempotent-replay')
    const purge = async (id: number) => {
      await server.expect(200, 'DELETE', `/api/notes/${id}/`)
      await server.expect(204, 'DELETE', `/api/notes/${id}/?purge=1`)
    }
    /** Holds the route until it is released. */
    const held = (title: string) => {
      runs.delete(title)
      const { promise, resolve } = Promise.withResolvers<void>()
      gates.set(title, promise)
      return { resolve, begun: () => eventually(() => runs.get(title) === 1) }
    }

    test('run once, and answer the same again', async () => {
      runs.clear()
      const first = await send('a', 'once')
      const again = await send('a', 'once')
      expect([again.status, again.text, replayed(first), replayed(again)]).toEqual([
        200,
        first.text,
        null,
        'true',
      ])
      expectInvalid(await send('a', 'other'), { 'Idempotency-Key': ['was already used for another request'] })
      expectInvalid(await send('a b', 'x'), {
        'Idempotency-Key': ['must have 1 to 255 visible ASCII characters'],
      })
      const headers = { 'Idempotency-Key': 'n' }
      for (const expected of [null, 'true']) {
        const nothing = await server.call('DELETE', '/api/nothing/', { headers })
        expect([nothing.status, replayed(nothing)]).toEqual([204, expected])
      }
      expect([runs.get('once'), runs.get('nothing')]).toEqual([1, 1])
      expect((await server.call('POST', '/api/order/', { body: { title: 'once' } })).status).toBe(200)
      expect(runs.get('once')).toBe(2)
    })

    test('a failure leaves the key free', async () => {
      runs.clear()
      expect([(await send('f', 'fails')).status, (await send('f', 'fails')).status]).toEqual([403, 200])
    })

    test('are busy while they run, and free again if a server has ended meanwhile', async () => {
      const { resolve, begun } = held('slow')
      const first = send('s', 'slow')
      await begun()
      expect((await send('s', 'slow')).body.code).toBe('busy')
      await server.query(
        'UPDATE takeback_answers SET at = $1 WHERE status = 0',
        new Date(Date.now() - 60_000).toISOString(),
      )
      gates.delete('slow')
      const second = await send('s', 'slow')
      resolve()
      // The late request is answered, but its answer is not kept.
      expect((await first).status).toBe(200)
      expect([(await send('s', 'slow')).text, runs.get('slow')]).toEqual([second.text, 2])
    })

    test('do not tell again what was purged, nor what may have been', async () => {
      const { body } = await send('p', 'secret one')
      const { resolve, begun } = held('secret two')
      const running = send('q', 'secret two')
      await begun()
      await purge(body.id)
      resolve()
      expect((await running).text).toContain('secret two')
      for (const [key, title] of [
        ['p', 'secret one'],
        ['q', 'secret two'],
      ] as const) {
        const again = await send(key, title)
        expect([again.status, again.text, replayed(again)]).toEqual([200, '', 'true'])
      }
      expect(JSON.stringify(await server.query('SELECT * FROM takeback_answers'))).not.toContain('secret')
      // The next purge does not look at them again: strangers could create any number.
      expect(await server.query("SELECT 1 FROM takeback_shown WHERE entity = ''")).toEqual([])
      expect((await check(await server.location())).findings).toEqual([])
    })

    test('keep no more than so much for one caller, and never run again', async () => {
      runs.delete('long')
      const long = async (key: string, bytes: number, from = '10.0.0.1') => {
        const headers = { 'Idempotency-Key': key, 'X-Forwarded-For': from }
        const ask = () => server.call('POST', '/api/long/', { body: { bytes }, headers, token: null })
        const [first, again] = [await ask(), await ask()]
        expect([first.status, first.text.length, replayed(first)]).toEqual([200, bytes, null])
        expect([again.status, replayed(again)]).toEqual([200, 'true'])
        return again.text.length
      }
      const { keptBytes, keptDayBytes } = budget
      expect(await long('most', keptBytes)).toBe(keptBytes)
      expect(await long('more', keptBytes + 1)).toBe(0)
      let count = 1
      while ((await long(`fill-${count}`, keptBytes)) > 0) count++
      // The allowance grows a little during the test.
      expect([0, 1]).toContain(count - keptDayBytes / keptBytes)
      expect(await long('another', keptBytes, '10.0.0.2')).toBe(keptBytes)
      expect(runs.get('long')).toBe(count + 3)
    })

    test('one that takes too long keeps its key until it has ended, and then its answer', async () => {
      const { signal } = new AbortController()
      const request = {
        caller: anonymous,
        address: '',
        target: 'POST /api/slow/?',
        body: {},
        key: 'slow',
        note: null,
        signal,
      }
      for (const ends of [true, false]) {
        let count = 0
        const later = Promise.withResolvers<Answer>()
        const slow = { ...request, key: `slow ${ends}`.replace(' ', '-') }
        const run = async (): Promise<Answer> => {
          if (++count > 1) return { status: 200, body: '"again"' }
          throw new TooLate('routes.slow', later.promise)
        }
        const once = () => runOnce(server.context, slow, run)
        await expect(once()).rejects.toMatchObject({ code: 'unavailable' })
        await expect(once()).rejects.toMatchObject({ code: 'busy' })
        if (ends) later.resolve({ status: 200, body: '"late"' })
        else later.reject(new Error('in the end'))
        let answer: Answer | undefined
        await eventually(async () => {
          answer = await once().catch(() => undefined)
          return answer !== undefined
        })
        expect([answer?.body, count]).toEqual(ends ? ['"late"', 1] : ['"again"', 2])
      }
    })
  },
  PROXIES,
)

onStore('postgres', 'a route that begins while a purge is under way', declaration, (server) => {
  test('does not keep what it erases', async () => {
    const { id } = await server.expect(201, 'POST', '/api/notes/', { title: 'secret' })
    await server.expect(200, 'DELETE', `/api/notes/${id}/`)
    const hand = new SQL(await server.databaseUrl(), { max: 1 })
    const isWaiting = async (what: string) =>
      (await server.query('SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = $1', what)).length > 0
    const { promise, resolve } = Promise.withResolvers<void>()
    gates.set('late', promise)
    // The purge stops at this table. By then it has looked for answers that show the Entity.
    const { purging, running } = await hand.begin(async (locked) => {
      await locked`LOCK TABLE takeback_preferences IN SHARE MODE`
      const headers = { 'Idempotency-Key': 'purge' }
      const purging = server.call('DELETE', `/api/notes/${id}/?purge=1`, { headers })
      await eventually(() => isWaiting('relation'))
      const late = { body: { title: 'late' }, headers: { 'Idempotency-Key': 'late' } }
      const running = server.call('POST', '/api/trashed/', late)
      // It has read the Entity, or waits for the purge.
      await eventually(async () => runs.has('late') || (await isWaiting('advisory')))
      return { purging, running }
    })
    await hand.end()
    expect((await purging).status).toBe(204)
    resolve()
    expect((await running).status).toBe(200)
    expect(JSON.stringify(await server.query('SELECT * FROM takeback_answers'))).not.toContain('secret')
  })
})
