import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { resolve } from '../../src/declare/resolve.ts'
import { check } from '../../src/store/check/check.ts'
import {
  app,
  choice,
  entity,
  everyone,
  type Fields,
  integer,
  list,
  object,
  ref,
  signedIn,
  text,
} from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { expectInvalid, onEveryStore, onEveryStoreByHand, TestServer } from '../harness.ts'
import { linksAstray } from '../links.ts'
import { recordStatements } from '../plans.ts'

const role = choice(['owner', 'editor', 'reader'])
const members = list(object({ user: ref('users', { as: 'projects' }), role }), { default: [], max: 5 })

const declaration = withAdmins({
  users: entity({
    login: { userType: 'user' },
    fields: { name: text(), boss: ref('users', { optional: true }) },
    access: { read: 'name != "hidden"' },
  }),
  projects: entity({
    fields: { title: text({ default: '' }), members },
    access: {
      read: 'members.exists(m, m.user.id == me.id)',
      update: 'members.exists(m, m.user.id == me.id && m.role == "owner")',
      create: signedIn,
      history: signedIn,
    },
  }),
  tasks: entity({
    fields: { project: ref('projects') },
    access: { read: 'project.members.exists(m, m.user.id == me.id && m.role in ["owner", "editor"])' },
  }),
  boards: entity({
    fields: { members: list(object({ user: ref('users'), role })) },
    access: {
      create: 'members.exists(m, m.user.id == me.id && m.role == "owner")',
      read: 'members.exists(m, m.user.id == me.id)',
      update: `members.exists(m, m.user.id == me.id && m.role == "owner")
        && next.members.exists(m, m.role == "owner")`,
    },
  }),
  products: entity({ fields: { name: text({ default: '' }) }, access: { read: everyone } }),
  orders: entity({
    fields: {
      box: object(
        {
          lines: list(
            object({
              product: ref('products', { onDelete: 'cascade' }),
              count: integer({ min: 1 }),
              note: text({ optional: true }),
              tags: list(text(), { default: [] }),
            }),
            { min: 1 },
          ),
        },
        { optional: true },
      ),
    },
  }),
})

