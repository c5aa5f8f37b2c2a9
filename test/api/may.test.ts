import { expect, test } from 'bun:test'
import { choice, entity, everyone, integer, list, ref, signedIn, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore, type TestServer } from '../harness.ts'

const own = 'owner.id == me.id'

const declared = withAdmins({
  users: entity({
    login: { userType: 'user' },
    fields: { name: text({ max: 9, optional: true }) },
    access: { create: everyone, read: 'id == me.id', update: 'id == me.id' },
  }),
  tags: entity({ fields: { name: text({ unique: true }) }, access: { read: everyone, delete: signedIn } }),
  notes: entity({
    fields: {
      title: text({ min: 1 }),
      owner: ref('users'),
      tags: list(ref('tags'), { default: [] }),
      status: choice(['open', 'done'], { default: 'open' }),
      stars: integer({ optional: true, write: 'title == "never"' }),
    },
    access: {
      create: own,
      read: `${own} || status == "done"`,
      update: `${own} && status == "open" && next.owner.id == owner.id`,
      delete: own,
      restore: own,
      history: own,
    },
  }),
  secrets: entity({ fields: { name: text() } }),
})

interface MayQuestion {
  readonly action: string
  readonly path: string
  readonly body?: object
}

const REQUESTS: Record<string, (path: string) => readonly [method: string, path: string]> = {
  list: (path) => ['GET', `${path}/`],
  create: (path) => ['POST', `${path}/`],
  read: (path) => ['GET', `${path}/`],
  history: (path) => ['GET', `${path}/history/`],
  update: (path) => ['PATCH', `${path}/`],
  delete: (path) => ['DELETE', `${path}/`],
  restore: (path) => ['DELETE', `${path}/?restore=1`],
  purge: (path) => ['DELETE', `${path}/?purge=1`],
}

const entityQuestions = (path: string): MayQuestion[] => [
  ...['read', 'history', 'update', 'delete', 'restore', 'purge'].map((action) => ({ action, path })),
  { action: 'update', path, body: { title: 'new' } },
  { action: 'update', path, body: { title: '', stars: 3, nothing: 1 } },
  { action: 'update', path, body: { owner: { id: 99 } } },
  { action: 'update', path, body: { stars: 3 } },
]

const questions = (ann: number): MayQuestion[] => [
  ...['notes', 'tags', 'users', 'secrets', 'unknown'].map((path) => ({ action: 'list', path })),
  { action: 'create', path: 'notes', body: { title: 'x', owner: { id: ann } } },
  { action: 'create', path: 'notes', body: { title: '', owner: { id: ann }, tags: [{ id: 77 }] } },
  { action: 'create', path: 'tags', body: { name: 'red' } },
  { action: 'create', path: 'secrets', body: { name: 'red' } },
  { action: 'create', path: 'users', body: { email: 'ann@example.com', password: 'correct horse battery' } },
  ...['notes/1', 'notes/2', 'notes/3', 'notes/99', 'secrets/1', 'secrets/9', 'unknown/1'].flatMap(
    entityQuestions,
  ),
  ...['tags/1', 'tags/2'].map((path) => ({ action: 'delete', path })),
]

/** Returns all data, to check that nothing was written. */
const contents = async (server: TestServer) =>
  Promise.all(
    ['/api/notes/?trashed=with', '/api/users/?trashed=with', '/api/tags/', '/api/operations/'].map(
      async (path) => (await server.call('GET', path)).text,
    ),
  )

