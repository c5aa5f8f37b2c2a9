import { expect, test } from 'bun:test'
import { entity, everyone, integer, json, ref, secret, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { ADMIN, onEveryStore, runs, type TestRequest, type TestResponse } from '../harness.ts'

const all = { create: everyone, read: everyone, update: everyone, delete: everyone, restore: everyone }

const declaration = withAdmins({
  papers: entity({
    fields: {
      a: integer({ optional: true }),
      b: integer({ optional: true }),
      body: json({ optional: true }),
      nick: text({ optional: true, unique: true }),
    },
    access: { ...all, history: everyone },
  }),
  parts: entity({
    fields: { label: text(), of: ref('papers', { onDelete: 'cascade' }) },
    access: all,
  }),
  people: entity({
    login: { userType: 'person' },
    fields: { name: text({ optional: true }), pin: secret({ optional: true }) },
    access: { create: everyone, read: everyone, update: 'id == me.id', history: everyone },
  }),
})

/** How many rounds of random steps. */
const ROUNDS = runs(6)
const STEPS = 40

onEveryStore('one change back, and forward again', declaration, (server) => {
  const made = async (body: object = {}) =>
    (await server.expect(201, 'POST', '/api/papers/', body)).id as number
  const go = (way: 'undo' | 'redo', id: number, query = '', sent: TestRequest = {}) =>
    server.call('POST', `/api/papers/${id}/${way}/${query}`, sent)
  const valuesOf = async (id: number) => {
    const { status, body } = await server.call('GET', `/api/papers/${id}/`)
    return status === 404 ? null : { a: body.a, b: body.b, body: body.body }
  }
  const code = ({ status, body }: TestResponse) => [status, body.code]

  test('is what an editor does, whatever was done', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const any = (limit: number) => Math.floor(Math.random() * limit)
      const first: { a: number; b: number; body: { n: number } | null } = { a: any(3), b: any(3), body: null }
      const id = await made(first)
      const part = async () =>
        (await server.expect(201, 'POST', '/api/parts/', { label: 'x', of: { id } })).id
      const [stays, goes] = [await part(), await part()]
      await server.expect(200, 'DELETE', `/api/parts/${goes}/`)
      // The model of an editor: all states, and the current one.
      let states: (typeof first | null)[] = [null, first]
      let at = 1
      const said: string[] = []
      for (let step = 0; step < STEPS; step++) {
        const now = states[at] ?? null
        const dice = any(10)
        const push = (state: typeof first | null) => {
          states = states.slice(0, at + 1)
          if (Bun.deepEquals(state, now)) return
          states.push(state)
          at++
        }
        if (dice < 3) {
          said.push('undo')
          const answer = await go('undo', id)
          expect([said, answer.status]).toEqual([said, at > 0 ? 200 : 409])
          if (at > 0) at--
          else expect(answer.body.code).toBe('nothing_to_undo')
        } else if (dice < 6) {
          said.push('redo')
          const answer = await go('redo', id)
          expect([said, answer.status]).toEqual([said, at < states.length - 1 ? 200 : 409])
          if (at < states.length - 1) at++
          else expect(answer.body.code).toBe('nothing_to_redo')
        } else if (now === null) {
          said.push('restore')
          await server.expect(200, 'DELETE', `/api/papers/${id}/?restore=1`)
          push(
            [...states.slice(0, at + 1)].reverse().find((state) => state !== null) ?? states[at + 1] ?? first,
          )
        } else if (dice === 6) {
          said.push('delete')
          await server.expect(200, 'DELETE', `/api/papers/${id}/`)
          push(null)
        } else {
          const changed = { ...now, ...(dice < 8 ? { a: any(3) } : { b: any(3), body: { n: any(3) } }) }
          said.push(`patch ${JSON.stringify(changed)}`)
          // Sent as a whole, because a PATCH of a document merges.
          await server.expect(200, 'PUT', `/api/papers/${id}/`, changed)
          push(changed)
        }
        expect([said, await valuesOf(id)]).toEqual([said, states[at] ?? null])
        const parts = await Promise.all(
          [stays, goes].map(async (one) => (await server.call('GET', `/api/parts/${one}/`)).status),
        )
        expect([said, parts]).toEqual([said, [states[at] === null ? 404 : 200, 404]])
      }
    }
  })

  test('a preview changes nothing, and a plan does what it showed or is refused', async () => {
    const id = await made({ a: 1 })
    await server.expect(200, 'PATCH', `/api/papers/${id}/`, { a: 2 })
    const shown = { entity: 'papers', id, kind: 'update', changed: { a: { from: 2, to: 1 } } }
    for (const sent of [{ body: { dry_run: true } }, {}]) {
      const dry = await go('undo', id, sent.body === undefined ? '?dry_run=1' : '', sent)
      expect([dry.status, dry.body.operation, dry.body.changes]).toEqual([200, null, [shown]])
    }
    const { plan } = (await go('undo', id, '?dry_run=1')).body
    await server.expect(200, 'PATCH', `/api/papers/${id}/`, { b: 5 })
    expect(code(await go('undo', id, `?plan=${plan}`))).toEqual([412, 'plan_changed'])
    expect(await valuesOf(id)).toMatchObject({ a: 2, b: 5 })
    const again = (await go('undo', id, '?dry_run=1')).body.plan
    expect((await go('undo', id, `?plan=${again}`)).status).toBe(200)
    expect(await valuesOf(id)).toMatchObject({ a: 2, b: null })
    expect(code(await go('undo', id, '?skip_conflicts=1'))).toEqual([422, 'invalid_data'])
    expect(code(await go('undo', id, '', { headers: { 'If-Match': '"1"' } }))).toEqual([412, 'stale'])
  })

  test('takes one Entity of an operation that changed many, and says what it took back', async () => {
    const [one, two] = [await made({ a: 1 }), await made({ a: 1 })]
    const parts = [one, two, one].map((id, at) => ({
      method: 'PATCH',
      path: `/api/papers/${id}/`,
      body: { a: at + 5 },
    }))
    const batch = await server.call('POST', '/api/batch/', { body: parts })
    const undone = await go('undo', one)
    expect([await valuesOf(one), await valuesOf(two)]).toMatchObject([{ a: 1 }, { a: 6 }])
    const operation = batch.headers.get('takeback-operation')
    const by = undone.headers.get('takeback-operation') ?? ''
    expect((await server.expect(200, 'GET', `/api/operations/${by}/`)).undoes).toEqual([operation])
    expect((await go('redo', one)).status).toBe(200)
    expect(await valuesOf(one)).toMatchObject({ a: 7 })
    expect(code(await go('redo', two))).toEqual([409, 'nothing_to_redo'])
  })

  test('an undo of the operation, or a revert to the version before, is the same step', async () => {
    const id = await made({ a: 1 })
    const changed = await server.call('PATCH', `/api/papers/${id}/`, { body: { a: 2 } })
    await server.expect(200, 'POST', `/api/operations/${changed.headers.get('takeback-operation')}/undo/`)
    expect((await go('redo', id)).status).toBe(200)
    expect(await valuesOf(id)).toMatchObject({ a: 2 })
    await server.expect(200, 'POST', `/api/papers/${id}/revert/`, { version: 1 })
    const { data } = await server.expect(200, 'GET', `/api/papers/${id}/history/`)
    expect(data[0].undoes.length).toBeGreaterThan(0)
    expect((await go('undo', id)).status).toBe(200)
  })

  test('what stands against it is named, and nothing is written', async () => {
    const id = await made({ nick: 'taken' })
    await server.expect(200, 'PATCH', `/api/papers/${id}/`, { nick: 'other' })
    await made({ nick: 'taken' })
    const before = await server.rows('takeback_journal')
    const against = await go('undo', id)
    expect([against.status, against.body.code]).toEqual([409, 'cannot_undo'])
    expect(Object.keys(against.body.errors)).toEqual([`papers/${id}`])
    expect(await server.rows('takeback_journal')).toBe(before)
  })

  test('follows the rules', async () => {
    const [ann, bob] = [
      await server.user('people', { email: 'ann@example.com', name: 'ann' }),
      await server.user('people', { email: 'bob@example.com' }),
    ]
    const path = `/api/people/${ann.id}`
    await server.expect(200, 'PATCH', `${path}/`, { name: 'anna', pin: 'one' }, { token: ann.token })
    expect((await server.call('POST', `${path}/undo/`, { token: bob.token })).status).toBe(403)
    expect((await server.call('POST', `${path}/undo/`, { token: null })).status).toBe(401)
    expect((await server.call('POST', '/api/people/999999/undo/')).status).toBe(404)
    const own = await server.call('POST', `${path}/undo/`, { token: ann.token })
    expect([own.status, own.body.changes[0]]).toMatchObject([200, { kind: 'update', secrets: ['pin'] }])
    expect((await server.expect(200, 'GET', `${path}/`)).name).toBe('ann')
    // She cannot delete her own account, so she cannot undo its creation, either.
    expect((await server.call('POST', `${path}/undo/`, { token: ann.token })).status).toBe(403)
    expect(ADMIN.email).toContain('@')
  })

  test('many at once are many steps, one after the other', async () => {
    const id = await made({ a: 0 })
    for (let a = 1; a <= 8; a++) await server.expect(200, 'PATCH', `/api/papers/${id}/`, { a })
    const answers = await Promise.all(Array.from({ length: 5 }, () => go('undo', id)))
    const done = answers.filter(({ status }) => status === 200).length
    expect(answers.every(({ status, body }) => status === 200 || body.code === 'busy')).toBe(true)
    expect(done).toBeGreaterThan(0)
    expect(await valuesOf(id)).toMatchObject({ a: 8 - done })
  })

  test('what is purged has nothing to step through', async () => {
    const id = await made({ a: 1 })
    await server.expect(200, 'DELETE', `/api/papers/${id}/`)
    await server.expect(204, 'DELETE', `/api/papers/${id}/?purge=1`)
    expect((await go('undo', id)).status).toBe(404)
    expect((await go('redo', id)).status).toBe(404)
  })
})
