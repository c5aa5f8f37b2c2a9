import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ClockWatch } from '../../src/api/limits/clock-watch.ts'
import { Retention } from '../../src/api/past/retention.ts'
import { budget } from '../../src/budget.ts'
import { SKEW_MS } from '../../src/clock.ts'
import type { AppDeclaration } from '../../src/declare/define.ts'
import type { ServerEvent } from '../../src/observe/events.ts'
import { lineOf } from '../../src/observe/lines.ts'
import { check } from '../../src/store/check/check.ts'
import { entity, integer, text } from '../../src/takeback.ts'
import { Postponed } from '../../src/work/job.ts'
import { withAdmins } from '../declarations.ts'
import {
  ADMIN,
  firstPass,
  newDatabase,
  onEveryStoreByHand,
  type TestResponse,
  TestServer,
} from '../harness.ts'
import { type ShiftedClock, shiftedClock } from '../shifted-clock.ts'
import { jobOn } from '../work.ts'

const SECOND = 1000
const HOUR = 3600 * SECOND
const DAY = 24 * HOUR

const counters = { n: integer({ default: 0 }) }
const declare = (fields: Record<string, ReturnType<typeof integer>>) =>
  withAdmins({ counters: entity({ fields }) })

interface KnownVersion {
  readonly version: number
  readonly at: string
  readonly n: number
  readonly isDeleted: boolean
}

/** Starts a server. The test moves its clock and that of its database. */
function withClock(
  store: string,
  declaration: AppDeclaration,
  tests: (server: () => TestServer, clock: () => Pick<ShiftedClock, 'set' | 'right'>) => void,
): void {
  let server: TestServer
  let shifted: ShiftedClock
  beforeAll(async () => {
    server = new TestServer(store, declaration)
    const database = await newDatabase(store, server.folder)
    shifted = await shiftedClock(store, database)
    server = new TestServer(store, declaration, {}, database)
    await server.start()
  })
  afterAll(async () => {
    await shifted.right()
    await server.remove()
  })
  /** Tokens depend on the clock: log in again after each jump. */
  const set = async (ms: number) => {
    await shifted.set(ms)
    const { token } = await server.expect(200, 'POST', '/api/auth/login', ADMIN, { token: null })
    server.adminToken = token
  }
  const clock = { set, right: () => set(0) }
  tests(
    () => server,
    () => clock,
  )
}

const path = (id: number) => `/api/counters/${id}/`
const at = (time: string) => encodeURIComponent(time)
const from = (time: string, ms: number) => new Date(Date.parse(time) + ms).toISOString()
/** Returns the state at a time: the newest version whose time is not later. */
const asOf = (told: readonly KnownVersion[], time: string) => told.findLast((one) => one.at <= time)

