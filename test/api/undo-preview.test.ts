import { expect, test } from 'bun:test'
import { graph } from '../declarations.ts'
import { onEveryStore, operationOf, type TestRequest, type TestResponse } from '../harness.ts'

onEveryStore('previews', graph, (server) => {
  const done = async (method: string, path: string, body?: unknown) => {
    const received = await server.call(method, path, body === undefined ? {} : { body })
    if (received.status > 299) throw new Error(`${method} ${path}: ${received.status} ${received.text}`)
    return { body: received.body, operation: operationOf(received) }
  }
  const undo = (operation: string, query = '', sent: TestRequest = {}) =>
    server.call('POST', `/api/operations/${operation}/undo/${query}`, sent)
  const person = (more = {}) => done('POST', '/api/people/', { name: 'p', ...more })
  const status = async (path: string) => (await server.call('GET', path)).status
  const journal = () => server.rows('takeback_journal')
  const withoutTimes = (changes: any[]) =>
    changes.map(({ changed: { deleted_at, ...changed }, ...rest }) => ({
      ...rest,
      changed,
      deletes: deleted_at?.to != null,
    }))

  test('are asked for in the query and in the body, and write nothing', async () => {
    const { body, operation } = await person()
    const rows = await journal()
    for (const [query, sent] of [
      ['?dry_run=1', {}],
      ['', { body: { dry_run: true } }],
      ['?skip_conflicts=1', { body: { dry_run: true } }],
    ] as const) {
      const { status, body } = await undo(operation, query, sent)
      expect([status, body.operation, body.total]).toEqual([200, null, 1])
    }
    const many = await server.call('POST', '/api/operations/undo/', {
      body: { entity: `people/${body.id}`, dry_run: true },
    })
    expect([many.status, many.body.undone, many.body.total]).toEqual([200, 1, 1])
    for (const sent of [
      { dry: true },
      { dry_run: 1 },
      { dry_run: 'true' },
      { skip_conflicts: 'yes' },
      { with: 'all' },
      { with: 3 },
      { plan: true },
      { cursor: 'x' },
      { since: '2026-01-01T00:00:00Z' },
    ]) {
      const refused = await undo(operation, '', { body: sent })
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, Object.keys(sent)])
    }
    const twice = await undo(operation, '?dry_run=1', { body: { dry_run: false } })
    expect([twice.status, Object.keys(twice.body.errors)]).toEqual([422, ['dry_run']])
    expect((await undo(operation, '', { body: [] })).status).toBe(400)
    expect((await undo(operation, '', { raw: '{' })).status).toBe(400)
    expect((await undo(operation, '', { raw: '{}', headers: { 'Content-Type': 'text/plain' } })).status).toBe(
      415,
    )
    expect(await journal()).toBe(rows)
    expect(await status(`/api/people/${body.id}/`)).toBe(200)
    // An empty body, and none at all.
    expect((await undo(operation, '', { body: {} })).status).toBe(200)
  })

  test('a plan is done exactly, or answered with a new one', async () => {
    const { body, operation } = await person({ name: 'planned' })
    const path = `/api/people/${body.id}/`
    const first = (await undo(operation, '?dry_run=1')).body
    const other = await person({ name: 'another' })
    const rows = await journal()
    // A plan for something else is refused, and so is a plan of somebody else.
    const foreign = (await undo(other.operation, '?dry_run=1')).body.plan
    for (const plan of [foreign, 'x', '']) {
      const refused = await undo(operation, '', { body: { plan } })
      expect([refused.status, refused.body.code]).toEqual([412, 'plan_changed'])
      expect(withoutTimes(refused.body.preview.changes)).toEqual(withoutTimes(first.changes))
      expect(refused.body.preview.plan).toBe(first.plan)
    }
    expect(await journal()).toBe(rows)
    // A later change makes it another plan, even a change of a value that would not be set.
    const { operation: patched } = await done('PATCH', path, { name: 'changed' })
    const second = (await undo(patched, '?dry_run=1')).body
    await done('PATCH', path, { boss: { id: other.body.id } })
    const stale = await undo(patched, `?plan=${second.plan}`)
    expect([stale.status, stale.body.preview.total]).toEqual([412, 1])
    const renewed = await undo(patched, `?plan=${stale.body.preview.plan}`)
    expect([renewed.status, operationOf(renewed) !== '']).toEqual([200, true])
    expect(withoutTimes(renewed.body.changes)).toEqual(withoutTimes(stale.body.preview.changes))
    expect((await server.expect(200, 'GET', path)).name).toBe('planned')
    // After it is done, the plan no longer fits, either.
    expect((await undo(patched, `?plan=${stale.body.preview.plan}`)).status).toBe(412)
  })

  test('of many, operations that came since are not in the plan', async () => {
    const { body } = await person({ name: 'one' })
    const query = (plan?: string) => ({
      body: { entity: `people/${body.id}`, ...(plan === undefined ? { dry_run: true } : { plan }) },
    })
    await done('PATCH', `/api/people/${body.id}/`, { name: 'two' })
    const { plan } = (await server.call('POST', '/api/operations/undo/', query())).body
    await done('PATCH', `/api/people/${body.id}/`, { name: 'three' })
    const refused = await server.call('POST', '/api/operations/undo/', query(plan))
    expect([refused.status, refused.body.preview.undone]).toEqual([412, 3])
    expect(await status(`/api/people/${body.id}/`)).toBe(200)
  })

  test('have pages, which belong together', async () => {
    const names = Array.from({ length: 230 }, (_, at) => ({ name: `page ${at}` }))
    const created = await server.call('POST', '/api/people/', { body: names })
    const operation = operationOf(created)
    const seen: number[] = []
    let cursor: string | null = null
    let plan: string | undefined
    do {
      const query: string = cursor === null ? '?dry_run=1' : `?dry_run=1&cursor=${cursor}`
      const { status, body } = await undo(operation, query)
      expect([status, body.total, body.plan]).toEqual([200, 230, plan ?? body.plan])
      plan = body.plan
      seen.push(...body.changes.map(({ id }: { id: number }) => id))
      if (cursor === null) expect(body.changes).toHaveLength(100)
      cursor = body.next
    } while (cursor !== null)
    expect(seen).toEqual(created.body.data.map(({ id }: { id: number }) => id))
    const { next } = (await undo(operation, '?dry_run=1')).body
    await done('PATCH', `/api/people/${seen[7]}/`, { name: 'another' })
    const stale = await undo(operation, `?dry_run=1&cursor=${next}`)
    expect([stale.status, Object.keys(stale.body.errors)]).toEqual([412, [`people/${seen[7]}`]])
    expect((await undo(operation, `?cursor=${next}`)).status).toBe(422)
  })

  test('of deletes and restores list cascades, cleared references and conflicts', async () => {
    const { body: company } = await done('POST', '/api/companies/', { name: 'previewed' })
    const { body: lead } = await person({ company: { id: company.id } })
    const { body: other } = await person({ boss: { id: lead.id }, friends: [{ id: lead.id }] })
    const path = `/api/companies/${company.id}/`
    const rows = await journal()
    const preview = await server.expect(200, 'DELETE', `${path}?dry_run=1`)
    expect(preview.operation).toBeNull()
    expect(withoutTimes(preview.changes)).toEqual([
      { entity: 'companies', id: company.id, kind: 'delete', changed: {}, deletes: true },
      { entity: 'people', id: lead.id, kind: 'delete', changed: {}, deletes: true },
      {
        entity: 'people',
        id: other.id,
        kind: 'update',
        changed: {
          'boss.id': { from: lead.id, to: null },
          friends: { from: [{ id: lead.id }], to: [] },
        },
        deletes: false,
      },
    ])
    expect(await journal()).toBe(rows)
    const { operation } = await done('DELETE', path)
    const past = await server.expect(200, 'GET', `/api/operations/${operation}/`)
    const sorted = past.data.toSorted((a: any, b: any) => a.entity.localeCompare(b.entity) || a.id - b.id)
    expect(withoutTimes(sorted.map(({ version: _, ...one }: any) => one))).toEqual(
      withoutTimes(preview.changes),
    )
    const back = await server.expect(200, 'DELETE', `${path}?restore=1&dry_run=1`)
    expect([back.total, await status(path)]).toEqual([3, 404])
    await done('DELETE', `${path}?restore=1`)
    // A paper prevents the deletion of its keeper.
    await done('POST', '/api/papers/', { title: 'keeps', meta: {}, keeper: { id: lead.id } })
    const held = await server.call('DELETE', `${path}?dry_run=1`)
    expect([held.status, held.body.code]).toEqual([409, 'in_use'])
    for (const query of ['?purge=1&dry_run=1', '?dry_run=2', '?with=targets', '?restore=1&with=dependents'])
      expect((await server.call('DELETE', `${path}${query}`)).status).toBe(422)
    const part = { method: 'DELETE', path: `${path}?dry_run=1` }
    expect((await server.call('POST', '/api/batch/', { body: [part] })).status).toBe(422)
    expect(await status(path)).toBe(200)
  })
})

