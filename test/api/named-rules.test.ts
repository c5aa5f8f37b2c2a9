import { expect, test } from 'bun:test'
import { resolve } from '../../src/declare/resolve.ts'
import { app, boolean, choice, entity, everyone, integer, ref, signedIn, text } from '../../src/takeback.ts'
import { onEveryStore } from '../harness.ts'

const admins = entity({ login: { userType: 'admin' }, fields: {} })
const people = entity({
  login: { userType: 'user' },
  fields: { active: boolean({ default: true }) },
  access: { create: everyone, read: signedIn },
  rules: { able: 'active' },
})

const declared = app({
  admins: 'admins',
  rules: { own: 'owner.id == me.id' },
  entities: {
    admins,
    users: people,
    projects: entity({
      fields: { title: text(), owner: ref('users') },
      rules: {
        member: 'own || memberships.exists(m, m.counts && m.user.id == me.id)',
        editor: 'own || memberships.exists(m, m.counts && m.user.id == me.id && m.role == "editor")',
      },
      access: { create: 'own', read: 'member', update: 'editor && next.own' },
    }),
    memberships: entity({
      fields: {
        project: ref('projects', { as: 'memberships' }),
        user: ref('users', { as: 'memberships' }),
        role: choice(['editor', 'viewer']),
        paused: boolean({ default: false }),
      },
      rules: { counts: '!paused', own: 'user.id == me.id' }, // replaces the rule of the app
      access: { read: 'own || project.own', delete: 'own' },
    }),
    tasks: entity({
      fields: {
        title: text(),
        owner: ref('users'),
        project: ref('projects'),
        price: integer({ optional: true, read: 'project.editor', write: 'next.project.editor' }),
      },
      access: {
        create: 'own && me.able && project.editor',
        read: 'project.member',
        update: 'own || project.own',
        delete: 'own && title != "own"',
      },
    }),
  },
})

onEveryStore(
  'named rules',
  declared,
  (server) => {
    test('mean what they say: of the Entity, of next, behind references and of me', async () => {
      const [ann, bob, eve] = await Promise.all(
        ['ann', 'bob', 'eve'].map((name) => server.user('users', { email: `${name}@example.com` })),
      )
      if (ann === undefined || bob === undefined || eve === undefined) throw new Error('no users')
      const as = async (who: typeof ann, method: string, path: string, body?: object) =>
        (await server.call(method, path, { token: who.token, ...(body && { body }) })).status
      const owner = { id: ann.id }
      expect(await as(bob, 'POST', '/api/projects/', { title: 'x', owner })).toBe(403)
      expect(await as(ann, 'POST', '/api/projects/', { title: 'x', owner })).toBe(201)
      await server.expect(201, 'POST', '/api/memberships/', [
        { project: { id: 1 }, user: { id: bob.id }, role: 'editor' },
        { project: { id: 1 }, user: { id: eve.id }, role: 'editor', paused: true },
      ])
      const reads = async (path: string) => [
        await as(ann, 'GET', path),
        await as(bob, 'GET', path),
        await as(eve, 'GET', path),
      ]
      expect(await reads('/api/projects/1/')).toEqual([200, 200, 404])
      expect(await reads('/api/memberships/1/')).toEqual([200, 200, 404])
      expect(await reads('/api/memberships/2/')).toEqual([200, 404, 200])
      expect(await as(bob, 'PATCH', '/api/projects/1/', { title: 'y' })).toBe(403)
      expect(await as(ann, 'PATCH', '/api/projects/1/', { title: 'y' })).toBe(200)
      expect(await as(ann, 'PATCH', '/api/projects/1/', { owner: { id: bob.id } })).toBe(403)

      const task = { title: 'own', owner: { id: bob.id }, project: { id: 1 }, price: 3 }
      expect(await as(eve, 'POST', '/api/tasks/', { ...task, owner: { id: eve.id } })).toBe(403)
      expect(await as(bob, 'POST', '/api/tasks/', task)).toBe(201)
      await server.expect(200, 'PATCH', `/api/users/${bob.id}/`, { active: false })
      expect(await as(bob, 'POST', '/api/tasks/', task)).toBe(403)
      expect(await reads('/api/tasks/1/')).toEqual([200, 200, 404])
      await server.expect(200, 'PATCH', '/api/memberships/1/', { role: 'viewer' })
      const { body } = await server.call('GET', '/api/tasks/1/', { token: bob.token })
      expect([body.title, body.price]).toEqual(['own', null])
      expect(
        (await server.call('PATCH', '/api/tasks/1/', { token: bob.token, body: { price: 4 } })).body.errors,
      ).toEqual({ price: ['is not yours to set'] })

      const denied = await server.call('DELETE', '/api/tasks/1/', { token: bob.token })
      expect(denied.body.denied_by).toBe(
        'tasks.access.delete: own && title != "own" (own: owner.id == me.id)',
      )
      const hidden = await server.call('GET', '/api/projects/1/', { token: eve.token })
      expect(hidden.body.denied_by).toStartWith('projects.access.read: member (member: own || memberships')
      expect(hidden.body.denied_by).toEndWith('; own: owner.id == me.id)')
    })

    test('are not known to filters, sorts and fields: those who ask could learn what is hidden', async () => {
      for (const query of ['filter=own', 'filter=project.own', 'sort=own', 'fields=own', 'own=true']) {
        const [asked, compared] = await Promise.all(
          [query, query.replace('own', 'nothing')].map((one) => server.call('GET', `/api/tasks/?${one}`)),
        )
        expect([asked?.status, asked?.text.replaceAll(/\bown\b/g, 'nothing')]).toEqual([422, compared?.text])
      }
    })
  },
  { 'explain-denials': '' },
)