onEveryStoreByHand('the journal and a clock that jumps', (store) => {
  withClock(store, declare(counters), (server, clock) => {
    test('a small step back is not seen in the times of an Entity', async () => {
      const { id, updated_at: first } = await server().expect(201, 'POST', '/api/counters/', {})
      await clock().set(-SKEW_MS / 2)
      const times = [first]
      times.push((await server().expect(200, 'PATCH', path(id), { n: 1 })).updated_at)
      times.push((await server().expect(200, 'DELETE', path(id))).deleted_at)
      times.push((await server().expect(200, 'DELETE', `${path(id)}?restore=1`)).updated_at)
      expect(times.toSorted()).toEqual(times)
    })

    test('one write in the future does not give its time to later ones', async () => {
      await clock().set(400 * DAY)
      const { id, updated_at: wrong } = await server().expect(201, 'POST', '/api/counters/', {})
      await clock().right()
      const { updated_at } = await server().expect(200, 'PATCH', path(id), { n: 1 })
      const made = await server().expect(201, 'POST', '/api/counters/', {})
      for (const time of [updated_at, made.created_at])
        expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(60 * SECOND)
      expect(Date.parse(wrong) - Date.now()).toBeGreaterThan(399 * DAY)
      // Readable from then on, although it was created at a time in the future.
      expect((await server().expect(200, 'GET', `${path(id)}?at=${at(updated_at)}`)).n).toBe(1)
      const list = await server().expect(200, 'GET', `/api/counters/?at=${at(updated_at)}&limit=200`)
      expect(list.data.map((one: { id: number }) => one.id)).toContain(id)
    })

    test('the log tells of times in the future once an hour, and they are known later on', async () => {
      const { store: opened, observer } = server().context
      const watch = new ClockWatch(opened, observer)
      const told: ServerEvent[] = []
      const end = observer.subscribe((event) => {
        if (event.kind === 'journal_ahead') told.push(event)
      })
      await watch.check()
      await watch.check()
      end()
      const [event, ...more] = told
      expect(more).toEqual([])
      if (event?.kind !== 'journal_ahead') throw new Error('nothing was told')
      expect(Math.round(event.ms / DAY)).toBe(400)
      expect(lineOf('journal_ahead', event)).toMatchObject({
        level: 'warning',
        message: expect.stringContaining(`up to ${event.until}, 400 days ahead of the clock`),
      })
      // Once that time has come, nothing is in the future any more.
      await clock().set(500 * DAY)
      const [row] = await server().query(
        "SELECT entity_id FROM takeback_journal WHERE entity = 'counters' AND version = 2 ORDER BY at DESC LIMIT 1",
      )
      const id = Number(row?.entity_id)
      const { updated_at } = await server().expect(200, 'GET', path(id))
      expect((await server().expect(200, 'GET', `${path(id)}?at=${at(updated_at)}`)).version).toBe(2)
      await clock().right()
    })
  })

  describe('with random jumps', () => {
    withClock(store, declare(counters), (server, clock) => {
      const shifts = [0, 0, 0, -3 * HOUR, 3 * HOUR, 400 * DAY, -400 * DAY, -2 * SECOND, 2 * SECOND]
      const pick = <T>(list: readonly T[]) => list[Math.floor(Math.random() * list.length)] as T
      const told = new Map<number, KnownVersion[]>()
      const answers: TestResponse[] = []

      const note = (id: number, body: any) => {
        const known = told.get(id) ?? []
        if (body.version <= (known.at(-1)?.version ?? 0)) return
        expect(body.version).toBe((known.at(-1)?.version ?? 0) + 1)
        const time = body.updated_at as string
        const ahead = Date.parse(time) - Date.now()
        expect(ahead).toBeWithin(-60 * SECOND, SKEW_MS + 1)
        told.set(id, [
          ...known,
          { version: body.version, at: time, n: body.n, isDeleted: body.deleted_at !== null },
        ])
      }
      const call = async (method: string, to: string, body?: unknown) => {
        const answer = await server().call(method, to, body === undefined ? {} : { body })
        answers.push(answer)
        return answer
      }

      async function step(): Promise<void> {
        const ids = [...told.keys()]
        if (ids.length < 4) {
          const { body } = await call('POST', '/api/counters/', { n: Math.floor(Math.random() * 1000) })
          return note(body.id, body)
        }
        const id = pick(ids)
        const n = Math.floor(Math.random() * 1000)
        const version = 1 + Math.floor(Math.random() * (told.get(id)?.length ?? 1))
        const { status } = await pick([
          () => call('PATCH', path(id), { n }),
          () => call('DELETE', path(id)),
          () => call('DELETE', `${path(id)}?restore=1`),
          () => call('POST', `${path(id)}revert/`, { version }),
          () => call('POST', `${path(id)}undo/`),
          () => call('POST', `${path(id)}redo/`),
        ])()
        expect(status).toBeLessThan(500)
        const { body } = await call('GET', `/api/counters/?trashed=with&id=${id}`)
        note(id, body.data[0])
      }

      test('nothing fails, and what is written has the time of the clock', async () => {
        for (let round = 0; round < 120; round++) {
          if (Math.random() < 0.3) await clock().set(pick(shifts))
          await step()
        }
        await clock().right()
        expect(answers.filter(({ status }) => status >= 500)).toEqual([])
      })

      test('histories are in the order of versions, with those times', async () => {
        for (const [id, known] of told) {
          const { data } = await server().expect(200, 'GET', `${path(id)}history/?limit=200`)
          expect(data.map((one: KnownVersion) => [one.version, one.at])).toEqual(
            known.map((one) => [one.version, one.at]).reverse(),
          )
        }
      })

      test('any time has the newest version that is not later', async () => {
        const times = [...told.values()].flat().map((one) => one.at)
        for (const time of new Set(times.flatMap((one) => [one, from(one, -1), from(one, 1)]))) {
          const { data } = await server().expect(200, 'GET', `/api/counters/?at=${at(time)}&limit=200`)
          const expected = [...told].flatMap(([id, known]) => {
            const state = asOf(known, time)
            return state === undefined || state.isDeleted ? [] : [[id, state.version, state.n]]
          })
          expect(data.map((one: any) => [one.id, one.version, one.n])).toEqual(expected)
        }
        for (const [id, known] of told)
          for (const { at: time } of known) {
            const state = asOf(known, time)
            const answer = await server().call('GET', `${path(id)}?at=${at(time)}`)
            expect([answer.status, answer.body.n]).toEqual(
              state?.isDeleted ? [404, undefined] : [200, state?.n],
            )
          }
      })

      test('operations are listed once each, in the order of their times', async () => {
        const seen: { id: string; at: string }[] = []
        for (let cursor = ''; ; ) {
          const { data, next } = await server().expect(200, 'GET', `/api/operations/?limit=7${cursor}`)
          seen.push(...data)
          if (next === null) break
          cursor = `&cursor=${next}`
        }
        const times = seen.map((one) => one.at)
        expect(times).toEqual(times.toSorted().reverse())
        const rows = await server().query('SELECT DISTINCT operation FROM takeback_journal')
        expect(seen.map(({ id }) => id).toSorted()).toEqual(
          rows.map((row) => String(row.operation)).toSorted(),
        )
      })

      test('all of it can be taken back, and the check finds nothing', async () => {
        for (const [id, known] of told) {
          if (known.at(-1)?.isDeleted) await server().expect(200, 'DELETE', `${path(id)}?restore=1`)
          await server().expect(200, 'PATCH', path(id), { n: 5000 })
          await server().expect(200, 'POST', `${path(id)}revert/`, { version: 1 })
          expect((await server().expect(200, 'GET', path(id))).n).toBe(known[0]?.n)
        }
        const since = new Date(Date.now() - 401 * DAY).toISOString()
        const until = new Date(Date.now() + 401 * DAY).toISOString()
        await server().expect(200, 'POST', '/api/operations/undo/?skip_conflicts=1', {
          since,
          until,
          entity: 'counters',
        })
        expect((await check(await server().location())).findings).toEqual([])
      })
    })
  })

  describe('and a migration after it', () => {
    withClock(store, declare(counters), (server, clock) => {
      test('reads versions from both sides of it', async () => {
        await clock().set(400 * DAY)
        const { id } = await server().expect(201, 'POST', '/api/counters/', {})
        await clock().right()
        await server().expect(200, 'PATCH', path(id), { n: 1 })
        await server().restart(declare({ ...counters, m: integer({ optional: true }) }))
        await clock().set(400 * DAY)
        await server().expect(200, 'PATCH', path(id), { n: 2 })
        await clock().right()
        await server().restart(declare({ ...counters, m: integer({ default: 7 }) }))
        const { updated_at } = await server().expect(200, 'PATCH', path(id), { n: 4 })
        expect((await server().expect(200, 'GET', `${path(id)}?at=${at(updated_at)}`)).m).toBe(7)
        expect((await server().expect(200, 'POST', `${path(id)}revert/`, { version: 3 })).m).toBe(7)
        await server().expect(200, 'GET', `${path(id)}history/`)
      })
    })
  })
})

