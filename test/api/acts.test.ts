import { expect, test } from 'bun:test'
import type { Answer } from '../../src/api/context.ts'
import { perform, transact } from '../../src/api/perform.ts'
import { Query } from '../../src/api/query.ts'
import { create } from '../../src/api/write/create.ts'
import { remove } from '../../src/api/write/remove.ts'
import { update } from '../../src/api/write/update.ts'
import { Failure } from '../../src/errors.ts'
import { system } from '../../src/plan/viewer/actor.ts'
import { type Act, after } from '../../src/store/act.ts'
import { bookings } from '../declarations.ts'
import { ADMIN, onEveryStore } from '../harness.ts'

const any = { when: { ifMatch: null }, query: Query.empty } as const

onEveryStore('several acts in one transaction', bookings, (server) => {
  const planOf = (name: string) => {
    const plan = server.context.plans.get(name)
    if (plan === undefined) throw new Error(`no ${name}`)
    return plan
  }
  const make = (title: string) => create(planOf('rooms'), system, { title, beds: 1 })
  const together = <T>(act: () => Act<T>) => transact(server.context.store, act)
  const idOf = ({ body = '' }: Answer) => (JSON.parse(body) as { id: number }).id
  const titles = async () => (await server.query('SELECT title FROM rooms')).map(({ title }) => title)

  test('each sees what those before it wrote, and all of it is there in the end', async () => {
    const answers = await together(function* () {
      const made = yield* make('together')
      const id = idOf(made)
      const changed = yield* update(server.context, planOf('rooms'), system, {
        id,
        body: { beds: 2 },
        mode: 'partial',
        ...any,
      })
      return [made, changed, yield* remove(server.context, planOf('rooms'), system, { id, ...any })]
    })
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200])
    expect(JSON.parse(answers[2]?.body ?? '')).toMatchObject({ title: 'together', beds: 2, version: 3 })
  })

  test('an act that throws leaves nothing behind', async () => {
    const failing = together(function* () {
      yield* make('gone')
      throw new Failure('forbidden')
    })
    expect(failing).rejects.toThrow('You may not do this.')
    await failing.catch(() => {})
    expect(await titles()).not.toContain('gone')
  })

  test('a write that is refused says why, and the rest goes on', async () => {
    await perform(server.context.store, make('taken'))
    const done: string[] = []
    const refused = await together(function* () {
      yield* make('before')
      let errors: unknown
      try {
        yield* make('taken')
      } catch (error) {
        errors = (error as Failure).errors?.get('title')
      }
      yield* make('behind')
      yield* after(() => {
        done.push('after')
      })
      expect(done).toEqual([])
      return errors
    })
    expect(String(refused)).toMatch(/^is taken by rooms\/\d+$/)
    expect(done).toEqual(['after'])
    const known = await titles()
    expect([known.includes('before'), known.includes('behind')]).toEqual([true, true])
  })

  test('nobody sees half of it', async () => {
    const seen: number[] = []
    let open = true
    const look = (async () => {
      while (open) seen.push((await server.expect(200, 'GET', '/api/countries/?count=1')).total)
    })()
    for (let round = 0; round < 10; round++)
      await together(function* () {
        for (const letter of 'abcde')
          yield* create(planOf('countries'), system, { code: `${round}${letter}` })
      })
    open = false
    await look
    expect(seen.filter((number) => number % 5 !== 0)).toEqual([])
    expect(await server.rows('countries')).toBe(50)
  })

  test('secrets are hashed, each on its own', async () => {
    const emails = ['one@example.com', 'two@example.com']
    await together(function* () {
      for (const email of emails) yield* create(planOf('users'), system, { email, password: ADMIN.password })
    })
    for (const email of emails)
      await server.expect(
        200,
        'POST',
        '/api/auth/login',
        { email, password: ADMIN.password },
        { token: null },
      )
    const [one, two] = await server.query('SELECT password FROM users')
    expect(one?.password).not.toEqual(two?.password)
  })

  test('those that get into each other’s way are tried again', async () => {
    const rooms = await Promise.all(
      ['left', 'right'].map(async (title) => idOf(await perform(server.context.store, make(title)))),
    )
    const both = (ids: readonly number[]) =>
      together(function* () {
        for (const id of ids)
          yield* update(server.context, planOf('rooms'), system, {
            id,
            body: { beds: 3 },
            mode: 'partial',
            ...any,
          })
      })
    for (let round = 0; round < 3; round++) await Promise.all([both(rooms), both(rooms.toReversed())])
    for (const id of rooms) expect((await server.expect(200, 'GET', `/api/rooms/${id}/`)).version).toBe(7)
  })
})