test('mistakes in named rules are reported once, with their place', () => {
  const fields = { title: text(), owner: ref('users'), up: ref('notes', { as: 'below', optional: true }) }
  const reported = (rules: object, access: object, shared?: object, more?: object): string[] => {
    const notes = { fields, rules, access, ...more }
    const declaration = { entities: { users: people, notes }, rules: shared }
    try {
      resolve(declaration)
      return []
    } catch (error) {
      return String((error as Error).message)
        .split('\n')
        .slice(1)
        .map((line) => line.trim())
    }
  }
  const own = 'owner.id == me.id'
  expect(reported({ own, both: 'own && next.own && up.own' }, { read: 'own', update: 'both' })).toEqual([])
  expect(reported({}, { read: 'own' }, { own, unused: 'nothing.here == 3' })).toEqual([])
  expect(reported({ own: 'ownr.id == me.id' }, { read: 'own', update: 'own && title == "x"' })).toEqual([
    'entities.notes.rules.own: unknown field "ownr" at column 1; did you mean "owner"?, in "ownr.id == me.id"',
  ])
  expect(reported({ own }, { read: 'ownn' })).toEqual([
    'entities.notes.access.read: unknown field "ownn" at column 1; did you mean "own"?, in "ownn"',
  ])
  expect(reported({}, { read: 'mine' }, { mine: 'author.id == me.id' })).toEqual([
    'entities.notes.access.read: rule "mine": unknown field "author" at column 1, in "mine"',
  ])
  expect(reported({ a: 'b', b: 'title == "x" || a' }, { read: 'a' })).toEqual([
    'entities.notes.rules.a: rule "b": uses itself: b → a → b, in "b"',
  ])
  expect(reported({ seen: 'up.seen || title == "x"' }, { read: 'seen' })[0]).toContain('uses itself')
  expect(reported({ now2: 'id == 1' }, { create: 'now2' })).toEqual([
    'entities.notes.access.create: rule "now2": unknown field "id" at column 1, in "now2"',
  ])
  expect(reported({ moved: 'title != next.title' }, { read: 'moved', update: 'moved' })[0]).toContain(
    'rule "moved": unknown field "next"',
  )
  expect(reported({ title: own }, {})).toEqual([
    'entities.notes.rules.title: is "title", which is a field of notes already; choose another',
  ])
  expect(reported({}, {}, { below: own })).toEqual([
    'rules.below: is "below", which is a field of notes already; choose another',
  ])
  expect(reported({ me: own, 'a-b': own, c: 3, d: 'owner.id ==' }, {})).toEqual([
    'entities.notes.rules.me: is a name that every rule already knows; choose another',
    'entities.notes.rules.a-b: must be named with letters, digits and _, starting with a letter',
    "entities.notes.rules.c: must be a condition in CEL, such as 'owner.id == me.id'",
    'entities.notes.rules.d: ends too early at column 12, in "owner.id =="',
  ])
  expect(reported({ t: 'title' }, {})[0]).toContain('needs something that is true or false')
  // A check is the same for everybody, but a named rule may not be.
  const check = [{ that: 'own', at: 'title', says: 'must be yours' }]
  expect(reported({ own }, {}, {}, { check })).toEqual([
    'entities.notes.check.0.that: unknown field "own" at column 1, in "own"',
  ])
  const doubling = Object.fromEntries(
    Array.from({ length: 12 }, (_, at) => [`r${at}`, at === 0 ? own : `r${at - 1} && r${at - 1}`]),
  )
  expect(reported(doubling, { read: 'r11' }).at(-1)).toContain('uses named rules more than 100 times')
})
