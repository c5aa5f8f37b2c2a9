import { beforeAll, expect, test } from 'bun:test'
import { choice, entity, everyone, json, list, object, ref, signedIn, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore, operationOf } from '../harness.ts'

const mine = 'owner.id == me.id'

const ruled = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {}, access: { create: everyone, read: signedIn } }),
  tasks: entity({
    fields: {
      title: text(),
      status: choice(['draft', 'final'], { default: 'draft' }),
      note: text({ optional: true, write: 'status == "draft"' }),
      owner: ref('users'),
      private: text({ optional: true, read: mine }),
      detail: object({ seen: text({ optional: true }), own: json({ optional: true, read: mine }) }),
      hidden: text({ optional: true, read: 'title == "never"', write: signedIn }),
    },
    access: {
      create: signedIn,
      read: signedIn,
      update: `${mine} && status == "draft"`,
      delete: signedIn,
      restore: mine,
      history: signedIn,
    },
  }),
  comments: entity({
    fields: { text: text(), task: ref('tasks', { onDelete: 'cascade' }) },
    access: { create: signedIn, read: signedIn, delete: signedIn },
  }),
  boards: entity({
    fields: {
      name: text(),
      pinned: ref('tasks', { optional: true, onDelete: 'clear' }),
      shown: list(ref('tasks', { onDelete: 'clear' }), { default: [] }),
    },
    access: { create: signedIn, read: signedIn },
  }),
})