const kept = withAdmins(
  { notes: entity({ fields: { text: text() } }) },
  { trash: { keep: '30d' }, journal: { keep: '30d' } },
)

onEveryStoreByHand('retention after a clock that was wrong', (store) => {
  withClock(store, kept, (server, clock) => {
    beforeAll(async () => {
      await firstPass(server())
      // A clock jump would make the server's own passes due in the middle of those of the tests.
      await server().context.work.stop()
    })
    const note = (id: number) => `/api/notes/${id}/`
    const make = async (said: string) =>
      (await server().expect(201, 'POST', '/api/notes/', { text: said })).id as number
    /** Makes a pass some days from now. Returns why it was postponed, or an empty text. */
    const pass = async (days: number) => {
      const { context } = server()
      const pass = new Retention(context).passUnlessInDoubt(jobOn(context.store), Date.now() + days * DAY)
      return pass.then(
        () => '',
        (error) => {
          expect(error).toBeInstanceOf(Postponed)
          return String(error)
        },
      )
    }
    const believed = (days: number) =>
      server().query(
        "UPDATE takeback_meta SET value = $1 WHERE key = 'passed'",
        from(new Date().toISOString(), days * DAY),
      )
    const versions = async (id: number) =>
      (
        await server().query(
          "SELECT version FROM takeback_journal WHERE entity = 'notes' AND entity_id = $1 ORDER BY version",
          id,
        )
      ).map(({ version }) => Number(version))
    /** Makes one pass a day, up to this many days ahead. */
    async function passDaily(days: number): Promise<void> {
      for (let day = 1; day <= days; day++) {
        await clock().set(day * DAY)
        expect(await pass(0)).toBe('')
      }
    }

    test('what was deleted by a clock that was behind is kept for its time', async () => {
      const [id, changed] = [await make('deleted'), await make('first')]
      await pass(0)
      await clock().set(-400 * DAY)
      await server().expect(200, 'DELETE', note(id))
      await server().expect(200, 'PATCH', note(changed), { text: 'second' })
      await clock().right()
      await pass(0)
      expect((await server().expect(200, 'GET', '/api/notes/?trashed=only')).data).toHaveLength(1)
      expect(await versions(changed)).toEqual([1, 2])
      await passDaily(29)
      expect((await server().expect(200, 'GET', '/api/notes/?trashed=only')).data).toHaveLength(1)
      expect(await versions(changed)).toEqual([1, 2])
      for (const day of [30, 31]) {
        await clock().set(day * DAY)
        await pass(0)
      }
      expect((await server().expect(200, 'GET', '/api/notes/?trashed=only')).data).toEqual([])
      expect(await versions(changed)).toEqual([2])
    })

    test('what was written by a clock that was ahead goes in its time too', async () => {
      await clock().right()
      await server().query("DELETE FROM takeback_meta WHERE key = 'marks'")
      await believed(0)
      const [id, changed] = [await make('deleted'), await make('first')]
      await pass(0)
      await clock().set(400 * DAY)
      await server().expect(200, 'DELETE', note(id))
      await server().expect(200, 'PATCH', note(changed), { text: 'second' })
      // More rows than one step of the walk reads.
      for (let rest = budget.stepRows + 100; rest > 0; rest -= 1000)
        await server().expect(
          201,
          'POST',
          '/api/notes/',
          Array.from({ length: Math.min(rest, 1000) }, () => ({ text: 'x' })),
        )
      await clock().right()
      const after = await make('a')
      await server().expect(200, 'PATCH', note(after), { text: 'b' })
      await passDaily(32)
      expect((await server().expect(200, 'GET', '/api/notes/?trashed=only')).data).toEqual([])
      expect([await versions(changed), await versions(after)]).toEqual([[2], [2]])
    })
  })
})