onEveryStore('ways out of a 409', graph, (server) => {
  const done = async (method: string, path: string, body?: unknown) => {
    const received = await server.call(method, path, body === undefined ? {} : { body })
    if (received.status > 299) throw new Error(`${method} ${path}: ${received.status} ${received.text}`)
    return { body: received.body, operation: operationOf(received) }
  }
  const undo = (operation: string, query = '') =>
    server.call('POST', `/api/operations/${operation}/undo/${query}`)
  const person = (more = {}) => done('POST', '/api/people/', { name: 'p', ...more })
  const isLive = async (type: string, { id }: { id: number }) =>
    (await server.call('GET', `/api/${type}/${id}/`)).status === 200
  const namesIn = ({ body }: TestResponse) =>
    body.changes.map(({ entity, id, kind }: any) => `${kind} ${entity}/${id}`).sort()

  test('a create goes with what hangs from it, at any depth, in circles too', async () => {
    const { body: root, operation } = await person({ name: 'root' })
    const { body: cascading } = await person({ twin: { id: root.id } })
    const { body: clearing } = await person({ boss: { id: root.id }, friends: [{ id: root.id }] })
    const paper = (title: string, more: object) => done('POST', '/api/papers/', { title, meta: {}, ...more })
    const { body: keeping } = await paper('hangs 1', { keeper: { id: cascading.id } })
    const { body: source } = await paper('hangs 2', { sources: [{ id: keeping.id }] })
    await done('PATCH', `/api/papers/${keeping.id}/`, { sources: [{ id: source.id }] })
    const refused = await undo(operation)
    expect([refused.status, refused.body.errors[`people/${root.id}`].length]).toEqual([409, 3])
    const dry = await undo(operation, '?with=dependents&dry_run=1')
    expect(namesIn(dry)).toEqual(
      [
        `delete people/${root.id}`,
        `delete people/${cascading.id}`,
        `delete papers/${keeping.id}`,
        `delete papers/${source.id}`,
        `update people/${clearing.id}`,
      ].sort(),
    )
    expect(await isLive('papers', source)).toBe(true)
    const undone = await undo(operation, `?with=dependents&plan=${dry.body.plan}`)
    expect(namesIn(undone)).toEqual(namesIn(dry))
    for (const one of [root, cascading]) expect(await isLive('people', one)).toBe(false)
    for (const one of [keeping, source]) expect(await isLive('papers', one)).toBe(false)
    expect(await server.expect(200, 'GET', `/api/people/${clearing.id}/`)).toMatchObject({
      boss: null,
      friends: [],
    })
    // And all of it back again.
    await done('POST', `/api/operations/${operationOf(undone)}/undo/`)
    for (const one of [keeping, source]) expect(await isLive('papers', one)).toBe(true)
    expect(await server.expect(200, 'GET', `/api/people/${clearing.id}/`)).toMatchObject({
      boss: { id: root.id },
      friends: [{ id: root.id }],
    })
  })

  test('a restore goes with its deleted targets, and theirs; so does an undo', async () => {
    const { body: company } = await done('POST', '/api/companies/', { name: 'target' })
    const { body: boss } = await person({ company: { id: company.id } })
    const { body: child } = await person({ twin: { id: boss.id } })
    const { body: other } = await person({ twin: { id: boss.id } })
    const { operation } = await done('DELETE', `/api/people/${child.id}/`)
    await done('DELETE', `/api/people/${boss.id}/`)
    await done('DELETE', `/api/companies/${company.id}/`)
    const path = `/api/people/${child.id}/`
    expect((await server.call('DELETE', `${path}?restore=1`)).status).toBe(409)
    expect((await undo(operation)).body.errors).toEqual({
      [`people/${child.id}`]: [`refers to people/${boss.id} in twin.id, which is deleted`],
    })
    const dry = await server.expect(200, 'DELETE', `${path}?restore=1&with=targets&dry_run=1`)
    // The target is restored with everything that its own deletion took.
    expect(dry.changes.map(({ kind }: any) => kind)).toEqual(['restore', 'restore', 'restore', 'restore'])
    const live = async (): Promise<boolean[]> =>
      Promise.all([isLive('companies', company), ...[boss, child, other].map((one) => isLive('people', one))])
    expect(await live()).not.toContain(true)
    const restored = await done('DELETE', `${path}?restore=1&with=targets`)
    expect(restored.body).toMatchObject({ id: child.id, deleted_at: null })
    expect(await live()).not.toContain(false)
    await done('POST', `/api/operations/${restored.operation}/undo/`)
    expect(await live()).not.toContain(true)
    const preview = await undo(operation, '?with=targets&dry_run=1')
    expect(preview.body.total).toBe(4)
    const undone = await undo(operation, `?with=targets&plan=${preview.body.plan}`)
    expect([undone.status, undone.body.total]).toEqual([200, 4])
    expect(await live()).not.toContain(false)
  })

  test('what was deleted together with its target comes back with it', async () => {
    const { body: boss } = await person()
    const { body: child } = await person({ twin: { id: boss.id } })
    const path = `/api/people/${child.id}/`
    for (const [method, back] of [
      ['DELETE', `${path}?restore=1&with=targets`],
      ['POST', `${path}undo/?with=targets`],
    ] as const) {
      await done('DELETE', `/api/people/${boss.id}/`)
      const { total, plan } = await server.expect(200, method, `${back}&dry_run=1`)
      expect([method, total]).toEqual([method, 2])
      await server.expect(200, method, `${back}&plan=${plan}`)
      expect(await isLive('people', boss)).toBe(true)
    }
  })

  test('undo of many keeps the extent of each deletion', async () => {
    const { body: parent } = await person({ name: 'parent' })
    const { body: child } = await person({ twin: { id: parent.id } })
    await done('DELETE', `/api/people/${parent.id}/`)
    // `since` is in milliseconds: the deletion must not be in the same one as the restore.
    await Bun.sleep(5)
    const { operation } = await done('DELETE', `/api/people/${parent.id}/?restore=1`)
    const { at } = await server.expect(200, 'GET', `/api/operations/${operation}/`)
    await done('DELETE', `/api/people/${child.id}/`)
    await done('POST', '/api/operations/undo/', { since: at })
    expect([await isLive('people', parent), await isLive('people', child)]).toEqual([false, false])
    await done('DELETE', `/api/people/${parent.id}/?restore=1`)
    expect([await isLive('people', parent), await isLive('people', child)]).toEqual([true, true])
  })

  test('a cleared reference is not set again where somebody has set and emptied it since', async () => {
    const { body: boss } = await person()
    const [kept, changed] = [await person({ boss: { id: boss.id } }), await person({ boss: { id: boss.id } })]
    await done('DELETE', `/api/people/${boss.id}/`)
    const { body: another } = await person()
    await done('PATCH', `/api/people/${changed.body.id}/`, { boss: { id: another.id } })
    await done('PATCH', `/api/people/${changed.body.id}/`, { boss: null })
    await done('PATCH', `/api/people/${kept.body.id}/`, { name: 'other field' })
    await done('DELETE', `/api/people/${boss.id}/?restore=1`)
    const bossOf = async ({ body }: { body: { id: number } }) =>
      (await server.expect(200, 'GET', `/api/people/${body.id}/`)).boss
    expect([await bossOf(kept), await bossOf(changed)]).toEqual([{ id: boss.id }, null])
  })

  test('all obstacles come at once', async () => {
    const { body: first } = await done('POST', '/api/companies/', { name: 'all at once' })
    const { body: boss } = await person()
    const { body: one } = await person({ boss: { id: boss.id } })
    const { body: made } = await person({ name: 'made' })
    const batched = await done('POST', '/api/batch/', [
      { method: 'PATCH', path: `/api/companies/${first.id}/`, body: { name: 'all at once, again' } },
      { method: 'PATCH', path: `/api/people/${one.id}/`, body: { boss: null } },
      { method: 'PATCH', path: `/api/people/${made.id}/`, body: { name: 'changed' } },
      { method: 'POST', path: '/api/people/', body: { name: 'held' } },
    ])
    const held = batched.body.results[3].body
    const { body: taker } = await done('POST', '/api/companies/', { name: 'all at once' })
    await done('DELETE', `/api/people/${boss.id}/`)
    await done('PATCH', `/api/people/${made.id}/`, { name: 'changed again' })
    const { body: holder } = await person({ mentor: { id: held.id } })
    const { status, body } = await undo(batched.operation)
    expect(status).toBe(409)
    expect(body.errors).toEqual({
      [`companies/${first.id}`]: [`has a value in name that is taken by companies/${taker.id}`],
      [`people/${one.id}`]: [`refers to people/${boss.id} in boss.id, which is deleted`],
      [`people/${made.id}`]: [expect.stringMatching(/^name was changed since, by admins\/1 at /)],
      [`people/${held.id}`]: [`is referred to by people/${holder.id} in mentor.id`],
    })
  })
})