onEveryStore('the rules of taking back', ruled, (server) => {
  type User = { readonly id: number; readonly token: string }
  const who: { ann: User; bob: User } = { ann: { id: 0, token: '' }, bob: { id: 0, token: '' } }
  beforeAll(async () => {
    who.ann = await server.user('users', { email: 'ann@example.com' })
    who.bob = await server.user('users', { email: 'bob@example.com' })
  })
  const call = (user: User | null, method: string, path: string, body?: unknown) =>
    server.call(method, path, {
      token: user?.token ?? server.adminToken,
      ...(body !== undefined && { body }),
    })
  const done = async (user: User | null, method: string, path: string, body?: unknown) => {
    const received = await call(user, method, path, body)
    if (received.status > 299) throw new Error(`${method} ${path}: ${received.status} ${received.text}`)
    return { body: received.body, operation: operationOf(received) }
  }
  const task = (user: User, more = {}) =>
    done(user, 'POST', '/api/tasks/', { title: 't', owner: { id: user.id }, detail: {}, ...more })
  const undo = (user: User | null, operation: string, query = '') =>
    call(user, 'POST', `/api/operations/${operation}/undo/${query}`)
  const read = async ({ id }: { id: number }) => (await call(null, 'GET', `/api/tasks/${id}/`)).body

  test('each value that is set is held against update and write, also where it is restored', async () => {
    const { body } = await task(who.ann, { note: 'before' })
    const path = `/api/tasks/${body.id}/`
    const { operation: since } = await done(who.ann, 'PATCH', path, { note: 'after' })
    const { at } = (await call(who.ann, 'GET', `/api/operations/${since}/`)).body
    await done(who.ann, 'PATCH', path, { status: 'final' })
    const { operation: deleted } = await done(who.ann, 'DELETE', path)
    const many = (query = '') =>
      call(who.ann, 'POST', `/api/operations/undo/${query}`, { since: at, entity: `tasks/${body.id}` })
    const refused = await many()
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
    expect(refused.body.errors).toEqual({
      [`tasks/${body.id}`]: expect.arrayContaining([
        'is not yours to change',
        'has a value in note that you may not set',
      ]),
    })
    expect((await call(who.ann, 'GET', path)).status).toBe(404)
    const skipped = await many('?skip_conflicts=1')
    expect([skipped.status, skipped.body.total]).toEqual([200, 0])
    expect(Object.keys(skipped.body.skipped)).toEqual([`tasks/${body.id}`])
    // They may take back the deletion alone.
    expect((await undo(who.ann, deleted)).status).toBe(200)
    expect(await read(body)).toMatchObject({ note: 'after', status: 'final' })
  })

  test('whoever may restore may undo the deletion, whoever deleted, with all that went along', async () => {
    const { body } = await task(who.ann)
    const { body: comment } = await done(who.bob, 'POST', '/api/comments/', {
      text: 'c',
      task: { id: body.id },
    })
    const { body: board } = await done(who.bob, 'POST', '/api/boards/', {
      name: 'b',
      pinned: { id: body.id },
      shown: [{ id: body.id }],
    })
    const { operation } = await done(null, 'DELETE', `/api/tasks/${body.id}/`)
    expect((await undo(who.bob, operation)).status).toBe(404)
    expect((await undo(who.bob, operation, '?skip_conflicts=1')).status).toBe(404)
    const dry = await undo(who.ann, operation, '?dry_run=1')
    expect([dry.status, dry.body.total]).toEqual([200, 3])
    expect((await undo(who.ann, operation)).status).toBe(200)
    // Whatever became of it, it does not exist for others.
    for (const query of ['', '?skip_conflicts=1', '?dry_run=1'])
      expect((await undo(who.bob, operation, query)).status).toBe(404)
    expect((await undo(who.ann, operation)).body.total).toBe(0)
    expect((await call(null, 'GET', `/api/comments/${comment.id}/`)).status).toBe(200)
    expect((await call(null, 'GET', `/api/boards/${board.id}/`)).body).toMatchObject({
      pinned: { id: body.id },
      shown: [{ id: body.id }],
    })
    // They may neither undo other changes by others, nor a deletion together with other changes.
    const { operation: patched } = await done(null, 'PATCH', `/api/tasks/${body.id}/`, { title: 'x' })
    expect((await undo(who.ann, patched)).status).toBe(404)
    const batched = await done(null, 'POST', '/api/batch/', [
      { method: 'PATCH', path: `/api/boards/${board.id}/`, body: { name: 'other' } },
      { method: 'DELETE', path: `/api/tasks/${body.id}/` },
    ])
    expect((await undo(who.ann, batched.operation)).status).toBe(404)
    await done(null, 'DELETE', `/api/tasks/${body.id}/?restore=1`)
    await done(null, 'DELETE', `/api/tasks/${body.id}/`)
    const conflict = await undo(who.ann, operation)
    expect([conflict.status, conflict.body.errors[`tasks/${body.id}`]]).toEqual([
      409,
      [
        expect.stringMatching(
          /^was deleted since: restored by users\/\d+ at .* deleted by admins\/1 at \S+Z$/,
        ),
      ],
    ])
    expect((await undo(who.bob, operation)).status).toBe(404)
    expect((await call(null, 'GET', `/api/tasks/${body.id}/`)).status).toBe(404)
    const { operation: alone } = await done(null, 'DELETE', `/api/comments/${comment.id}/`).catch(() => ({
      operation: '',
    }))
    expect((await undo(who.bob, alone)).status).toBe(404)
  })

  test('fields that depend on the Entity are shown to those who see them of it', async () => {
    const { body } = await task(who.ann, { private: 'p1', detail: { seen: 's1', own: { a: 1 } } })
    const path = `/api/tasks/${body.id}/`
    const { operation } = await done(who.ann, 'PATCH', path, {
      private: 'p2',
      detail: { seen: 's2', own: { b: 2 } },
      hidden: 'h',
    })
    const changed = {
      private: { from: 'p1', to: 'p2' },
      'detail.seen': { from: 's1', to: 's2' },
      'detail.own': { from: { a: 1 }, to: { a: 1, b: 2 } },
    }
    const history = async (user: User) => (await call(user, 'GET', `${path}history/`)).body.data[0].changed
    expect(await history(who.ann)).toEqual(changed)
    expect(await history(who.bob)).toEqual({ 'detail.seen': changed['detail.seen'] })
    const one = (await call(who.ann, 'GET', `/api/operations/${operation}/`)).body.data[0]
    expect(one.changed).toEqual(changed)
    const back = Object.fromEntries(
      Object.entries(changed).map(([name, { from, to }]) => [name, { from: to, to: from }]),
    )
    const dry = await undo(null, operation, '?dry_run=1')
    expect(dry.body.changes[0].changed).toEqual({ ...back, hidden: { from: 'h', to: null } })
    // The field's rule lets them set a value that they never see; the old value is not shown.
    const own = await undo(who.ann, operation, '?dry_run=1')
    expect([own.status, own.body.changes[0].changed]).toEqual([200, back])
  })

  test('conflicts name neither hidden fields nor what only others may know', async () => {
    const { body } = await task(who.ann, { private: 'p1' })
    const path = `/api/tasks/${body.id}/`
    const { operation } = await done(who.ann, 'PATCH', path, { private: 'p2', title: 't2' })
    await done(null, 'PATCH', path, { private: 'p3', title: 't3' })
    const told = (await undo(who.ann, operation)).body.errors[`tasks/${body.id}`]
    expect(told).toEqual([
      expect.stringMatching(/^title was changed since, by admins\/1 at \S+Z$/),
      expect.stringMatching(/^private was changed since, by admins\/1 at \S+Z$/),
    ])
    // Once it is given away, they may neither see nor change it.
    await done(null, 'PATCH', path, { owner: { id: who.bob.id } })
    const after = (await undo(who.ann, operation)).body.errors[`tasks/${body.id}`]
    expect(after.some((sentence: string) => sentence.startsWith('private'))).toBe(false)
    expect(after).toContain('was changed since')
  })
})
