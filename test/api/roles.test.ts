import { beforeAll, describe, expect, test } from 'bun:test'
import { choice, entity, integer, ref, signedIn, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

/** A rule: the caller has one of these roles in the project, which is reached by a path. */
const having = (path: string, ...roles: string[]) =>
  `${path}memberships.exists(m, m.user.id == me.id && m.role in ${JSON.stringify(roles)})`
const ANY = ['owner', 'editor', 'viewer'] as const

const roles = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: { name: text({ optional: true }) } }),
  projects: entity({
    fields: { name: text(), founder: ref('users') },
    access: {
      create: 'founder.id == me.id',
      read: having('', ...ANY),
      update: `${having('', 'owner', 'editor')} && founder.id == next.founder.id`,
      delete: having('', 'owner'),
      restore: having('', 'owner'),
      history: having('', 'owner'),
    },
  }),
  memberships: entity({
    fields: {
      project: ref('projects', { as: 'memberships', onDelete: 'cascade' }),
      user: ref('users', { as: 'memberships', onDelete: 'cascade' }),
      role: choice([...ANY]),
    },
    unique: [['project.id', 'user.id']],
    access: {
      // The founder creates the first membership.
      create: `${having('project.', 'owner')} || project.founder.id == me.id && size(project.memberships) == 0`,
      read: having('project.', ...ANY),
      update: `${having('project.', 'owner')} && project.id == next.project.id`,
      delete: `user.id == me.id || ${having('project.', 'owner')}`,
      restore: having('project.', 'owner'),
    },
  }),
  tasks: entity({
    fields: {
      title: text(),
      points: integer({ default: 0 }),
      project: ref('projects', { as: 'tasks', onDelete: 'cascade' }),
    },
    access: {
      create: having('project.', 'owner', 'editor'),
      read: having('project.', ...ANY),
      update: `${having('project.', 'owner', 'editor')} && ${having('next.project.', 'owner', 'editor')}`,
      delete: having('project.', 'owner', 'editor'),
      restore: having('project.', 'owner', 'editor'),
      history: having('project.', ...ANY),
    },
  }),
  // The same rule, starting at the caller.
  notes: entity({
    fields: { text: text(), project: ref('projects', { as: 'notes', onDelete: 'cascade' }) },
    access: {
      create: signedIn,
      read: 'me.memberships.exists(m, m.project.id == project.id && m.role != "viewer")',
    },
  }),
})

type Role = (typeof ANY)[number]
type Person = { id: number; token: string }

