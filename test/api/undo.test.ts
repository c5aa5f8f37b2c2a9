import { expect, test } from 'bun:test'
import { entity, integer, ref, signedIn, text } from '../../src/takeback.ts'
import { graph, users, withAdmins } from '../declarations.ts'
import { onEveryStore, operationOf, type TestRequest } from '../harness.ts'

onEveryStore('undo', graph, (server) => {
  const done = async (
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ body: any; operation: string }> => {
    const received = await server.call(method, path, body === undefined ? {} : { body })
    if (received.status > 299) throw new Error(`${method} ${path}: ${received.status} ${received.text}`)
    return { body: received.body, operation: operationOf(received) }
  }
  const undo = (operation: string, query = '', sent: TestRequest = {}) =>
    server.call('POST', `/api/operations/${operation}/undo/${query}`, sent)
  const person = (more = {}) => done('POST', '/api/people/', { name: 'p', ...more })
  const get = async (path: string) => (await server.call('GET', path)).body
  const withoutTimes = ({ version: _, updated_at: __, ...rest }: any) => rest

  test('of a create deletes it, of that undo restores it', async () => {
    const { body, operation } = await person({ name: 'one' })
    const first = await undo(operation)
    expect(first.body).toMatchObject({
      undone: 1,
      total: 1,
      changes: [{ entity: 'people', id: body.id, kind: 'delete' }],
    })
    expect((await server.call('GET', `/api/people/${body.id}/`)).status).toBe(404)
    const second = await undo(operationOf(first))
    expect(second.body.changes[0].kind).toBe('restore')
    expect(withoutTimes(await get(`/api/people/${body.id}/`))).toEqual(withoutTimes(body))
  })

  test('of an update sets the former values, and of that the later ones', async () => {
    const { body } = await person({ name: 'before' })
    const path = `/api/people/${body.id}/`
    const { operation } = await done('PATCH', path, { name: 'after', boss: { id: body.id } })
    const first = await undo(operation)
    expect(first.body.changes).toEqual([
      {
        entity: 'people',
        id: body.id,
        kind: 'update',
        changed: { name: { from: 'after', to: 'before' }, 'boss.id': { from: body.id, to: null } },
      },
    ])
    expect(await get(path)).toMatchObject({ name: 'before', boss: null, version: 3 })
    await undo(operationOf(first))
    expect(await get(path)).toMatchObject({ name: 'after', boss: { id: body.id }, version: 4 })
  })

  test('of a delete is the exact restore, of a restore the delete, cleared references included', async () => {
    const { body: company } = await done('POST', '/api/companies/', { name: 'undone' })
    const { body: lead } = await person({ company: { id: company.id } })
    const { body: other } = await person({ boss: { id: lead.id } })
    const { body: paper } = await done('POST', '/api/papers/', {
      title: 'undone',
      author: { id: lead.id },
      meta: { reviewer: { id: lead.id } },
    })
    const paths = [`/api/companies/${company.id}/`, `/api/people/${lead.id}/`, `/api/papers/${paper.id}/`]
    const statuses = () => Promise.all(paths.map(async (path) => (await server.call('GET', path)).status))
    const deleted = await done('DELETE', paths[0] ?? '')
    expect(await statuses()).toEqual([404, 404, 404])
    const first = await undo(deleted.operation)
    expect(first.body.total).toBe(4)
    expect(await statuses()).toEqual([200, 200, 200])
    expect((await get(`/api/people/${other.id}/`)).boss).toEqual({ id: lead.id })

    const again = await undo(operationOf(first))
    expect(await statuses()).toEqual([404, 404, 404])
    expect((await get(`/api/people/${other.id}/`)).boss).toBeNull()
    // The references that it cleared are known: a plain restore sets them again.
    await done('DELETE', `${paths[0]}?restore=1`)
    expect(await statuses()).toEqual([200, 200, 200])
    expect((await get(`/api/people/${other.id}/`)).boss).toEqual({ id: lead.id })
    // An Entity that is live already is no conflict, and nothing is left to take back.
    const third = await undo(operationOf(again))
    expect([third.status, third.body.total, third.body.operation]).toEqual([200, 0, null])

    const restored = await done('DELETE', paths[0] ?? '').then(() => done('DELETE', `${paths[0]}?restore=1`))
    await undo(restored.operation)
    expect(await statuses()).toEqual([404, 404, 404])
  })

  test('names what was changed since, and takes back the rest when told', async () => {
    const { body: company, operation: made } = await done('POST', '/api/companies/', { name: 'conflict' })
    const members = await Promise.all([1, 2, 3].map(() => person({ company: { id: company.id } })))
    const { operation } = await done('DELETE', `/api/companies/${company.id}/`)
    await done('DELETE', `/api/companies/${company.id}/?restore=1`)
    const again = await done('DELETE', `/api/companies/${company.id}/`)
    const first = await undo(operation)
    expect(first.status).toBe(409)
    expect(first.body.code).toBe('cannot_undo')
    expect(Object.keys(first.body.errors)).toHaveLength(4)
    const { data } = await get(`/api/operations/${again.operation}/`)
    expect(first.body.errors[`companies/${company.id}`]).toEqual([
      expect.stringMatching(
        /^was deleted since: restored by admins\/1 at \S+Z, deleted by admins\/1 at \S+Z$/,
      ),
    ])
    expect(data).toHaveLength(4)
    await done('DELETE', `/api/companies/${company.id}/?restore=1`)

    const patched = await done('PATCH', `/api/companies/${company.id}/`, { name: 'changed' })
    const [{ at }] = (await get(`/api/companies/${company.id}/history/`)).data
    const held = await undo(made)
    expect(held.body.errors[`companies/${company.id}`]).toEqual(
      expect.arrayContaining([
        `name was changed since, by admins/1 at ${at}`,
        expect.stringMatching(/^is referred to by people/),
      ]),
    )
    await undo(patched.operation)
    // A create cannot be undone while others refer to it.
    const id = members[0]?.body.id
    const { operation: late, body: target } = await person()
    await done('PATCH', `/api/people/${id}/`, { mentor: { id: target.id } })
    expect((await undo(late)).body.errors).toEqual({
      [`people/${target.id}`]: [`is referred to by people/${id} in mentor.id`],
    })
    expect((await server.call('GET', `/api/people/${target.id}/`)).status).toBe(200)
  })

  test('values that are taken, targets that are deleted or purged stand in the way', async () => {
    const { body: a } = await done('POST', '/api/companies/', { name: 'name a' })
    const { operation } = await done('PATCH', `/api/companies/${a.id}/`, { name: 'name b' })
    const { body: b } = await done('POST', '/api/companies/', { name: 'name a' })
    expect((await undo(operation)).body.errors).toEqual({
      [`companies/${a.id}`]: [`has a value in name that is taken by companies/${b.id}`],
    })
    const { body: boss } = await person()
    const { body: one } = await person({ boss: { id: boss.id } })
    const { operation: freed } = await done('PATCH', `/api/people/${one.id}/`, { boss: null })
    await done('DELETE', `/api/people/${boss.id}/`)
    expect((await undo(freed)).body.errors).toEqual({
      [`people/${one.id}`]: [`refers to people/${boss.id} in boss.id, which is deleted`],
    })
    await server.expect(204, 'DELETE', `/api/people/${boss.id}/?purge=1`)
    expect((await undo(freed)).body.errors).toEqual({
      [`people/${one.id}`]: [`refers to people/${boss.id} in boss.id, which was purged`],
    })
    const { body: gone, operation: made } = await person()
    await done('DELETE', `/api/people/${gone.id}/`)
    await server.expect(204, 'DELETE', `/api/people/${gone.id}/?purge=1`)
    expect((await undo(made)).body.errors).toEqual({
      [`people/${gone.id}`]: ['was purged and cannot be restored'],
    })
  })

  test('a dry run says the same, and writes nothing', async () => {
    const { body, operation } = await person({ name: 'dry' })
    const rows = await server.rows('takeback_journal')
    const dry = await undo(operation, '?dry_run=1')
    expect([dry.status, dry.body.operation, dry.body.total]).toEqual([200, null, 1])
    expect(operationOf(dry)).toBe('')
    expect(await server.rows('takeback_journal')).toBe(rows)
    expect((await server.call('GET', `/api/people/${body.id}/`)).status).toBe(200)
    await person({ mentor: { id: body.id } })
    expect((await undo(operation, '?dry_run=1')).status).toBe(409)
    for (const query of ['?dry_run=2', '?dry=1', '?skip_conflicts=yes'])
      expect((await undo(operation, query)).status).toBe(422)
    for (const id of ['x', '01973a2e-7c40-7000-8000-5f1d2c3b4a59']) expect((await undo(id)).status).toBe(404)
  })

  test('many are undone to the state before all of them, whatever goes from one to another', async () => {
    const { body: a } = await done('POST', '/api/companies/', { name: 'swap 1' })
    const { body: b } = await done('POST', '/api/companies/', { name: 'swap 2' })
    await Bun.sleep(5)
    const since = new Date().toISOString()
    await Bun.sleep(5)
    await done('PATCH', `/api/companies/${a.id}/`, { name: 'swap 3' })
    await done('PATCH', `/api/companies/${b.id}/`, { name: 'swap 1' })
    await done('PATCH', `/api/companies/${a.id}/`, { name: 'swap 2' })
    const { body: made } = await person({ company: { id: b.id } })
    await done('PATCH', `/api/people/${made.id}/`, { name: 'later' })
    await done('DELETE', `/api/companies/${b.id}/`)
    const dry = await server.call('POST', '/api/operations/undo/?dry_run=1', { body: { since } })
    expect(dry.body).toMatchObject({ operation: null, undone: 6, total: 2 })
    const undone = await server.call('POST', '/api/operations/undo/', { body: { since, actor: 'admins/1' } })
    expect(undone.body).toMatchObject({ undone: 6, total: 2 })
    expect(await get(`/api/companies/${a.id}/`)).toMatchObject({ name: 'swap 1' })
    expect(await get(`/api/companies/${b.id}/`)).toMatchObject({ name: 'swap 2', deleted_at: null })
    expect((await server.call('GET', `/api/people/${made.id}/`)).status).toBe(404)
    // And back again.
    await undo(operationOf(undone))
    expect(await get(`/api/companies/${a.id}/`)).toMatchObject({ name: 'swap 2' })
    expect((await server.call('GET', `/api/companies/${b.id}/`)).status).toBe(404)
    for (const [body, key] of [
      [{}, 'since'],
      [{ since: 'x' }, 'since'],
      [{ actor: 'somebody' }, 'actor'],
      [{ entity: 'nothing' }, 'entity'],
      [{ since, more: 1 }, 'more'],
      [{ since: 3 }, 'since'],
    ] as const)
      expect(Object.keys((await server.call('POST', '/api/operations/undo/', { body })).body.errors)).toEqual(
        [key],
      )
  })

  test('several that are named are undone together, and the one between them stays', async () => {
    const { body, operation: made } = await person({ name: 'one' })
    const first = await done('PATCH', `/api/people/${body.id}/`, { name: 'two' })
    const other = await person({ name: 'stays' })
    const last = await done('PATCH', `/api/people/${body.id}/`, { name: 'three' })
    const many = (operations: unknown, more = {}) =>
      server.call('POST', '/api/operations/undo/', { body: { operations, ...more } })
    expect((await many([last.operation, first.operation], { dry_run: true })).body.total).toBe(1)
    const undone = await many([last.operation, first.operation, last.operation])
    expect(undone.body).toMatchObject({ undone: 2, total: 1 })
    expect((await get(`/api/people/${body.id}/`)).name).toBe('one')
    expect((await get(`/api/people/${other.body.id}/`)).name).toBe('stays')
    for (const [operations, more, key] of [
      [[], {}, 'operations'],
      ['all', {}, 'operations'],
      [[made, 'x'], {}, 'operations.1'],
      [[made], { actor: 'admins/1' }, 'actor'],
    ] as const)
      expect(Object.keys((await many(operations, more)).body.errors)).toEqual([key])
  })

  test('revert writes the values of a version as a new one', async () => {
    const { body } = await person({ name: 'v1' })
    const path = `/api/people/${body.id}/`
    await done('PATCH', path, { name: 'v2', boss: { id: body.id } })
    await done('PATCH', path, { name: 'v3' })
    const revert = (version: unknown, headers = {}) =>
      server.call('POST', `${path}revert/`, { body: { version }, headers })
    expect((await revert(2, { 'If-Match': '"1"' })).status).toBe(412)
    const first = await revert(1)
    expect(first.body).toMatchObject({ name: 'v1', boss: null, version: 4 })
    expect(operationOf(first)).not.toBe('')
    const second = await revert(1)
    expect([second.status, second.body.version, operationOf(second)]).toEqual([200, 4, ''])
    expect((await revert(2)).body).toMatchObject({ name: 'v2', boss: { id: body.id }, version: 5 })
    for (const wrong of [0, 9, '1', null, 1.5]) expect((await revert(wrong)).status).toBe(422)
    await undo(operationOf(await revert(3)))
    expect(await get(path)).toMatchObject({ name: 'v2' })
    await done('DELETE', path)
    expect((await revert(1)).status).toBe(404)
  })

  test('operations are listed newest first, each with what it did', async () => {
    const { body: company, operation: first } = await done('POST', '/api/companies/', { name: 'listed' })
    await person({ company: { id: company.id } })
    const { operation } = await done('DELETE', `/api/companies/${company.id}/`)
    const { data, next } = await get('/api/operations/?limit=3')
    expect(data.map(({ id }: any) => id)).toEqual([operation, expect.any(String), first])
    expect(data[0]).toMatchObject({
      actor: 'admins/1',
      changes: 2,
      summary: { companies: { delete: 1 }, people: { delete: 1 } },
    })
    expect((await get(`/api/operations/?limit=3&cursor=${next}`)).data[0].id < first).toBe(true)
    const one = await get(`/api/operations/${operation}/?limit=1`)
    expect(one).toMatchObject({ id: operation, changes: 2 })
    const rest = await get(`/api/operations/${operation}/?limit=1&cursor=${one.next}`)
    expect([...one.data, ...rest.data].map(({ entity, kind }: any) => [entity, kind]).sort()).toEqual([
      ['companies', 'delete'],
      ['people', 'delete'],
    ])
    expect((await get('/api/operations/?entity=papers&actor=system')).data).toEqual([])
    for (const query of ['actor=x', 'since=1', 'entity=no', 'cursor=1', 'limit=0', 'more=1'])
      expect((await server.call('GET', `/api/operations/?${query}`)).status).toBe(422)
  })
})