onEveryStore('lists of objects with a reference', declaration, (server) => {
  const tokens: string[] = ['']
  const as = (user: number) => ({ token: tokens[user] ?? '' })
  const make = async (type: string, body: object) =>
    (await server.expect(201, 'POST', `/api/${type}/`, body)).id as number
  const entry = (user: number, role = 'reader') => ({ user: { id: user }, role })
  const titles = async (query: string, user?: number, type = 'projects') => {
    const path = `/api/${type}/?${new URLSearchParams(query)}`
    const { data } = await server.expect(200, 'GET', path, undefined, user === undefined ? {} : as(user))
    return data.map((one: any) => one.title ?? one.name ?? one.id)
  }

  beforeAll(async () => {
    for (const name of ['ann', 'bob', 'cem', 'hidden']) {
      const { token } = await server.user('users', { email: `${name}@example.com`, name })
      tokens.push(token)
    }
    await make('projects', { title: 'one', members: [entry(2, 'editor'), entry(1, 'owner'), entry(4)] })
    await make('projects', { title: 'two', members: [entry(1, 'reader'), entry(3, 'owner')] })
    await make('projects', { title: 'none' })
    await make('tasks', { project: { id: 1 } })
  })
  afterEach(async () => {
    expect(await linksAstray(server, declaration)).toEqual([])
    expect((await check(await server.location())).findings).toEqual([])
  })

  test('are checked as references and as objects', async () => {
    const missing = ['refers to nothing']
    for (const [sent, errors] of [
      [[entry(1), entry(99)], { 'members.1.user': missing, 'members.1.user.id': missing }],
      [
        [entry(1), entry(1, 'owner')],
        { 'members.1.user': ['is already in the list'], 'members.1.user.id': ['is already in the list'] },
      ],
      [[{ user: { id: 1 } }], { 'members.0.role': ['is required'] }],
      [[{ role: 'owner' }], { 'members.0.user': ['is required'], 'members.0.user.id': ['is required'] }],
      [[null], { 'members.0': ['must not be null'] }],
      [[{ id: 1 }, entry(98)], expect.objectContaining({ 'members.1.user': missing })],
      [[1, 2, 3, 4, 5, 6].map((id) => entry(id)), { members: ['must have at most 5 items'] }],
    ] as const) {
      expectInvalid(await server.call('POST', '/api/projects/', { body: { members: sent } }), errors as never)
      expectInvalid(
        await server.call('PATCH', '/api/projects/1/', { body: { members: sent } }),
        errors as never,
      )
    }
    const whole = { product: { id: 1 }, count: 2 }
    await make('products', {})
    const made = await server.expect(201, 'POST', '/api/orders/', { box: { lines: [whole] } })
    expect(made.box.lines).toEqual([{ ...whole, note: null, tags: [] }])
  })

  test('are asked about by rules and filters', async () => {
    expect(await titles('', 1)).toEqual(['one', 'two'])
    expect(await titles('', 3)).toEqual(['two'])
    await server.expect(403, 'PATCH', '/api/projects/2/', { title: 'x' }, as(1))
    await server.expect(200, 'PATCH', '/api/projects/1/', { title: 'one' }, as(1))
    expect(await titles('', 2, 'tasks')).toEqual([1])
    expect(await titles('', 4, 'tasks')).toEqual([])
    for (const [filter, found] of [
      ['members.exists(m, m.user.id == 1 && m.role == "owner")', ['one']],
      ['members.exists(m, m.user.name == "cem")', ['two']],
      ['members.exists(m, m.user.name == "hidden")', []],
      ['members.exists(m, m.user.id == me.id && m.role != "reader")', ['one']],
      ['!members.exists(m, m.user.id == 1)', ['none']],
      ['members.all(m, m.role != "owner")', ['none']],
      ['size(members) == 2', ['two']],
    ] as const) {
      const all = /me\.id/.test(filter) ? 1 : filter.includes('hidden') ? 4 : undefined
      expect([filter, await titles(`filter=${encodeURIComponent(filter)}`, all)]).toEqual([
        filter,
        [...found],
      ])
    }
    const mine = 'filter=projects.exists(p, p.title == "two")'.replaceAll(' ', '%20')
    expect(await titles(mine, undefined, 'users')).toEqual(['ann', 'cem'])
    const past = `at=${encodeURIComponent(new Date(Date.now() + 1000).toISOString())}`
    expect(await titles(`filter=members.exists(m,m.user.id==3)&${past}`)).toEqual(['two'])
    const { body } = await server.call('GET', '/api/projects/?filter=members.exists(m, m.usr.id == 1)')
    expect(body.errors.filter).toEqual(['unknown field "m.usr" at column 21; did you mean "m.user"?'])
  })

  test('are asked about by rules before they are written', async () => {
    const board = { members: [entry(1, 'owner'), entry(2)] }
    await server.expect(403, 'POST', '/api/boards/', board, as(2))
    const { id } = await server.expect(201, 'POST', '/api/boards/', board, as(1))
    await server.expect(403, 'PATCH', `/api/boards/${id}/`, { members: [entry(2, 'owner')] }, as(2))
    await server.expect(403, 'PATCH', `/api/boards/${id}/`, { members: [entry(1)] }, as(1))
    await server.expect(200, 'PATCH', `/api/boards/${id}/`, { members: { $remove: [entry(2)] } }, as(1))
    await server.expect(404, 'GET', `/api/boards/${id}/`, undefined, as(2))
  })

  test('are expanded item by item', async () => {
    const one = async (query: string, user?: number) =>
      server.expect(200, 'GET', `/api/projects/1/?${query}`, undefined, user === undefined ? {} : as(user))
    expect((await one('expand=members.user(fields=name)', 1)).members).toEqual([
      { user: { id: 2, name: 'bob' }, role: 'editor' },
      { user: { id: 1, name: 'ann' }, role: 'owner' },
      { user: { id: 4 }, role: 'reader' },
    ])
    const { members: few, title } = await one('fields=id&expand=members.user.projects(fields=title)')
    expect([title, few[1].user.name, few[1].user.projects.data.map((p: any) => p.title)]).toEqual([
      undefined,
      'ann',
      ['one', 'two'],
    ])
    const user = await server.expect(200, 'GET', '/api/users/3/?expand=projects(fields=title)')
    expect(user.projects.data).toEqual([{ id: 2, title: 'two' }])
    for (const [expand, said] of [
      ['members', '"members" is not a reference of projects; did you mean "members.user"?'],
      ['members.user(sort=name)', '"members.user" is a single Entity: sort is only for lists of Entities'],
    ] as const) {
      const { status, body } = await server.call('GET', `/api/projects/?expand=${expand}`)
      expect([status, body.errors.expand]).toEqual([422, [said]])
    }
    const order = await server.expect(201, 'POST', '/api/orders/', {
      box: { lines: [{ product: { id: 1 }, count: 3, tags: ['"x"'] }] },
    })
    const read = await server.expect(200, 'GET', `/api/orders/${order.id}/?expand=box.lines.product`)
    expect(read.box.lines[0]).toMatchObject({
      count: 3,
      note: null,
      tags: ['"x"'],
      product: { id: 1, version: 1 },
    })
  })

  test('keep their targets, or go with them and come back', async () => {
    const { status, body } = await server.call('DELETE', '/api/users/3/')
    expect([status, body.errors]).toEqual([409, { 'projects.members': ['1 project refers to it'] }])
    const product = await make('products', { name: 'p' })
    const order = await make('orders', { box: { lines: [{ product: { id: product }, count: 1 }] } })
    await server.expect(200, 'DELETE', `/api/products/${product}/`)
    await server.expect(404, 'GET', `/api/orders/${order}/`)
    const back = await server.call('DELETE', `/api/orders/${order}/?restore=1`)
    expect([back.status, Object.keys(back.body.errors)]).toEqual([409, ['box.lines.0.product.id']])
    await server.expect(200, 'DELETE', `/api/products/${product}/?restore=1`)
    await server.expect(200, 'GET', `/api/orders/${order}/`)
  })

  test('are changed atomically, undone and shown in the history', async () => {
    const project = await make('projects', { members: [entry(1, 'owner')] })
    const path = `/api/projects/${project}/`
    const patch = (sent: object) => server.call('PATCH', path, { body: { members: sent } })
    const added = await patch({ $add: [entry(2, 'editor')] })
    expect(added.body.members).toEqual([entry(1, 'owner'), entry(2, 'editor')])
    expect((await patch({ $add: [entry(2, 'owner')] })).status).toBe(422)
    const removed = await patch({ $remove: [{ user: { id: 2 } }] })
    expect(removed.body.members).toEqual([entry(1, 'owner')])
    const operation = removed.headers.get('takeback-operation')
    await server.expect(200, 'POST', `/api/operations/${operation}/undo/`)
    expect((await server.expect(200, 'GET', path)).members).toHaveLength(2)
    const eve = await server.user('users', { email: 'eve@example.com', name: 'eve' })
    await patch({ $add: [entry(eve.id)] })
    const out = await patch({ $remove: [{ user: { id: eve.id } }] })
    await server.expect(200, 'DELETE', `/api/users/${eve.id}/`)
    const refused = await server.call(
      'POST',
      `/api/operations/${out.headers.get('takeback-operation')}/undo/`,
    )
    expect(refused.status).toBe(409)
    const { data } = await server.expect(200, 'GET', `${path}history/`)
    expect(JSON.stringify(data[0])).toContain(JSON.stringify([entry(1, 'owner'), entry(2, 'editor')]))
  })

  test('are found by the index of who is in them', async () => {
    const asked = await recordStatements(server.context.store, () => titles('', 1))
    const one = asked.find(({ statement }) => statement.text.includes('"projects"'))
    if (one === undefined) throw new Error('not asked')
    expect(one.statement.text).toContain('FROM "projects.members" l WHERE l."target" =')
  })
})

