import { beforeAll, expect, test } from 'bun:test'
import { entity, everyone, list, object, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

const clubs = withAdmins({
  users: entity({
    login: { userType: 'user' },
    fields: { name: text() },
    access: { read: 'name != "Hidden" || id == me.id' },
  }),
  staff: entity({ login: { userType: 'staff' }, fields: {} }),
  clubs: entity({
    fields: {
      name: text(),
      members: list(ref('users', { as: 'clubs', onDelete: 'clear' }), { default: [] }),
      inner: object(
        { guests: list(ref('users', { onDelete: 'clear' }), { optional: true, max: 50 }) },
        { optional: true },
      ),
    },
    access: {
      read: everyone,
      create: 'me.id in members && size(members) <= 2',
      update: 'me.id in members && me.id in next.members',
      history: everyone,
    },
  }),
})

onEveryStore('lists of references', clubs, (server) => {
  const users: { id: number; token: string }[] = []
  const names = async (filter: string, more = '', token?: string): Promise<string[]> => {
    const query = `filter=${encodeURIComponent(filter)}${more}`
    const sent = token === undefined ? {} : { token }
    const { data } = await server.expect(200, 'GET', `/api/clubs/?${query}`, undefined, sent)
    return data.map(({ name }: { name: string }) => name)
  }
  const refs = (...ids: number[]) => ids.map((id) => ({ id }))

  beforeAll(async () => {
    for (const name of ['Ann', 'Bob', 'Hidden'])
      users.push(await server.user('users', { email: `${name}@example.com`.toLowerCase(), name }))
    await server.expect(201, 'POST', '/api/clubs/', [
      { name: 'none' },
      { name: 'ann', members: refs(1) },
      { name: 'both', members: refs(2, 1), inner: { guests: refs(3) } },
      { name: 'hidden', members: refs(3, 2), inner: { guests: [] } },
    ])
  })

  test('are looked into by filters, now and in the past', async () => {
    const at = `&at=${encodeURIComponent(new Date(Date.now() + 1000).toISOString())}`
    for (const more of ['', at])
      for (const [filter, found] of [
        ['1 in members', ['ann', 'both']],
        ['!(1 in members)', ['none', 'hidden']],
        ['size(members) == 2', ['both', 'hidden']],
        ['members.exists(m, m.id == 2)', ['both', 'hidden']],
        ['members.exists(m, m.name.startsWith("A"))', ['ann', 'both']],
        ['members.all(m, m.name == "Ann")', ['none', 'ann']],
        ['3 in inner.guests', ['both']],
        ['!(3 in inner.guests)', ['hidden']],
        ['inner.guests.exists(g, g.name == "Hidden")', ['both']],
        ['members.exists(m, m.id in inner.guests)', []],
      ] as const)
        expect([filter, more, await names(filter, more)]).toEqual([filter, more, [...found]])
  })

  test('show of their members what may be seen of them', async () => {
    const [ann, , hidden] = users
    expect(await names('members.exists(m, m.name == "Hidden")', '', ann?.token)).toEqual([])
    expect(await names('members.exists(m, m.name == "Hidden")', '', hidden?.token)).toEqual(['hidden'])
    const get = async (path: string) =>
      server.expect(200, 'GET', path, undefined, { token: ann?.token ?? null })
    const club = await get('/api/clubs/4/?expand=members')
    expect(club.members).toEqual([{ id: 3 }, expect.objectContaining({ id: 2, name: 'Bob', version: 1 })])
    const { clubs: mine } = await get('/api/users/1/?expand=clubs.members')
    expect(mine.data.map(({ name, members }: any) => [name, members.map((one: any) => one.name)])).toEqual([
      ['ann', ['Ann']],
      ['both', ['Bob', 'Ann']],
    ])
  })

  test('say who may do what', async () => {
    const [ann, bob] = users.map(({ token }) => ({ token }))
    const sue = await server.user('staff', { email: 'sue@example.com' })
    const create = (members: number[], sent = ann) =>
      server.call('POST', '/api/clubs/', { body: { name: 'new', members: refs(...members) }, ...sent })
    expect([
      (await create([2])).status,
      (await create([1, 2, 3])).status,
      (await create([1], sue)).status,
    ]).toEqual([403, 403, 403])
    const { status, body } = await create([2, 1])
    expect(status).toBe(201)
    const path = `/api/clubs/${body.id}/`
    await server.expect(200, 'PATCH', path, { name: 'renamed' }, bob)
    await server.expect(403, 'PATCH', path, { members: refs(1) }, bob)
    await server.expect(403, 'PATCH', path, { name: 'x' }, { token: sue.token })
    await server.expect(200, 'PATCH', path, { members: refs(1) }, ann)
    await server.expect(403, 'PATCH', path, { name: 'x' }, bob)
  })
})

const guarded = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {}, access: { read: everyone } }),
  teams: entity({
    fields: {
      owner: ref('users'),
      members: list(ref('users'), { default: [], read: 'owner.id == me.id' }),
    },
    access: { read: everyone },
  }),
  tasks: entity({ fields: { team: ref('teams') }, access: { read: everyone } }),
})

onEveryStore('filters on a list of references that only some see', guarded, (server) => {
  test('find what is in it for those alone', async () => {
    const ann = await server.user('users', { email: 'ann@example.com' })
    const bob = await server.user('users', { email: 'bob@example.com' })
    const members = [{ id: bob.id }]
    const team = await server.expect(201, 'POST', '/api/teams/', { owner: { id: ann.id }, members })
    await server.expect(201, 'POST', '/api/tasks/', { team: { id: team.id } })
    const found = async (path: string, { token }: { token: string }) =>
      (await server.expect(200, 'GET', path, undefined, { token })).data.length
    for (const path of [
      `/api/teams/?filter=${bob.id} in members`,
      `/api/teams/?filter=members.exists(m, m.id == ${bob.id})`,
      `/api/tasks/?filter=${bob.id} in team.members`,
    ])
      expect([path, await found(path, ann), await found(path, bob)]).toEqual([path, 1, 0])
  })
})