const shared = withAdmins({
  users,
  notes: entity({
    fields: { text: text(), n: integer({ default: 0 }) },
    access: { create: signedIn, read: signedIn, update: signedIn, delete: signedIn },
  }),
  logs: entity({ fields: { text: text() }, access: { create: signedIn, read: signedIn } }),
})

onEveryStore('who may undo', shared, (server) => {
  test('everybody what they did and may undo themselves, admins what anybody did', async () => {
    const ada = await server.user('users', { email: 'ada@example.com' })
    const bob = await server.user('users', { email: 'bob@example.com' })
    const create = (path: string, { token }: { token: string }) =>
      server.call('POST', path, { body: { text: 'x' }, token })
    const undo = async (operation: string, token: string | null) =>
      (await server.call('POST', `/api/operations/${operation}/undo/`, { token })).status
    const note = operationOf(await create('/api/notes/', ada))
    expect(await undo(note, null)).toBe(401)
    expect(await undo(note, bob.token)).toBe(404)
    expect(await undo(note, ada.token)).toBe(200)
    expect(await undo(operationOf(await create('/api/logs/', ada)), ada.token)).toBe(403)
    expect(await undo(operationOf(await create('/api/logs/', ada)), server.adminToken)).toBe(200)

    const list = async (token: string, query = '') =>
      server.call('GET', `/api/operations/${query}`, { token })
    const mine = (await list(bob.token)).body.data
    expect(mine.every(({ actor }: any) => actor === `users/${bob.id}`)).toBe(true)
    expect((await list(bob.token, `?actor=users/${ada.id}`)).status).toBe(403)
    expect((await list(server.adminToken, `?actor=users/${ada.id}`)).body.data.length).toBe(4)
    expect((await server.call('GET', `/api/operations/${note}/`, { token: bob.token })).status).toBe(404)
    const named = { operations: [operationOf(await create('/api/notes/', ada))] }
    const foreign = await server.call('POST', '/api/operations/undo/', { body: named, token: bob.token })
    expect([foreign.status, Object.keys(foreign.body.errors)]).toEqual([422, ['operations.0']])
    for (const no of [{ toString: 1, valueOf: 1 }, 1, null, ['x'], 'a\u0000b']) {
      const body = { operations: [no] }
      const refused = await server.call('POST', '/api/operations/undo/', { body, token: bob.token })
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([422, ['operations.0']])
    }
    await create('/api/notes/', bob)
    const many = await server.call('POST', '/api/operations/undo/', {
      body: { entity: 'notes' },
      token: bob.token,
    })
    expect(many.body).toMatchObject({ undone: 1, total: 1 })
  })
})