describe('mistakes in lists of objects with a reference', () => {
  const said = (fields: Fields) => {
    try {
      resolve(app({ admins: 'a', entities: { a: entity({ login: { userType: 'a' }, fields }) } }))
    } catch (error) {
      return (error as Error).message.split('\n').slice(1).join('\n').trim()
    }
    return ''
  }
  for (const [name, fields, sentence] of [
    ['two', { l: list(object({ x: ref('a'), y: ref('a') })) }, /fields\.l\.items\.y: is a second/],
    ['deep', { l: list(object({ o: object({ x: ref('a') }) })) }, /is a reference deeper inside/],
    ['a list', { l: list(object({ x: ref('a'), m: list(ref('a')) })) }, /is a reference deeper inside/],
    ['clear', { l: list(object({ x: ref('a', { onDelete: 'clear' }) })) }, /cannot be 'clear' in an item/],
    [
      'optional',
      { l: list(object({ x: ref('a', { optional: true }) })) },
      /optional: cannot be used for the/,
    ],
    ['unique', { l: list(object({ x: ref('a', { unique: true }) })) }, /unique: cannot be used in a list/],
    [
      'default',
      { l: list(object({ x: ref('a') }), { default: [{ x: { id: 1 } }] }) },
      /default: must be \[\]/,
    ],
  ] as [string, Fields, RegExp][])
    test(name, () => expect(said(fields)).toMatch(sentence))
})

