import { beforeAll, expect, test } from 'bun:test'
import { entity, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, firstPass, onEveryStore } from '../harness.ts'
import { clearOut } from '../work.ts'

const DAY = 86_400_000

const declaration = withAdmins(
  {
    notes: entity({ fields: { text: text(), of: ref('notes', { optional: true }) } }),
    papers: entity({ fields: { text: text() }, trash: { keep: '1y' }, journal: { keep: '10y' } }),
  },
  { trash: { keep: '30d' }, journal: { keep: '90d' } },
)

onEveryStore('what is old', declaration, (server) => {
  beforeAll(() => firstPass(server))
  const pass = (now?: number) => clearOut(server.context, now)
  const note = async (body: object, type = 'notes') =>
    (await server.expect(201, 'POST', `/api/${type}/`, body)).id as number
  const versions = async (type: string, id: number) =>
    (
      await server.query(
        'SELECT version FROM takeback_journal WHERE entity = $1 AND entity_id = $2 ORDER BY version',
        type,
        id,
      )
    ).map(({ version }) => version)
  /** Forgets the server's marks of its journal, which would contradict the changed times. */
  const forgetMarks = () => server.query("DELETE FROM takeback_meta WHERE key = 'marks'")
  /** Moves a version some days into the past. */
  const age = async (type: string, id: number, version: number, days: number) => {
    const at = new Date(Date.now() - days * DAY).toISOString()
    await forgetMarks()
    await server.query(
      'UPDATE takeback_journal SET at = $1 WHERE entity = $2 AND entity_id = $3 AND version = $4',
      at,
      type,
      id,
      version,
    )
  }
  const deletedAgo = async (type: string, id: number, days: number) => {
    await forgetMarks()
    await server.query(
      `UPDATE "${type}" SET deleted_at = $1 WHERE id = $2`,
      new Date(Date.now() - days * DAY).toISOString(),
      id,
    )
  }

  test('is purged from the trash in its time, of each type its own', async () => {
    const [old, young, live, paper, holder] = [
      await note({ text: 'old' }),
      await note({ text: 'young' }),
      await note({ text: 'live' }),
      await note({ text: 'paper' }, 'papers'),
      await note({ text: 'held' }),
    ]
    await note({ text: 'holds', of: { id: holder } })
    for (const [type, id] of [
      ['notes', old],
      ['notes', young],
      ['papers', paper],
    ] as const)
      await server.expect(200, 'DELETE', `/api/${type}/${id}/`)
    await deletedAgo('notes', old, 31)
    await deletedAgo('notes', young, 29)
    await deletedAgo('papers', paper, 31)
    const told: unknown[] = []
    const end = server.context.observer.subscribe((event) => told.push(event))
    expect(await pass()).toBe(1)
    end()
    const [journalled] = await server.query(
      "SELECT operation FROM takeback_journal WHERE entity = 'notes' AND kind = 'purge'",
    )
    const { operation } = journalled as { operation: string }
    expect(told).toEqual([{ kind: 'purged', entity: 'notes', id: old, entities: 1, operation }])
    const left = await server.query('SELECT id FROM notes ORDER BY id')
    expect(left.map(({ id }) => id)).not.toContain(old)
    expect(left.map(({ id }) => id)).toContain(young)
    expect(left.map(({ id }) => id)).toContain(live)
    expect(await server.rows('papers')).toBe(1)
    const { data } = await server.expect(200, 'GET', `/api/notes/${old}/history/`)
    expect(data[0]).toMatchObject({ kind: 'purge', actor: 'system', changed: null })
  })

  test('is cut from the journal, but for what still shows how things stood', async () => {
    const id = await note({ text: '1' })
    for (const text of ['2', '3', '4', '5']) await server.expect(200, 'PATCH', `/api/notes/${id}/`, { text })
    const unchanged = await note({ text: 'never changed' })
    const paper = await note({ text: '1' }, 'papers')
    await server.expect(200, 'PATCH', `/api/papers/${paper}/`, { text: '2' })
    // Versions from 400, 300, 200 and 100 days ago, and one from today.
    for (const version of [1, 2, 3, 4]) await age('notes', id, version, 500 - version * 100)
    await server.query(
      'UPDATE notes SET created_at = $1 WHERE id = $2',
      new Date(Date.now() - 400 * DAY).toISOString(),
      id,
    )
    await age('notes', unchanged, 1, 900)
    await age('papers', paper, 1, 900)
    await age('papers', paper, 2, 800)
    await pass()
    // At the start of the retained period, it was at version 4.
    expect(await versions('notes', id)).toEqual([4, 5])
    expect(await versions('notes', unchanged)).toEqual([1])
    expect(await versions('papers', paper)).toEqual([1, 2])
    const at = new Date(Date.now() - 89 * DAY).toISOString()
    expect((await server.expect(200, 'GET', `/api/notes/${id}/?at=${at}`)).text).toBe('4')
    const before = await server.call(
      'GET',
      `/api/notes/${id}/?at=${new Date(Date.now() - 91 * DAY).toISOString()}`,
    )
    expect(before.body.errors.at[0]).toContain('the journal does not go back that far')
    const { data } = await server.expect(200, 'GET', `/api/notes/${id}/history/`)
    expect(data.map(({ version, changed }: any) => [version, changed])).toEqual([
      [5, { text: { from: '4', to: '5' } }],
      [4, null],
    ])
  })

  test('is looked at once: each pass goes on where the one before has come to', async () => {
    const ids: number[] = []
    for (let at = 0; at < 12; at++) ids.push(await note({ text: `${at}` }))
    // Changes in any order, at random ages: a model says what must be left after each pass.
    const changes: { id: number; version: number; at: number }[] = ids.map((id) => ({
      id,
      version: 1,
      at: 0,
    }))
    let clock = -400
    for (let at = 0; at < 60; at++) {
      const id = ids[Math.floor(Math.random() * ids.length)] ?? 0
      const { version } = await server.expect(200, 'PATCH', `/api/notes/${id}/`, { text: `${at}` })
      changes.push({ id, version, at: 0 })
    }
    for (const change of changes) {
      change.at = clock
      clock += Math.random() * 10
      await age('notes', change.id, change.version, -change.at)
    }
    const left = async () =>
      (
        await server.query(
          'SELECT entity_id AS id, version FROM takeback_journal WHERE entity = $1 AND entity_id >= $2 ORDER BY entity_id, version',
          'notes',
          ids[0] ?? 0,
        )
      ).map(({ id, version }) => `${id} ${version}`)
    const expected = (now: number) =>
      changes
        .filter(
          ({ id, version }) => !changes.some((k) => k.id === id && k.version > version && k.at <= now - 90),
        )
        .map(({ id, version }) => `${id} ${version}`)
    for (const now of [-250, -200, -200, -100, 0, 50, 150]) {
      await pass(Date.now() + now * DAY)
      expect([now, (await left()).sort()]).toEqual([now, expected(now).sort()])
    }
    // A pass does not look again at rows that it has passed.
    const [place] = await server.query("SELECT value FROM takeback_meta WHERE key = 'cut notes'")
    const [last] = await server.query('SELECT max(seq) AS seq FROM takeback_journal')
    expect(Number(place?.value)).toBe(Number(last?.seq))
  })

  test('is cleared out by the server itself, in its time', async () => {
    const trashed = await note({ text: 'trashed' })
    await server.expect(200, 'DELETE', `/api/notes/${trashed}/`)
    await deletedAgo('notes', trashed, 31)
    await server.context.work.bringForward('retention')
    await eventually(
      async () => (await server.query('SELECT id FROM notes WHERE id = $1', trashed)).length === 0,
    )
  })

  test('after a pass that fails, the next one goes on', async () => {
    const id = await note({ text: '1' })
    await server.expect(200, 'PATCH', `/api/notes/${id}/`, { text: '2' })
    const now = Date.now() + 200 * DAY
    const trashed = await note({ text: 'trashed' })
    await server.expect(200, 'DELETE', `/api/notes/${trashed}/`)
    await server.query('ALTER TABLE takeback_shown RENAME TO takeback_hidden')
    await expect(pass(now)).rejects.toThrow()
    await server.query('ALTER TABLE takeback_hidden RENAME TO takeback_shown')
    await pass(now)
    expect(await versions('notes', id)).toEqual([2])
    expect((await server.query('SELECT id FROM notes WHERE id = $1', trashed)).length).toBe(0)
  })
})
