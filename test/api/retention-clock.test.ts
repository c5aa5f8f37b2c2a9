import { beforeAll, expect, test } from 'bun:test'
import { Retention } from '../../src/api/past/retention.ts'
import { entity, text } from '../../src/takeback.ts'
import { Postponed } from '../../src/work/job.ts'
import { withAdmins } from '../declarations.ts'
import { firstPass, onEveryStore, type TestServer } from '../harness.ts'
import { jobOn } from '../work.ts'

const DAY = 86_400_000

const declaration = withAdmins(
  {
    notes: entity({ fields: { text: text() } }),
  },
  { trash: { keep: '30d' }, journal: { keep: '30d' } },
)

/** Runs a pass. Returns the doubts about the clock. */
async function doubtsDuring({ context }: TestServer, retention: Retention, now?: number): Promise<string[]> {
  const doubts: string[] = []
  const end = context.observer.subscribe((event) => {
    if (event.kind === 'clock_doubted') doubts.push(event.doubt)
  })
  await retention.passUnlessInDoubt(jobOn(context.store), now).catch((error) => {
    expect(error).toBeInstanceOf(Postponed)
  })
  end()
  return doubts
}

onEveryStore('retention by a wrong clock', declaration, (server) => {
  beforeAll(() => firstPass(server))
  const retention = () => new Retention(server.context)
  /** Runs a pass with a clock that is some days ahead. Returns the doubts about it. */
  async function passAhead(days: number, one = retention()): Promise<string[]> {
    return doubtsDuring(server, one, Date.now() + days * DAY)
  }
  const kept = async () => [await server.rows('notes'), await server.rows('takeback_journal')]

  test('erases nothing, and says so once', async () => {
    const { id } = await server.expect(201, 'POST', '/api/notes/', { text: 'a' })
    await server.expect(200, 'PATCH', `/api/notes/${id}/`, { text: 'b' })
    await server.expect(200, 'DELETE', `/api/notes/${id}/`)
    expect(await passAhead(0)).toEqual([])
    const before = await kept()
    const wrong = retention()
    expect(await passAhead(400, wrong)).toHaveLength(1)
    // Rows written with the wrong clock do not make it right.
    await server.query('UPDATE takeback_journal SET at = $1', new Date(Date.now() + 400 * DAY).toISOString())
    expect(await passAhead(400, wrong)).toEqual([])
    expect(await passAhead(400)).toHaveLength(1)
    expect(await kept()).toEqual(before)
  })

  test('goes on once the clock is confirmed', async () => {
    // As if the server had been off for three weeks.
    await server.query("DELETE FROM takeback_meta WHERE key = 'marks'")
    await server.query(
      "UPDATE takeback_meta SET value = $1 WHERE key = 'passed'",
      new Date(Date.now() - 21 * DAY).toISOString(),
    )
    await server.query('UPDATE notes SET deleted_at = $1', new Date(Date.now() - 31 * DAY).toISOString())
    expect(await passAhead(0)).toHaveLength(1)
    expect((await kept())[0]).toBe(1)
    await retention().confirm()
    expect(await passAhead(0)).toEqual([])
    expect((await kept())[0]).toBe(0)
  })
})

const keepsAll = withAdmins({})

onEveryStore('retention where everything is kept', keepsAll, (server) => {
  test('has nothing to erase, so it need not believe the clock', async () => {
    const retention = new Retention(server.context)
    await retention.confirm(Date.now() - 400 * DAY)
    expect(await doubtsDuring(server, retention)).toEqual([])
  })
})