onEveryStoreByHand('a list of objects with a reference that changes', (store) => {
  const servers: TestServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.remove())))
  const tags = entity({ fields: { name: text({ default: '' }) } })
  const posts = (fields: Fields) => withAdmins({ tags, posts: entity({ fields }) })
  const marks = (more: object = {}, options: object = {}) =>
    list(object({ tag: ref('tags'), level: integer(), ...more }), { default: [], ...options })

  test('is renamed, narrowed, kept aside and declared again with its links', async () => {
    const server = new TestServer(store, posts({ title: text({ default: '' }) }))
    servers.push(server)
    await server.start()
    for (let n = 0; n < 2; n++) await server.expect(201, 'POST', '/api/tags/', {})
    await server.expect(201, 'POST', '/api/posts/', {})
    await server.restart(posts({ title: text({ default: '' }), marks: marks() }))
    const entry = { tag: { id: 2 }, level: 7 }
    await server.expect(200, 'PATCH', '/api/posts/1/', { marks: [entry] })
    const renamed = posts({ title: text({ default: '' }), notes: marks({}, { was: 'marks' }) })
    await server.restart(renamed)
    expect((await server.expect(200, 'GET', '/api/posts/1/')).notes).toEqual([entry])
    expect((await server.call('DELETE', '/api/tags/2/')).status).toBe(409)
    expect(await linksAstray(server, renamed)).toEqual([])
    const narrow = list(object({ tag: ref('tags'), level: integer({ max: 3 }) }), { default: [] })
    expect(server.restart(posts({ title: text({ default: '' }), notes: narrow }))).rejects.toThrow()
    const plain = list(ref('tags'), { default: [] })
    expect(server.restart(posts({ title: text({ default: '' }), notes: plain }))).rejects.toThrow()
    await server.restart(posts({ title: text({ default: '' }) }))
    await server.restart(posts({ title: text({ default: '' }), notes: marks() }))
    expect((await server.expect(200, 'GET', '/api/posts/1/')).notes).toEqual([entry])
    expect((await check(await server.location())).findings).toEqual([])
  })
})
