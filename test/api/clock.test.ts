import { expect, test } from 'bun:test'
import { app, entity, integer } from '../../src/takeback.ts'
import { onEveryStore, onStore } from '../harness.ts'

const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    counters: entity({ fields: { n: integer({ default: 0 }) } }),
  },
})

const HOUR = 3_600_000

/** A clock that is set back: what is there already is of a time that has not come yet. */
onEveryStore('a clock that goes back', declaration, (server) => {
  async function moveAhead(id: number): Promise<string> {
    const ahead = new Date(Date.now() + HOUR).toISOString()
    await server.query('UPDATE counters SET created_at = $1, updated_at = $1 WHERE id = $2', ahead, id)
    await server.query(
      "UPDATE takeback_journal SET at = $1 WHERE entity = 'counters' AND entity_id = $2",
      ahead,
      id,
    )
    return ahead
  }

  test('takes no time of an Entity with it', async () => {
    const { id } = await server.expect(201, 'POST', '/api/counters/', {})
    const ahead = await moveAhead(id)
    const path = `/api/counters/${id}/`
    const times = [ahead]
    times.push((await server.expect(200, 'PATCH', path, { n: 1 })).updated_at)
    times.push((await server.expect(200, 'PUT', path, { n: 2 })).updated_at)
    times.push((await server.expect(200, 'DELETE', path)).deleted_at)
    times.push((await server.expect(200, 'DELETE', `${path}?restore=1`)).updated_at)
    times.push((await server.expect(200, 'POST', `${path}revert/`, { version: 2 })).updated_at)
    expect(times.toSorted()).toEqual(times)
    const { data } = await server.expect(200, 'GET', `${path}history/`)
    const told = data.map(({ at }: { at: string }) => at).reverse()
    expect(told.toSorted()).toEqual(told)
    expect(told.at(-1)).toBe(times.at(-1))
  })
})

// PostgreSQL takes many writes at once, and promises it for each Entity only.
onStore('sqlite', 'a clock that goes back', declaration, (server) => {
  test('keeps the journal in the order of its times', async () => {
    const { id } = await server.expect(201, 'POST', '/api/counters/', {})
    const ahead = new Date(Date.now() + HOUR).toISOString()
    await server.query('UPDATE takeback_journal SET at = $1 WHERE entity_id = $2', ahead, id)
    for (let round = 0; round < 3; round++) {
      const made = await server.expect(201, 'POST', '/api/counters/', {})
      expect(made.created_at >= ahead).toBe(true)
    }
    const rows = await server.query("SELECT at FROM takeback_journal WHERE entity = 'counters' ORDER BY seq")
    const times = rows.map(({ at }) => String(at))
    expect(times.toSorted()).toEqual(times)
  })
})