const guarded = withAdmins({
  users,
  notes: entity({
    fields: { text: text({ unique: true }) },
    access: { create: signedIn, read: signedIn, update: signedIn, delete: signedIn, restore: signedIn },
  }),
  dossiers: entity({ fields: { about: ref('notes') } }),
  forms: entity({ fields: { text: text() }, access: { create: signedIn } }),
})

onEveryStore('what undo tells', guarded, (server) => {
  test('no more than the rules let one know', async () => {
    const { token } = await server.user('users', { email: 'nosy@example.com' })
    const call = (method: string, path: string, body?: object) =>
      server.call(method, path, body === undefined ? { token } : { body, token })
    const made = await call('POST', '/api/notes/', { text: 'mine' })
    const path = `/api/notes/${made.body.id}/`
    await server.expect(200, 'PATCH', path, { text: 'SECRET' })
    const patched = await call('PATCH', path, { text: 'after' })
    // Without the rule `history`, nobody learns the former values.
    expect((await call('GET', `/api/operations/${operationOf(patched)}/`)).body.data[0].changed).toBeNull()
    await server.expect(200, 'PATCH', path, { text: 'again' })
    const undo = (operation: string) => call('POST', `/api/operations/${operation}/undo/`)
    expect((await undo(operationOf(patched))).body.errors).toEqual({
      [`notes/${made.body.id}`]: ['was changed since'],
    })
    const held = await call('POST', '/api/notes/', { text: 'held' })
    await server.expect(201, 'POST', '/api/dossiers/', { about: { id: held.body.id } })
    expect((await undo(operationOf(held))).body.errors).toEqual({
      [`notes/${held.body.id}`]: ['is referred to by something'],
    })
    const form = await call('POST', '/api/forms/', { text: 'x' })
    await server.expect(200, 'PATCH', `/api/forms/${form.body.id}/`, { text: 'y' })
    expect((await undo(operationOf(form))).status).toBe(403)
  })

  test('that two values would be equal, and that users cannot take back their own creation', async () => {
    const first = await server.expect(201, 'POST', '/api/notes/', { text: 'same' })
    const { token } = await server.user('users', { email: 'twice@example.com' })
    const remove = (id: number) => server.call('DELETE', `/api/notes/${id}/`, { token })
    await remove(first.id)
    const second = await server.expect(201, 'POST', '/api/notes/', { text: 'same' })
    await remove(second.id)
    const clash = await server.call('POST', '/api/operations/undo/', { body: { entity: 'notes' }, token })
    expect([clash.status, clash.body.errors]).toEqual([
      409,
      {
        [`notes/${first.id}`]: [
          `would have the same value in text as notes/${second.id}, which must be unique`,
        ],
        [`notes/${second.id}`]: [
          `would have the same value in text as notes/${first.id}, which must be unique`,
        ],
      },
    ])
    const self = await server.call('POST', '/api/operations/undo/?dry_run=1', {
      body: { actor: 'system' },
    })
    expect(self.body.errors['admins/1']).toEqual(['is the account that makes this request'])
  })
})