onEveryStore(
  'asking whether one may',
  declared,
  (server) => {
    test('answers as the request itself would, and writes nothing', async () => {
      const ann = await server.user('users', { email: 'ann@example.com' })
      const bob = await server.user('users', { email: 'bob@example.com' })
      await server.expect(201, 'POST', '/api/tags/', [{ name: 'red' }, { name: 'free' }])
      await server.expect(201, 'POST', '/api/secrets/', { name: 'x' })
      const owner = { id: ann.id }
      await server.expect(201, 'POST', '/api/notes/', [
        { title: 'a', owner, tags: [{ id: 1 }] },
        { title: 'b', owner, status: 'done' },
        { title: 'c', owner },
      ])
      await server.expect(200, 'DELETE', '/api/notes/3/')
      const before = await contents(server)
      const asked: string[] = []
      for (const [name, token] of [
        ['nobody', null],
        [`users/${ann.id}`, ann.token],
        [`users/${bob.id}`, bob.token],
        ['admins/1', undefined],
      ] as const)
        for (const question of questions(ann.id)) {
          const as = token === undefined ? {} : { token }
          const said = await server.call('POST', '/api/may/', { body: question, ...as })
          const [method, path] = REQUESTS[question.action]?.(`/api/${question.path}`) ?? ['', '']
          // An allowed write is not tried: it would change the data for the next questions.
          const isWrite = !['list', 'read', 'history'].includes(question.action)
          const place = `${name} ${JSON.stringify(question)}`
          expect([place, said.status]).toEqual([place, 200])
          if (isWrite && said.body.may) {
            asked.push(place)
            continue
          }
          const body = question.body ?? (question.action === 'update' ? {} : undefined)
          const real = await server.call(method, path, { ...as, ...(isWrite && body && { body }) })
          expect([place, said.body.may, said.body.code, said.body.errors, said.body.denied_by]).toEqual([
            place,
            real.status < 300,
            real.body?.code,
            real.body?.errors,
            real.body?.denied_by,
          ])
        }
      expect(asked.filter((one) => one.startsWith('nobody'))).toEqual([])
      expect(
        asked.filter((one) => one.startsWith(`users/${ann.id}`)).map((one) => one.replace(/^\S+ /, '')),
      ).toEqual([
        JSON.stringify({ action: 'create', path: 'notes', body: { title: 'x', owner } }),
        ...['update', 'delete', 'restore'].map((action) => JSON.stringify({ action, path: 'notes/1' })),
        JSON.stringify({ action: 'update', path: 'notes/1', body: { title: 'new' } }),
        ...['delete', 'restore'].map((action) => JSON.stringify({ action, path: 'notes/2' })),
        ...['delete', 'restore'].map((action) => JSON.stringify({ action, path: 'notes/3' })),
        JSON.stringify({ action: 'delete', path: 'tags/2' }),
      ])
      expect(await contents(server)).toEqual(before)

      // An admin can ask for others, and gets the same answers.
      for (const [actor, token] of [
        ['nobody', null],
        [`users/${bob.id}`, bob.token],
      ] as const)
        for (const body of questions(ann.id)) {
          const [theirs, asked] = [
            await server.call('POST', '/api/may/', { body, token }),
            await server.call('POST', '/api/may/', { body: { ...body, actor } }),
          ]
          expect(asked.text).toBe(theirs.text)
        }
      // An Entity that bob cannot see is treated as if it did not exist.
      const hidden = await server.call('POST', '/api/may/', {
        body: { action: 'read', path: '/api/notes/1/', actor: `users/${bob.id}` },
      })
      expect(hidden.body).toEqual({
        may: false,
        code: 'not_found',
        denied_by: `notes.access.read: ${own} || status == "done"`,
      })
    })

    test('refuses what is no question, and questions for others', async () => {
      const eve = await server.user('users', { email: 'eve@example.com' })
      const ask = async (body: object, token?: string) =>
        server.call('POST', '/api/may/', { body, ...(token !== undefined && { token }) })
      const read = { action: 'read', path: 'notes/1' }
      for (const actor of ['users/1', `users/${eve.id}`, 'nobody', 3])
        expect((await ask({ ...read, actor }, eve.token)).body.code).toBe('forbidden')
      expect(
        (await ask({ action: 'raed', path: 'notes/x', body: 3, more: 1, actor: 'users/99' })).body.errors,
      ).toEqual({
        more: ['is not known here'],
        action: [
          'must be one of list, create, read, update, delete, restore, purge, history; did you mean "read"?',
        ],
        path: ['must be a path, such as /api/bookings/7/ or bookings'],
        body: ['must be an object'],
        actor: ['refers to nothing'],
      })
      expect((await ask({ action: 'read', path: '/api/notes/', body: {} })).body.errors).toEqual({
        path: ['must have an id: notes/7'],
        body: ['is only for create and update'],
      })
      expect((await ask({ action: 'create', path: 'notes/7' })).body.errors).toEqual({
        path: ['must be that of the type: notes'],
      })
      for (const actor of ['system', 'keys/1', 'jobs/x', 'tags/1', '', null])
        expect([actor, (await ask({ ...read, actor })).status]).toEqual([actor, 422])
      for (const path of ['notes/1', '/notes/1', 'api/notes/1/', '/api/notes/1/'])
        expect((await ask({ action: 'read', path })).body).toEqual({ may: true })
    })
  },
  { 'explain-denials': '' },
)

onEveryStore(
  'asking about sign-ups',
  declared,
  (server) => {
    test('counts as one, since it says which e-mails are taken', async () => {
      const sent = { email: 'eve@example.com', password: 'correct horse battery' }
      const ask = () =>
        server.call('POST', '/api/may/', {
          body: { action: 'create', path: 'users', body: sent },
          token: null,
        })
      expect((await ask()).body).toEqual({ may: true })
      await server.expect(201, 'POST', '/api/users/', sent, { token: null })
      expect((await ask()).body).toEqual({
        may: false,
        code: 'invalid_data',
        errors: { email: ['is taken'] },
      })
      expect((await ask()).body.code).toBe('rate_limited')
    })
  },
  { 'rate-limit': 'signups=3/1h' },
)
