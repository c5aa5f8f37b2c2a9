import { expect, test } from 'bun:test'
import { expectInvalid, operationOf } from '../harness.ts'
import { type Task, withTracker } from '../tracker.ts'

withTracker('changes by a filter', (tasks, server) => {
  test('all that match are changed as one operation, and those that have the values already are not', async () => {
    const { ids, where } = await tasks.make(
      { title: 'One', points: 1 },
      { title: 'Two', points: 2 },
      { status: 'done' },
    )
    const before = await tasks.all(where)
    const changed = await tasks.patch(where, { status: 'done', points: { $add: 3 }, price: '1.5' })
    expect(changed.status).toBe(200)
    expect(changed.body).toMatchObject({ operation: operationOf(changed), matched: 3, total: 3 })
    expect(changed.body.changes[0]).toEqual({
      entity: 'tasks',
      id: ids[0],
      kind: 'update',
      changed: {
        status: { from: 'open', to: 'done' },
        points: { from: 1, to: 4 },
        price: { from: null, to: '1.50' },
      },
    })
    expect((await tasks.all(where)).map(({ points, status, version }) => [points, status, version])).toEqual([
      [4, 'done', 2],
      [5, 'done', 2],
      [3, 'done', 2],
    ])
    expect((await tasks.patch(`${where} && points > 4`, { status: 'open', title: 'Fünf' })).body.total).toBe(
      1,
    )
    expect((await server.expect(200, 'GET', '/api/tasks/?search=funf')).data).toHaveLength(1)
    const same = await tasks.patch(where, { price: '1.50' })
    expect([same.body.matched, same.body.total, operationOf(same)]).toEqual([3, 0, ''])
    await server.expect(200, 'POST', `/api/operations/${operationOf(changed)}/undo/?skip_conflicts=1`)
    expect((await tasks.get(ids[0])).points).toBe(1)
    expect(before.map(({ points }) => points)).toEqual([1, 2, 0])
  })

  test('objects are made and taken away, documents merged, references and lists set', async () => {
    const tags = await server.expect(201, 'POST', '/api/tags/', [{ name: 'a' }, { name: 'b' }])
    const [a, b] = tags.data.map(({ id }: Task) => ({ id }))
    const project = await server.expect(201, 'POST', '/api/projects/', { name: 'p' })
    const { where } = await tasks.make(
      { place: { city: 'Bonn', floor: 4 }, extra: { x: 1, y: 2 }, tags: [a] },
      { extra: 5 },
    )
    const sent = {
      place: { city: 'Ulm' },
      extra: { y: null, z: 3 },
      tags: { $add: [a, b] },
      project: { id: project.id },
    }
    const changed = await tasks.patch(where, sent)
    expect(
      (await tasks.all(where)).map(({ place, extra, tags, project }) => ({ place, extra, tags, project })),
    ).toEqual([
      { place: { city: 'Ulm', floor: 4 }, extra: { x: 1, z: 3 }, tags: [a, b], project: { id: project.id } },
      { place: { city: 'Ulm', floor: 1 }, extra: { z: 3 }, tags: [a, b], project: { id: project.id } },
    ])
    expect(await tasks.all(`${where} && tags.exists(t, t.id == ${b.id})`)).toHaveLength(2)
    await tasks.undo(changed)
    expect((await tasks.all(where)).map(({ place, tags }) => [place, tags])).toEqual([
      [{ city: 'Bonn', floor: 4 }, [a]],
      [null, []],
    ])
    expectInvalid(await tasks.patch(where, { place: { floor: 2 } }), {
      'place.city': [expect.stringMatching(/^is required \(tasks\/\d+\)$/)] as unknown as string[],
    })
    await tasks.patch(where, { place: null })
    expect((await tasks.all(where)).map(({ place }) => place)).toEqual([null, null])
  })

  test('without a filter nothing happens; what is wrong comes at once', async () => {
    const required = ['is required; true means all']
    expectInvalid(await server.call('DELETE', '/api/tasks/'), { filter: required })
    expectInvalid(await server.call('PATCH', '/api/tasks/', { body: { points: -1, nothing: 1, key: 'x' } }), {
      points: ['must be at least 0'],
      nothing: ['is not a field of tasks'],
      key: ['cannot be set for many at once'],
      filter: required,
    })
    expectInvalid(await tasks.patch('false', { points: { $sub: 1 }, number: { $add: 'x' } }), {
      'points.$sub': ['is not an operator here; use $add'],
      'number.$add': ['must be an integer'],
    })
    expect(Object.keys((await tasks.patch('nothing == 1', {})).body.errors)).toEqual(['filter'])
    expectInvalid(await tasks.remove('true', '&limit=5&cursor=x'), {
      limit: ['is not a parameter here'],
      cursor: ['is not a cursor of a preview'],
    })
    expectInvalid(await tasks.remove('false', '', { headers: { 'If-Match': '"1"' } }), {
      'If-Match': ['is not possible for many; use dry_run and plan'],
    })
    expect((await tasks.remove('false')).body).toEqual({ operation: null, matched: 0, total: 0, changes: [] })
  })

  test('limits, unique values, references and checks hold for each, and nothing changes', async () => {
    const { ids, where } = await tasks.make({ points: 5 }, { points: 1 }, { points: 0 })
    const other = await tasks.make({ number: 7 })
    const before = await tasks.all(where)
    expectInvalid(await tasks.patch(where, { points: { $add: -2 }, price: { $add: '1' } }), {
      price: [`has no value: set it first (tasks/${ids[0]} and 2 more)`],
      points: [`must be at least 0 (tasks/${ids[1]} and 1 more)`],
    })
    expectInvalid(await tasks.patch(where, { number: 9 }), {
      number: ['must be unique, but would be the same for several'],
    })
    expectInvalid(await tasks.patch(`id == ${ids[0]}`, { number: 7 }), {
      number: [`is taken by tasks/${other.ids[0]} (tasks/${ids[0]})`],
    })
    const nothing = ['refers to nothing']
    expectInvalid(await tasks.patch(where, { project: { id: 999 } }), {
      project: nothing,
      'project.id': nothing,
    })
    expectInvalid(await tasks.patch(where, { tags: { $add: [{ id: 999 }] } }), {
      tags: ['has an item that refers to nothing'],
    })
    expectInvalid(await tasks.patch(where, { points: 101 }), {
      points: [`must be at most 100 unless done (tasks/${ids[0]} and 2 more)`],
    })
    expectInvalid(await tasks.patch(where, { points: { $add: 98 } }), {
      points: [`must be at most 100 unless done (tasks/${ids[0]})`],
    })
    expect(await tasks.all(where)).toEqual(before)
    expect((await tasks.patch(where, { points: 101, status: 'done' })).status).toBe(200)
  })

  test('rules hold for all of them; what one does not see is neither matched nor told of', async () => {
    const { ids, where } = await tasks.make({}, { owner: 'shown' }, { owner: 'admins' }, { status: 'done' })
    const as = { token: tasks.token }
    const refused = await tasks.patch(where, { title: 'x' }, '', as)
    expect([refused.status, refused.body.errors]).toEqual([
      403,
      { filter: ['matches 1 task that you may not change'] },
    ])
    expect((await tasks.remove(where, '', as)).body.errors).toEqual({
      filter: ['matches 1 task that you may not delete'],
    })
    const open = `${where} && owner == "all"`
    expect((await tasks.patch(open, { points: 13 }, '', as)).body.errors).toEqual({
      filter: ['matches 2 tasks that you may not change'],
    })
    expect((await tasks.patch(open, { locked: 'yes' }, '', as)).body.errors).toEqual({
      filter: ['matches 1 task that you may not change'],
    })
    for (const name of ['hidden', 'nothing'])
      for (const value of [1, { $add: 1 }])
        expectInvalid(await tasks.patch(open, { [name]: value }, '', as), {
          [name]: ['is not a field of tasks'],
        })
    const unknown = await tasks.patch(`${open} && hidden == 5`, { title: 'x' }, '', as)
    const none = await tasks.patch(`${open} && missing == 5`, { title: 'x' }, '', as)
    expect([unknown.status, unknown.text.replaceAll('hidden', 'missing')]).toEqual([422, none.text])
    const done = await tasks.patch(open, { title: 'x' }, '', as)
    expect([done.body.matched, done.body.total]).toEqual([2, 2])
    expect((await tasks.get(ids[2])).title).toBe(null)
    expect((await tasks.patch(where, {}, '', { token: null })).status).toBe(401)
    expect((await server.call('DELETE', '/api/notes/?filter=true', as)).status).toBe(403)
  })

  test('hooks run for each, and what the server sets is set in each that changes', async () => {
    const bodies = [{ name: 'a' }, { name: 'B', count: 2 }, { name: 'c' }]
    const made = await server.expect(201, 'POST', '/api/orders/', bodies)
    const orders = '/api/orders/?filter=name != "other"'
    const as = { token: tasks.token }
    const changed = await server.call('PATCH', orders, { body: { count: { $add: 1 } }, ...as })
    expect([changed.status, changed.body.matched, changed.body.total]).toEqual([200, 3, 3])
    expect(Object.keys(changed.body.changes[0].changed)).toEqual(['count', 'label'])
    const all = async () => (await server.expect(200, 'GET', orders)).data
    const user = { id: 1 }
    expect(
      (await server.expect(200, 'GET', '/api/orders/?search=b&filter=fold(label) == "b"')).data,
    ).toHaveLength(1)
    expect(await all()).toMatchObject([
      { count: 1, twice: 0, editor: user, checked: '0 to 1' },
      { count: 3, twice: 0, editor: user, checked: '2 to 3' },
      { count: 1, twice: 0, editor: user, checked: '0 to 1' },
    ])
    await server.expect(200, 'PATCH', orders, { count: 2 })
    expect((await all()).map(({ twice, editor }: Task) => [twice, editor])).toEqual(
      bodies.map(() => [4, null]),
    )
    const [first] = made.data
    await server.expect(200, 'PATCH', `/api/orders/${first.id}/`, { name: 'refused' })
    const before = await all()
    // All errors are reported at once, whether from hooks or from checks.
    const alike = await server.expect(201, 'POST', '/api/orders/', { name: 'refused' })
    expectInvalid(await server.call('PATCH', orders, { body: { count: 5 }, ...as }), {
      count: [`is fixed (orders/${first.id} and 1 more)`],
    })
    expectInvalid(await server.call('PATCH', orders, { body: { count: { $add: -9 } }, ...as }), {
      count: [`must be at least 0 (orders/${first.id} and 3 more)`],
    })
    const kept = await server.call('DELETE', orders, as)
    expect([kept.status, kept.body]).toEqual([
      403,
      {
        message: 'It is kept.',
        errors: { filter: [`matches orders/${first.id}, for which it is refused`] },
        code: 'forbidden',
      },
    ])
    expect(await all()).toEqual([...before, expect.objectContaining({ id: alike.id })])
    const shown = await server.call('DELETE', '/api/orders/?filter=name != "refused"&dry_run=1', as)
    const removed = await server.call(
      'DELETE',
      `/api/orders/?filter=name != "refused"&plan=${shown.body.plan}`,
      as,
    )
    expect([removed.status, removed.body.total, (await all()).length]).toEqual([200, 2, 2])
  })
})
