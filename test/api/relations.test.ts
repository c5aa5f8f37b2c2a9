import { beforeAll, describe, expect, test } from 'bun:test'
import { boolean, choice, entity, everyone, integer, list, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { expectInvalid, onEveryStore, type TestResponse } from '../harness.ts'

const staff = 'me.type == "staff"'
const mine = 'user.id == me.id'

const relations = withAdmins({
  staff: entity({ login: { userType: 'staff' }, fields: {} }),
  users: entity({ login: { userType: 'user' }, fields: { name: text() }, access: { read: everyone } }),
  companies: entity({ fields: { name: text() }, access: { read: everyone } }),
  projects: entity({
    fields: { title: text(), company: ref('companies', { as: 'projects' }) },
    access: { read: everyone, history: everyone },
  }),
  tasks: entity({
    fields: {
      status: choice(['open', 'done'], { default: 'open' }),
      points: integer({ optional: true }),
      project: ref('projects', { as: 'tasks', onDelete: 'cascade' }),
      user: ref('users', { as: 'tasks', optional: true }),
      also: list(ref('projects', { as: 'mentions', onDelete: 'clear' }), { default: [] }),
      up: ref('tasks', { as: 'parts', optional: true }),
      hidden: integer({ optional: true, read: staff }),
      own: integer({ optional: true, read: mine }),
      public: boolean({ default: true }),
    },
    access: { read: `public || ${mine}` },
  }),
  // Only some users see the reference itself.
  votes: entity({
    fields: {
      project: ref('projects', { as: 'votes', read: mine, onDelete: 'cascade' }),
      user: ref('users'),
    },
    access: { read: everyone },
  }),
  audits: entity({
    fields: { project: ref('projects', { as: 'audits', onDelete: 'cascade' }), text: text() },
    access: { read: staff },
  }),
  unnamed: entity({ fields: { project: ref('projects', { optional: true }) }, access: { read: everyone } }),
})

const PROJECTS = 12

onEveryStore('relations', relations, (server) => {
  let eve = { id: 0, token: '' }
  let ann = { id: 0, token: '' }
  let sue = { id: 0, token: '' }

  const get = (query: Record<string, string>, token: string | null = server.adminToken, type = 'projects') =>
    server.call('GET', `/api/${type}/?${new URLSearchParams(query)}`, { token })
  async function idsOf(
    query: Record<string, string>,
    token?: string | null,
    type?: string,
  ): Promise<number[]> {
    const { status, body, text: said } = await get(query, token, type)
    if (status !== 200) throw new Error(`${JSON.stringify(query)}: ${status} ${said}`)
    return body.data.map((one: { id: number }) => one.id)
  }
  const found = (filter: string, token?: string | null, type?: string) => idsOf({ filter }, token, type)
  const add = (type: string, body: object) => server.expect(201, 'POST', `/api/${type}/`, body)

  beforeAll(async () => {
    eve = await server.user('users', { email: 'eve@example.com', name: 'eve' })
    ann = await server.user('users', { email: 'ann@example.com', name: 'ann' })
    sue = await server.user('staff', { email: 'sue@example.com' })
    for (const name of ['a', 'b']) await add('companies', { name })
    for (let at = 1; at <= PROJECTS; at++)
      await add('projects', { title: `p${at}`, company: { id: at <= 6 ? 1 : 2 } })
    const task = (project: number, more: object = {}) => add('tasks', { project: { id: project }, ...more })
    await task(1, { points: 1 })
    await task(1, { status: 'done', points: 5, user: { id: eve.id }, own: 1, hidden: 1 })
    await task(2, { status: 'done' })
    await task(3, { status: 'done', points: 3, public: false, user: { id: ann.id } })
    await task(3, { points: 3, public: false, user: { id: eve.id } })
    await task(4, { also: [{ id: 1 }, { id: 5 }], up: { id: 1 }, user: { id: ann.id }, own: 7, hidden: 2 })
    const gone = await task(6)
    await server.expect(200, 'DELETE', `/api/tasks/${gone.id}/`)
    await add('votes', { project: { id: 1 }, user: { id: eve.id } })
    await add('votes', { project: { id: 2 }, user: { id: ann.id } })
    await add('audits', { project: { id: 1 }, text: 'x' })
  })

  test.each([
    ['tasks.exists(t, t.status == "open")', [1, 3, 4]],
    ['tasks.exists(t, t.points == 5 && t.status == "done")', [1]],
    ['!tasks.exists(t, t.status == "open")', [2, 5, 6, 7, 8, 9, 10, 11, 12]],
    ['tasks.all(t, t.status == "done")', [2, 5, 6, 7, 8, 9, 10, 11, 12]],
    ['!tasks.all(t, t.status == "done")', [1, 3, 4]],
    // A null value makes the result unknown, unless another item decides.
    ['tasks.all(t, t.points > 0)', [1, 3, 5, 6, 7, 8, 9, 10, 11, 12]],
    ['!tasks.exists(t, t.points > 4)', [3, 5, 6, 7, 8, 9, 10, 11, 12]],
    ['size(tasks) == 0', [5, 6, 7, 8, 9, 10, 11, 12]],
    ['size(tasks) > 1', [1, 3]],
    ['tasks.size() in [1]', [2, 4]],
    ['size(tasks) > 0.5 && size(tasks) < 2', [2, 4]],
    ['size(tasks) >= size(mentions) + 0', [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12]],
    ['size(tasks) < size(mentions)', [5]],
    ['mentions.exists(t, t.project.title == "p4")', [1, 5]],
    ['tasks.exists(t, t.up.project.id == 1)', [4]],
    ['tasks.exists(t, t.parts.exists(p, p.project.id == 4))', [1]],
    ['tasks.exists(t, t.user.name == "ann" && t.points == 3)', [3]],
    ['tasks.exists(t, 5 in t.also)', [4]],
    ['tasks.exists(t, t.also.exists(p, p.title == "p5"))', [4]],
    ['company.projects.exists(p, p.id == 12)', [7, 8, 9, 10, 11, 12]],
    ['company.projects.exists(p, size(p.tasks) > 1 && p.id == 3)', [1, 2, 3, 4, 5, 6]],
    ['tasks.exists(t, tasks.exists(u, u.points > t.points))', [1]],
    ['tasks.exists(t, t.status == "open") ? title == "p1" : title == "p2"', [1, 2]],
  ])('%s', async (filter, expected) => {
    if (expected === undefined) expect((await get({ filter })).status).toBe(422)
    else expect(await found(filter)).toEqual(expected)
  })

  test('from the other end, and through whoever asks', async () => {
    expect(await found('project.tasks.exists(t, t.points == 5)', undefined, 'tasks')).toEqual([1, 2])
    expect(await found('me.tasks.exists(t, t.project.id == id)', eve.token)).toEqual([1, 3])
    expect(await found('me.tasks.exists(t, t.project.id == id && t.points == 5)', eve.token)).toEqual([1])
    expect(await found('!me.tasks.exists(t, t.project.id == id)', ann.token)).toEqual([
      1, 2, 5, 6, 7, 8, 9, 10, 11, 12,
    ])
    // Neither staff nor callers without a user have tasks.
    for (const token of [null, sue.token])
      expectInvalid(await get({ filter: 'me.tasks.exists(t, t.project.id == id)' }, token), {
        filter: ['unknown field "me.tasks" at column 4'],
      })
  })

  describe('only visible data counts', () => {
    test('rows', async () => {
      expect(await found('tasks.exists(t, t.points == 3)', eve.token)).toEqual([3])
      expect(await found('tasks.exists(t, t.points == 3)', null)).toEqual([])
      expect(await found('size(tasks) == 1', eve.token)).toEqual([2, 3, 4])
      expect(await found('size(tasks) == 2', ann.token)).toEqual([1])
      expect(await idsOf({ sort: '-size(tasks)', limit: '3' }, ann.token)).toEqual([1, 4, 3])
      expect(await found('tasks.exists(t, t.status == "done" && t.user.name == "ann")', eve.token)).toEqual(
        [],
      )
    })

    test('references', async () => {
      expect(await found('votes.exists(v, true)', eve.token)).toEqual([1])
      expect(await found('size(votes) == 1', ann.token)).toEqual([2])
      expect(await found('votes.exists(v, true)')).toEqual([1, 2])
      expect(await found('company.projects.exists(p, size(p.votes) == 1 && p.id == 2)', eve.token)).toEqual(
        [],
      )
    })

    test('fields, which are empty where they are not seen, or not there', async () => {
      expect(await found('tasks.exists(t, t.own == 1)', eve.token)).toEqual([1])
      expect(await found('tasks.exists(t, t.own == 7)', eve.token)).toEqual([])
      expect(await found('tasks.exists(t, t.own == null && t.user.name == "ann")', eve.token)).toEqual([4])
      const refused = (name: string) => ({ filter: [`unknown field "t.${name}" at column 19`] })
      for (const name of ['hidden', 'absent'])
        expectInvalid(await get({ filter: `tasks.exists(t, t.${name} == 1)` }, eve.token), refused(name))
      expect(await found('tasks.exists(t, t.hidden == 2)', sue.token)).toEqual([4])
    })

    test('types', async () => {
      for (const name of ['audits', 'absents']) {
        expectInvalid(await get({ filter: `${name}.exists(a, a.text == "x")` }, eve.token), {
          filter: [`unknown field "${name}" at column 1`],
        })
        expectInvalid(await get({ sort: `size(${name})` }, eve.token), {
          sort: [`"size(${name})" is not a value of projects that can be sorted by`],
        })
      }
      expect(await found('audits.exists(a, a.text == "x")', sue.token)).toEqual([1])
    })
  })

  describe('the size', () => {
    async function pages(sort: string, limit: number, token?: string): Promise<number[]> {
      const all: number[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query: Record<string, string> = { sort, limit: String(limit), ...(cursor !== '' && { cursor }) }
        const { body }: TestResponse = await get(query, token)
        all.push(...body.data.map((one: { id: number }) => one.id))
        cursor = body.next
      }
      return all
    }

    test('sorts, page by page, what is alike by id', async () => {
      const down = [3, 1, 4, 2, 12, 11, 10, 9, 8, 7, 6, 5]
      for (const limit of [1, 2, 5, 200]) {
        expect(await pages('-size(tasks)', limit)).toEqual(down)
        expect(await pages('size(tasks)', limit)).toEqual([...down].reverse())
      }
      expect(await pages('-size(tasks),id', 2)).toEqual([1, 3, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12])
      expect(await pages('company.name,-size(tasks),id', 3)).toEqual([1, 3, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12])
      expect(await pages('-size(company.projects),title', 5)).toHaveLength(PROJECTS)
      expect(await pages('-size(title),-size(tasks)', 5)).toEqual([12, 11, 10, 3, 1, 4, 2, 9, 8, 7, 6, 5])
    })

    test('of what changes meanwhile keeps the place', async () => {
      const { body } = await get({ sort: '-size(tasks)', limit: '2' })
      expect(body.data.map((one: { id: number }) => one.id)).toEqual([3, 1])
      const { id } = await add('tasks', { project: { id: 9 } })
      expect(await idsOf({ sort: '-size(tasks)', limit: '3', cursor: body.next })).toEqual([9, 4, 2])
      await server.expect(200, 'DELETE', `/api/tasks/${id}/`)
      const wrong = await get({ sort: 'size(tasks)', limit: '2', cursor: body.next })
      expectInvalid(wrong, { cursor: ['is not a cursor of this list with this sort'] })
    })

    test('can be used in totals, in summaries and with the trash', async () => {
      const { body } = await get({ filter: 'size(tasks) > 0', count: '1', limit: '1' })
      expect(body.total).toBe(4)
      const path = `/api/projects/summary/?${new URLSearchParams({ group: 'company.name', filter: 'size(tasks) > 1' })}`
      expect((await server.expect(200, 'GET', path)).data).toEqual([
        { group: { 'company.name': 'a' }, count: 2 },
      ])
      expect(await idsOf({ trashed: 'with', filter: 'size(tasks) > 1' })).toEqual([1, 3])
    })
  })

  test('what is deleted does not count, and counts again once it is back', async () => {
    const { id } = await add('tasks', { project: { id: 10 }, points: 99 })
    expect(await found('tasks.exists(t, t.points == 99)')).toEqual([10])
    await server.expect(200, 'DELETE', `/api/tasks/${id}/`)
    expect(await found('tasks.exists(t, t.points == 99)')).toEqual([])
    await server.expect(200, 'DELETE', `/api/tasks/${id}/?restore=1`)
    expect(await found('tasks.exists(t, t.points == 99)')).toEqual([10])
    await server.expect(200, 'DELETE', `/api/tasks/${id}/`)
  })

  test('referrers cannot be asked for in the past', async () => {
    const at = new Date().toISOString()
    const sentence = 'uses referrers, which cannot be combined with at'
    for (const filter of ['tasks.exists(t, true)', 'title == "x" || size(company.projects) > 1'])
      expectInvalid(await get({ filter, at }), { filter: [sentence] })
    expectInvalid(await get({ sort: '-size(tasks)', at }), { sort: [sentence] })
    expect((await get({ sort: '-size(title)', at })).status).toBe(200)
  })

  describe('mistakes are reported', () => {
    test.each([
      ['task.exists(t, true)', 'unknown field "task" at column 1; did you mean "tasks"?'],
      ['tasks.exists(t, t.point > 3)', 'unknown field "t.point" at column 19; did you mean "t.points"?'],
      [
        'company.project.exists(p, true)',
        'unknown field "company.project" at column 9; did you mean "company.projects"?',
      ],
      ['tasks.status == "open"', 'names "status" of a list; use exists(x, x.status …) at column 7'],
      ['tasks == null', 'compares referrers with null; use size() or exists() at column 1'],
      ['has(tasks)', 'compares referrers with null; use size() or exists() at column 5'],
      ['3 in tasks', 'looks for a value among referrers; use exists(x, x.id == …) at column 1'],
      ['tasks.exists(t, t == 3)', 'compares a whole object; name a field of it at column 17'],
      ['tasks == 3', 'compares a whole list; use "in", size() or exists() at column 1'],
      [
        'tasks.exists(t, t.user.id == 1 && t.id == company.id)',
        'compares an id of tasks with one of companies at column 35',
      ],
      [
        'company.projects.exists(p, p.tasks.exists(t, t.user.name == "ann"))',
        'follows more than 3 references at column 53',
      ],
      ['tasks.exists(t, t.up.up.up.points == 3)', 'follows more than 3 references at column 28'],
    ])('%s', async (filter, sentence) => {
      expectInvalid(await get({ filter }), { filter: [sentence] })
    })

    test('of other parameters', async () => {
      const hint = ': use filter=tasks.exists(…) or sort=size(tasks)'
      expectInvalid(await get({ sort: '-tasks' }), {
        sort: [`"tasks" is not a value of projects that can be sorted by${hint}`],
      })
      expectInvalid(await get({ tasks: '3' }), {
        tasks: [`is not a parameter, nor a value of projects${hint}`],
      })
      expectInvalid(await get({ sort: 'size(task)' }), {
        sort: ['"size(task)" is not a value of projects that can be sorted by; did you mean "size(tasks)"?'],
      })
    })
  })
})