onEveryStore('roles', roles, (server) => {
  const people = new Map<string, Person>()
  let project = 0
  let other = 0
  let task = 0

  const as = (name: string) => ({ token: people.get(name)?.token ?? null })
  const statusOf = async (name: string, method: string, path: string, body?: unknown) =>
    (await server.call(method, path, { ...as(name), ...(body !== undefined && { body }) })).status
  const idsOf = async (name: string, path: string): Promise<number[]> =>
    (await server.expect(200, 'GET', path, undefined, as(name))).data.map((one: { id: number }) => one.id)
  const everyone = ['owner', 'editor', 'viewer', 'stranger'] as const
  /** Returns the status for each role. */
  const all = async (ask: (name: string) => Promise<number>) =>
    Object.fromEntries(await Promise.all(everyone.map(async (name) => [name, await ask(name)] as const)))

  /** Creates a project and its first membership, in one batch. */
  async function found(name: string): Promise<number> {
    const user = { id: people.get(name)?.id }
    const parts = [
      { method: 'POST', path: '/api/projects/', body: { name: 'A', founder: user } },
      {
        method: 'POST',
        path: '/api/memberships/',
        body: { project: { id: '$0.id' }, user, role: 'owner' },
      },
    ]
    const { results } = await server.expect(200, 'POST', '/api/batch/', parts, as(name))
    return results[0].body.id
  }

  const join = (to: number, name: string, role: Role, by = 'owner') =>
    server.expect(
      201,
      'POST',
      '/api/memberships/',
      { project: { id: to }, user: { id: people.get(name)?.id }, role },
      as(by),
    )

  beforeAll(async () => {
    for (const name of everyone)
      people.set(name, await server.user('users', { email: `${name}@example.com`, name }))
    project = await found('owner')
    other = await found('stranger')
    await join(project, 'editor', 'editor')
    await join(project, 'viewer', 'viewer')
    task = (
      await server.expect(201, 'POST', '/api/tasks/', { title: 'a', project: { id: project } }, as('editor'))
    ).id
    await server.expect(201, 'POST', '/api/tasks/', { title: 'b', project: { id: other } }, as('stranger'))
  })

  test('reads follow the role', async () => {
    expect(await all((name) => statusOf(name, 'GET', `/api/projects/${project}/`))).toEqual({
      owner: 200,
      editor: 200,
      viewer: 200,
      stranger: 404,
    })
    for (const name of ['owner', 'editor', 'viewer']) {
      expect(await idsOf(name, '/api/projects/')).toEqual([project])
      expect(await idsOf(name, '/api/tasks/?sort=-title')).toEqual([task])
      expect((await server.expect(200, 'GET', '/api/tasks/?count=1', undefined, as(name))).total).toBe(1)
    }
    expect(await idsOf('stranger', '/api/projects/')).toEqual([other])
    expect(await statusOf('stranger', 'GET', `/api/tasks/${task}/`)).toBe(404)
  })

  test('whoever is not signed in has no role: 401, not an empty list', async () => {
    for (const name of ['projects', 'memberships', 'tasks', 'notes'])
      for (const path of [`/api/${name}/`, `/api/${name}/summary/?count=1`, `/api/${name}/1/`])
        expect([path, await statusOf('nobody', 'GET', path)]).toEqual([path, 401])
    const { paths } = (await server.call('GET', '/api/openapi.json', { token: null })).body
    expect(paths['/api/tasks/'].get.security).toEqual(paths['/api/notes/'].get.security)
  })

  test('updates follow the role', async () => {
    const expected = { owner: 200, editor: 200, viewer: 403, stranger: 404 }
    for (const path of [`/api/projects/${project}/`, `/api/tasks/${task}/`]) {
      const body = path.includes('projects') ? { name: 'B' } : { points: 1 }
      expect(await all((name) => statusOf(name, 'PATCH', path, body))).toEqual(expected)
    }
  })

  test('creates follow the role in the project', async () => {
    const body = { title: 'c', project: { id: project } }
    expect(await all((name) => statusOf(name, 'POST', '/api/tasks/', body))).toEqual({
      owner: 201,
      editor: 201,
      viewer: 403,
      stranger: 403,
    })
    // Each role, with a list and in a batch.
    for (const name of ['viewer', 'editor'] as const) {
      const parts = [{ method: 'POST', path: '/api/tasks/', body }]
      const status = name === 'editor' ? 200 : 403
      expect(await statusOf(name, 'POST', '/api/batch/', parts)).toBe(status)
      expect(await statusOf(name, 'POST', '/api/tasks/', [body, body])).toBe(name === 'editor' ? 201 : 403)
    }
    // Nor can they move it to a project in which they may not create tasks.
    expect(await statusOf('editor', 'PATCH', `/api/tasks/${task}/`, { project: { id: other } })).toBe(403)
  })

  test('nobody gives a role to themselves', async () => {
    const mine = (name: string, role: Role) => ({
      project: { id: project },
      user: { id: people.get(name)?.id },
      role,
    })
    for (const name of ['editor', 'viewer', 'stranger'])
      expect([name, await statusOf(name, 'POST', '/api/memberships/', mine(name, 'owner'))]).toEqual([
        name,
        403,
      ])
    for (const name of ['editor', 'viewer']) {
      const [id] = await idsOf(
        name,
        `/api/memberships/?project.id=${project}&user.id=${people.get(name)?.id}`,
      )
      expect(await statusOf(name, 'PATCH', `/api/memberships/${id}/`, { role: 'owner' })).toBe(403)
      // Nor by moving their own membership from another project.
    }
    const [own] = await idsOf('stranger', '/api/memberships/')
    expect(
      await statusOf('stranger', 'PATCH', `/api/memberships/${own}/`, { project: { id: project } }),
    ).toBe(403)
  })

  test('the past is for those who may look into it', async () => {
    const at = new Date(Date.now() + 60_000).toISOString()
    const histories = { owner: 200, editor: 403, viewer: 403, stranger: 404 }
    expect(await all((name) => statusOf(name, 'GET', `/api/projects/${project}/history/`))).toEqual(histories)
    expect(await all((name) => statusOf(name, 'GET', `/api/projects/${project}/?at=${at}`))).toEqual({
      ...histories,
      editor: 404,
      viewer: 404,
    })
    expect(await idsOf('owner', `/api/projects/?at=${at}`)).toEqual([project])
    expect(await idsOf('viewer', `/api/tasks/?at=${at}&limit=1`)).toEqual([task])
    expect(await idsOf('viewer', `/api/projects/?at=${at}`)).toEqual([])
  })

  test('expansions show what the role shows', async () => {
    const path = `/api/projects/${project}/?expand=memberships,tasks`
    const seen = await server.expect(200, 'GET', path, undefined, as('viewer'))
    expect(seen.memberships.data.map(({ role }: { role: Role }) => role)).toEqual([
      'owner',
      'editor',
      'viewer',
    ])
    expect(seen.tasks.data.length).toBeGreaterThan(0)
    const back = `/api/tasks/${task}/?expand=project.memberships`
    expect(
      (await server.expect(200, 'GET', back, undefined, as('viewer'))).project.memberships.data,
    ).toHaveLength(3)
    // A reference to an Entity that the caller may not see stays a reference.
    const note = { text: 'n', project: { id: other } }
    const { id } = await server.expect(201, 'POST', '/api/notes/', note, as('stranger'))
    const [one] = (await server.expect(200, 'GET', '/api/notes/?expand=project', undefined, as('stranger')))
      .data
    expect([one.id, one.project.name]).toEqual([id, 'A'])
  })

  test('rules that start at me give the same result', async () => {
    const { id } = await server.expect(
      201,
      'POST',
      '/api/notes/',
      { text: 'n', project: { id: project } },
      as('owner'),
    )
    expect(await all((name) => statusOf(name, 'GET', `/api/notes/${id}/`))).toEqual({
      owner: 200,
      editor: 200,
      viewer: 404,
      stranger: 404,
    })
    expect(await idsOf('editor', '/api/notes/')).toEqual([id])
    expect(await idsOf('viewer', '/api/notes/')).toEqual([])
    expect((await server.call('GET', '/api/notes/', { token: null })).status).toBe(401)
  })

  describe('a project that is deleted', () => {
    const gone = () => `/api/projects/${project}/`

    async function remove(by: string): Promise<string> {
      const { status, headers } = await server.call('DELETE', gone(), as(by))
      expect(status).toBe(200)
      return headers.get('takeback-operation') ?? ''
    }

    test('is restored by those who could delete it, and by nobody else', async () => {
      expect(
        await all((name) => (name === 'owner' ? Promise.resolve(0) : statusOf(name, 'DELETE', gone()))),
      ).toEqual({
        owner: 0,
        editor: 403,
        viewer: 403,
        stranger: 404,
      })
      await remove('owner')
      expect(await all((name) => statusOf(name, 'GET', gone()))).toEqual({
        owner: 404,
        editor: 404,
        viewer: 404,
        stranger: 404,
      })
      expect(await idsOf('owner', '/api/projects/?trashed=only')).toEqual([project])
      for (const name of ['editor', 'viewer', 'stranger'])
        expect(await idsOf(name, '/api/projects/?trashed=only')).toEqual([])
      for (const [name, status] of [
        ['stranger', 404],
        ['viewer', 403],
        ['editor', 403],
        ['owner', 200],
      ] as const)
        expect([name, await statusOf(name, 'DELETE', `${gone()}?restore=1`)]).toEqual([name, status])
      expect(await idsOf('viewer', '/api/projects/')).toEqual([project])
    })

    test('comes back by an undo, in the same way', async () => {
      const operation = await remove('owner')
      const undo = `/api/operations/${operation}/undo/`
      for (const name of ['editor', 'viewer', 'stranger'])
        expect(await statusOf(name, 'POST', undo)).toBeOneOf([403, 404])
      expect(await statusOf('owner', 'POST', undo)).toBe(200)
      expect(await idsOf('viewer', '/api/projects/')).toEqual([project])
    })

    test('is not restored by those who were members before', async () => {
      const [id] = await idsOf('owner', `/api/memberships/?user.id=${people.get('viewer')?.id}`)
      await server.expect(200, 'PATCH', `/api/memberships/${id}/`, { role: 'owner' }, as('owner'))
      await server.expect(200, 'DELETE', `/api/memberships/${id}/`, undefined, as('owner'))
      expect(await statusOf('viewer', 'GET', gone())).toBe(404)
      await remove('owner')
      expect(await statusOf('viewer', 'DELETE', `${gone()}?restore=1`)).toBe(404)
      expect(await statusOf('owner', 'DELETE', `${gone()}?restore=1`)).toBe(200)
      expect(await statusOf('viewer', 'GET', gone())).toBe(404)
    })

    test('nor can they take back that they were put out', async () => {
      const [id] = await idsOf('owner', `/api/memberships/?trashed=only`)
      expect(await statusOf('viewer', 'DELETE', `/api/memberships/${id}/?restore=1`)).toBe(404)
      expect(await statusOf('owner', 'DELETE', `/api/memberships/${id}/?restore=1`)).toBe(200)
      // A second owner who leaves cannot come back by their former role.
      const { headers } = await server.call('DELETE', `/api/memberships/${id}/`, as('viewer'))
      const undo = `/api/operations/${headers.get('takeback-operation')}/undo/`
      expect(await statusOf('viewer', 'POST', undo)).toBeOneOf([403, 404])
      expect(await statusOf('viewer', 'DELETE', `/api/memberships/${id}/?restore=1`)).toBe(404)
      expect(await statusOf('owner', 'POST', undo)).toBe(200)
    })
  })
})
