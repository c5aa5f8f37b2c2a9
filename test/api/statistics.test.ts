import { beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { Statistics } from '../../src/store/postgres/statistics.ts'
import { entity, integer, list, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, newDatabase, onStore, TestServer } from '../harness.ts'
import { type PlanRow, recordStatements, valuesOf } from '../plans.ts'
import { newPostgresDatabase } from '../postgres.ts'

const ROWS = 2000

const declared = withAdmins({
  rooms: entity({ fields: { title: text() }, index: [['title']] }),
  bookings: entity({
    fields: {
      guests: integer(),
      room: ref('rooms'),
      other: ref('rooms'),
      more: list(ref('rooms'), { default: [] }),
    },
    index: [['guests']],
  }),
})

/** Returns how many rows were read, including those that a join discarded. */
function rowsIn(node: PlanRow): number {
  const count = (name: string) => Number(node[name] ?? 0)
  const inner = (node.Plans ?? []) as PlanRow[]
  const own = count('Actual Rows') + count('Rows Removed by Join Filter') + count('Rows Removed by Filter')
  return inner.reduce((sum, one) => sum + rowsIn(one), own * count('Actual Loops'))
}

onStore('postgres', 'statistics', declared, (server) => {
  const tables = ['rooms', 'bookings', 'bookings.more']

  beforeAll(async () => {
    for (const name of tables) await server.query(`ALTER TABLE "${name}" SET (autovacuum_enabled = off)`)
    const fill = async (type: string, make: (at: number) => unknown) => {
      for (let at = 0; at < ROWS; at += 1000)
        await server.expect(
          201,
          'POST',
          `/api/${type}/`,
          Array.from({ length: 1000 }, (_, place) => make(at + place)),
        )
    }
    await fill('rooms', (at) => ({ title: `r${at % 2}` }))
    const room = (at: number) => ({ id: 1 + (at % ROWS) })
    await fill('bookings', (at) => ({
      guests: at % 2,
      ...{ room: room(at * 13), other: room(at * 7), more: [room(at)] },
    }))
  })

  test('come soon after many rows, without autovacuum', async () => {
    for (const name of tables) {
      const [told] = await server.query(`SELECT count(*) AS n FROM "${name}"`)
      expect(told?.n).toBe(ROWS)
      const isKnown = async () => {
        const [row] = await server.query('SELECT reltuples AS n FROM pg_class WHERE relname = $1', name)
        return Number(row?.n) > ROWS / 3
      }
      while (!(await isKnown())) await Bun.sleep(100)
    }
  })

  test('come anew where they were taken before the rows were committed', async () => {
    // As ANALYZE leaves it during a large transaction: with all pages, but no rows.
    await server.query("UPDATE pg_class SET reltuples = 0 WHERE relname = 'rooms'")
    await server.expect(
      201,
      'POST',
      '/api/rooms/',
      Array.from({ length: 600 }, () => ({ title: 'r2' })),
    )
    await eventually(async () => {
      const [row] = await server.query("SELECT reltuples AS n FROM pg_class WHERE relname = 'rooms'")
      return Number(row?.n) > ROWS
    })
  })

  test('wait for a transaction that has just begun to fill a table', async () => {
    const url = await server.databaseUrl()
    const [writer, reader] = [new SQL(url, { max: 1 }), new SQL(url, { max: 1 })]
    await reader.unsafe('CREATE TABLE filled (n integer) WITH (autovacuum_enabled = off)')
    const known = async () => {
      const [row] = await reader.unsafe("SELECT reltuples::int AS n FROM pg_class WHERE relname = 'filled'")
      return row.n
    }
    const statistics = new Statistics({ query: ({ text }) => reader.unsafe(text).values() })
    // The planner guesses, unless statistics say that there are no rows.
    await writer.unsafe('BEGIN; INSERT INTO filled SELECT * FROM generate_series(1, 5000)')
    await statistics.refresh()
    expect(await known()).not.toBe(0)
    await writer.unsafe('COMMIT')
    await eventually(async () => {
      await statistics.refresh()
      return (await known()) === 5000
    })
    await writer.close()
    await reader.close()
  })

  test('come while somebody writes to a table of another database, though both have one number', async () => {
    const original = new TestServer('postgres', declared, {}, await newDatabase('postgres', server.folder))
    await original.start()
    await original.stop()
    const copy = await newPostgresDatabase({ url: await original.databaseUrl() })
    const twin = new TestServer('postgres', declared, {}, copy)
    twin.adminToken = original.adminToken
    await twin.start()
    const elsewhere = new SQL(await original.databaseUrl(), { max: 1 })
    await elsewhere.unsafe('BEGIN; LOCK TABLE rooms IN ROW EXCLUSIVE MODE')
    await twin.expect(
      201,
      'POST',
      '/api/rooms/',
      Array.from({ length: 1000 }, () => ({ title: 'r'.repeat(50) })),
    )
    await eventually(async () => {
      const [row] = await twin.query("SELECT reltuples AS n FROM pg_class WHERE relname = 'rooms'")
      return row?.n === 1000
    })
    await elsewhere.close()
    await twin.remove()
    await original.remove()
  })

  test('keep a filter over two references from comparing each row with each', async () => {
    for (const filter of [
      'room.title == "r1" && other.title == "r0"',
      'guests == 1 && room.title == "r1" && other.title == "r0"',
    ]) {
      const all = await recordStatements(server.context.store, () =>
        server.expect(200, 'GET', `/api/bookings/?count=1&filter=${encodeURIComponent(filter)}`),
      )
      const asked = all.filter(({ statement }) => statement.text.includes('bookings'))
      expect(asked.length).toBe(2)
      for (const one of asked) {
        const values = valuesOf(one).map((value) => (value === null ? null : String(value)))
        const [told] = await server.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${one.statement.text}`, ...values)
        const plan = told?.['QUERY PLAN']
        const [{ Plan }] = (typeof plan === 'string' ? JSON.parse(plan) : plan) as [{ Plan: PlanRow }]
        expect(rowsIn(Plan)).toBeLessThan(20 * ROWS)
      }
    }
  })
})
