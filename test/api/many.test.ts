import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { budget } from '../../src/budget.ts'
import { expectInvalid, giant, isDeep, operationOf, runs } from '../harness.ts'
import { fillTable, type RecordedStatement, recordStatements } from '../plans.ts'
import { type Task, withTracker } from '../tracker.ts'

withTracker('writes by a filter', (tasks, server) => {
  test('a delete takes what cascades, clears, and is refused as a whole with all that stands against it', async () => {
    const { ids, where } = await tasks.make({ points: 1 }, { points: 2 }, { points: 3 })
    const [one = 0, two = 0, three = 0] = ids
    await server.expect(201, 'POST', '/api/notes/', [{ task: { id: one } }, { task: { id: two } }])
    const outside = await tasks.make(
      { parent: { id: one } },
      { related: { id: two } },
      { related: { id: three } },
    )
    expect(await tasks.remove(where)).toMatchObject({
      status: 409,
      body: { code: 'in_use', errors: { 'tasks.parent': ['1 task refers to them'] } },
    })
    await server.expect(200, 'PATCH', `/api/tasks/${outside.ids[0]}/`, { parent: null })
    // Entities that are deleted together do not block each other.
    await server.expect(200, 'PATCH', `/api/tasks/${two}/`, { parent: { id: three } })
    const shown = await tasks.remove(where, '&dry_run=1')
    expect(shown.body).toMatchObject({ operation: null, matched: 3, total: 7, next: null })
    expect(await tasks.all(where)).toHaveLength(3)
    const removed = await tasks.remove(where)
    expect(removed.body).toMatchObject({ operation: operationOf(removed), matched: 3, total: 7 })
    const kinds = removed.body.changes.map(({ entity, kind }: Record<string, string>) => `${kind} ${entity}`)
    expect(kinds.toSorted()).toEqual([
      ...Array.from({ length: 2 }, () => 'delete notes'),
      ...Array.from({ length: 3 }, () => 'delete tasks'),
      ...Array.from({ length: 2 }, () => 'update tasks'),
    ])
    expect([await tasks.all(where), (await tasks.get(outside.ids[1])).related]).toEqual([[], null])
    // One of them can be restored alone, with its own cascade.
    await server.expect(200, 'DELETE', `/api/tasks/${three}/?restore=1`)
    expect([(await tasks.all(where)).length, (await tasks.get(outside.ids[2])).related]).toEqual([
      1,
      { id: three },
    ])
    await tasks.undo(removed)
    expect((await tasks.all(where)).map(({ id }) => id)).toEqual([one, two, three])
    expect((await tasks.get(outside.ids[1])).related).toEqual({ id: two })
    expect((await server.call('DELETE', '/api/admins/?filter=true')).body.code).toBe('last_admin')
  })

  test('a preview is paged, and its plan does exactly that or nothing', async () => {
    const { ids, where } = await tasks.make(
      ...Array.from({ length: 120 }, (_, points) => ({ points: points % 50 })),
    )
    for (const send of [
      (more: string) => tasks.patch(where, { points: { $add: 1 }, tags: { $remove: [] } }, more),
      (more: string) => tasks.remove(where, more),
    ]) {
      const journal = await server.rows('takeback_journal')
      const first = await send('&dry_run=1')
      const second = await send(`&dry_run=1&cursor=${first.body.next}`)
      expect([first.body.changes.length, second.body.changes.length, second.body.next]).toEqual([
        100,
        20,
        null,
      ])
      const seen = [...first.body.changes, ...second.body.changes].map(({ id }: Task) => id)
      expect(seen.toSorted((a, b) => a - b)).toEqual(ids)
      expect(await server.rows('takeback_journal')).toBe(journal)
      await server.expect(200, 'PATCH', `/api/tasks/${ids[7]}/`, { title: `changed ${journal}` })
      const { status, body } = await send(`&plan=${first.body.plan}`)
      expect([status, body.code, body.preview.matched, await server.rows('takeback_journal')]).toEqual([
        412,
        'plan_changed',
        120,
        journal + 1,
      ])
      const done = await send(`&plan=${body.preview.plan}`)
      expect([done.status, done.body.total]).toEqual([200, 120])
      expect((await send(`&plan=${body.preview.plan}`)).status).toBe(412)
      await tasks.undo(done)
    }
    const shown = (await tasks.patch(where, { number: 1 }, '&dry_run=1')).body
    expect(Object.keys(shown.errors)).toEqual(['number'])
  })

  test('a filter is evaluated before any transaction begins, so that nobody waits for it', async () => {
    const { where } = await tasks.make({}, {})
    const matches = ({ statement }: RecordedStatement) =>
      statement.text.endsWith(`LIMIT ${budget.filteredEntities + 1}`)
    const { store } = server.context
    const plan = (await tasks.patch(where, { points: 1 }, '&dry_run=1')).body.plan
    for (const more of ['&dry_run=1', `&plan=${plan}`, '']) {
      const asked = await recordStatements(store, () => tasks.patch(where, { points: 1 }, more))
      expect([more, asked.filter(matches).length]).toEqual([more, 1])
    }
  })

  test('a key is used once, and a run and a reason are kept', async () => {
    const { where } = await tasks.make({}, {})
    const headers = { 'Idempotency-Key': `many-${tasks.store}`, 'Takeback-Run': `run-${tasks.store}` }
    const first = await tasks.patch(where, { points: { $add: 1 } }, '', { headers })
    const again = await tasks.patch(where, { points: { $add: 1 } }, '', { headers })
    expect([again.body, again.headers.get('Idempotent-Replay')]).toEqual([first.body, 'true'])
    expect((await tasks.all(where)).map(({ points }) => points)).toEqual([1, 1])
    const { data } = await server.expect(200, 'GET', `/api/operations/?run=run-${tasks.store}`)
    expect(data.map(({ id, changes }: Record<string, unknown>) => [id, changes])).toEqual([
      [operationOf(first), 2],
    ])
  })

  test('beside single changes of the same Entities nothing is lost', async () => {
    const { ids, where } = await tasks.make(...Array.from({ length: 10 }, () => ({ points: 0 })))
    const many = Array.from({ length: 6 }, () => tasks.patch(where, { points: { $add: 1 } }))
    const single = ids.map((id) =>
      server.call('PATCH', `/api/tasks/${id}/`, { body: { points: { $add: 10 } } }),
    )
    const sent = await Promise.all([...many, ...single])
    const done = sent.slice(0, 6).filter(({ status }) => status === 200).length
    for (const { status, body } of sent) if (status !== 200) expect(body.code).toBe('busy')
    expect((await tasks.all(where)).map(({ points }) => points)).toEqual(ids.map(() => 10 + done))
  })

  test('comes to the same as a PATCH or DELETE of each', async () => {
    const value = fc.record(
      {
        status: fc.constantFrom('open', 'done'),
        points: fc.oneof(
          fc.nat(120),
          fc.integer({ min: -60, max: 60 }).map(($add) => ({ $add })),
        ),
        place: fc.option(
          fc.record({ city: fc.constantFrom('a', 'b'), floor: fc.nat(3) }, { requiredKeys: [] }),
        ),
        extra: fc.option(fc.dictionary(fc.constantFrom('x', 'y'), fc.option(fc.nat(2)))),
        title: fc.option(fc.constantFrom('t', 'u')),
      },
      { requiredKeys: [] },
    )
    const body = fc.record({
      points: fc.nat(90),
      extra: fc.option(fc.constant({ x: 1 })),
      place: fc.option(fc.constant({ city: 'c' })),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(body, { minLength: 1, maxLength: 4 }), value, async (bodies, sent) => {
        const [one, other] = [await tasks.make(...bodies), await tasks.make(...bodies)]
        const got = await tasks.patch(one.where, sent)
        const parts = other.ids.map((id) => ({ method: 'PATCH', path: `/api/tasks/${id}/`, body: sent }))
        const each = await server.call('POST', '/api/batch/', { body: parts })
        expect([got.status, got.text]).toEqual([each.status, got.text])
        const values = async ({ where }: { where: string }) =>
          (await tasks.all(where)).map(({ status, points, place, extra, title }) => ({
            status,
            points,
            place,
            extra,
            title,
          }))
        expect(await values(one)).toEqual(await values(other))
      }),
      { numRuns: runs(20) },
    )
  })

  giant('more than may be changed at once are refused, and as many as may be are changed', async () => {
    const most = budget.filteredEntities
    const time = tasks.store === 'sqlite' ? "'2026-01-01T00:00:00.000Z'" : 'now()'
    const big = { store: tasks.store, table: 'tags', rows: most + 1, time }
    await fillTable(server, big, { name: "'big ' || i" })
    const path = '/api/tags/?filter=name.startsWith("big ")'
    const patch = (more = '') => server.call('PATCH', `${path}${more}`, { body: { name: 'big and changed' } })
    for (const received of [await patch(), await server.call('DELETE', path)])
      expectInvalid(received, {
        filter: [`matches ${most + 1} tags: at most ${most} can be changed at once`],
      })
    if (!isDeep) return
    const { data } = await server.expect(200, 'GET', `${path}&limit=1`)
    await server.expect(200, 'DELETE', `/api/tags/${data[0].id}/`)
    const changed = await patch()
    expect([changed.status, changed.body.total]).toEqual([200, most])
    const removed = await server.call('DELETE', path)
    expect([removed.status, removed.body.total]).toEqual([200, most])
    await tasks.undo(removed)
    expect((await server.expect(200, 'GET', `${path}&count=1&limit=1`)).total).toBe(most)
  })
})
