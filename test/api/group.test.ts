import { expect, test } from 'bun:test'
import { entity, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore, type TestResponse } from '../harness.ts'

const declaration = withAdmins({
  rooms: entity({ fields: { title: text({ unique: true }) } }),
  visits: entity({ fields: { title: text(), room: ref('rooms') } }),
})

const ROUNDS = 12
const AT_ONCE = 30
const pick = (n: number) => Math.floor(Math.random() * n)

onEveryStore('writes that come together', declaration, (server) => {
  test('stay or go each by itself, whatever becomes of the others', async () => {
    const room = await server.expect(201, 'POST', '/api/rooms/', { title: 'taken' })
    const sent: Record<string, (name: string) => Promise<TestResponse>> = {
      good: (name) => server.call('POST', '/api/visits/', { body: { title: name, room: { id: room.id } } }),
      unknown: (name) => server.call('POST', '/api/visits/', { body: { title: name, room: { id: 999 } } }),
      taken: () => server.call('POST', '/api/rooms/', { body: { title: 'taken' } }),
      batch: (name) =>
        server.call('POST', '/api/batch/', {
          body: [
            { method: 'POST', path: '/api/visits/', body: { title: name, room: { id: room.id } } },
            { method: 'POST', path: '/api/rooms/', body: { title: 'taken' } },
          ],
        }),
      gone: () => server.call('DELETE', '/api/visits/99999/'),
    }
    const refusals: Record<string, number> = { unknown: 422, taken: 422, batch: 422, gone: 404 }
    const kinds = Object.keys(sent)
    const wanted: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      // Rounds without a failure alternate with rounds that have one.
      const few = round % 3 === 0 ? ['good'] : kinds
      const calls = Array.from({ length: AT_ONCE }, (_, at) => {
        const kind = few[pick(few.length)] ?? 'good'
        const name = `${round}-${at}`
        return { kind, name, answer: sent[kind]?.(name) }
      })
      for (const { kind, name, answer } of calls) {
        const status = (await answer)?.status ?? 0
        expect([kind, status]).toEqual([kind, refusals[kind] ?? 201])
        if (kind === 'good') wanted.push(name)
      }
    }
    const rows = await server.query('SELECT "title", "id" FROM "visits" ORDER BY "id"')
    expect(rows.map(({ title }) => String(title)).sort()).toEqual(wanted.sort())
    const journal = await server.query(
      `SELECT "entity_id" AS id FROM "takeback_journal" WHERE "entity" = 'visits' ORDER BY "entity_id"`,
    )
    expect(journal.map(({ id }) => Number(id))).toEqual(rows.map(({ id }) => Number(id)))
    expect(await server.rows('rooms')).toBe(1)
  })
})
