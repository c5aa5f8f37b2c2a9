import { beforeAll, describe, expect, test } from 'bun:test'
import {
  choice,
  date,
  entity,
  everyone,
  integer,
  list,
  object,
  ref,
  signedIn,
  text,
} from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

const declaration = withAdmins({
  users: entity({
    login: { userType: 'user' },
    fields: { name: text(), wage: integer({ optional: true, read: 'id == me.id' }) },
    access: { read: signedIn },
  }),
  projects: entity({
    fields: {
      title: text({ search: true }),
      address: object({ city: text({ optional: true }) }, { optional: true }),
      lead: ref('users', { optional: true, as: 'led' }),
      members: list(ref('users', { as: 'projects' }), { default: [] }),
    },
    access: { read: everyone },
  }),
  tasks: entity({
    fields: {
      project: ref('projects', { as: 'tasks' }),
      assignee: ref('users', { optional: true, as: 'tasks' }),
      title: text(),
      status: choice(['open', 'done']),
      due: date({ optional: true }),
      weight: integer({ default: 0 }),
      secret: integer({ default: 0, read: 'assignee.id == me.id' }),
      hidden: integer({ default: 0, read: 'me.type == "admin"' }),
    },
    computed: { score: 'weight * 10 + 1' },
    access: { read: 'status == "open" || me.type == "user"' },
    index: [['project.id', '-due']],
  }),
})

onEveryStore('expansions with options', declaration, (server) => {
  const tokens = new Map<string, string>()
  const get = async (path: string, query: Record<string, string>, who?: string | null) => {
    const token = who === null ? { token: null } : who === undefined ? {} : { token: tokens.get(who) ?? '' }
    return server.call('GET', `${path}?${new URLSearchParams(query)}`, token)
  }
  const expand = async (path: string, text: string, who?: string | null) => {
    const { status, body } = await get(path, { expand: text }, who)
    expect([text, status, body]).toEqual([text, 200, body])
    return body
  }

  beforeAll(async () => {
    for (const name of ['ann', 'bob', 'cem', 'dan']) {
      const { token } = await server.user('users', { email: `${name}@example.com`, name, wage: name.length })
      tokens.set(name, token)
    }
    const members = [4, 2, 3, 1].map((id) => ({ id }))
    await server.expect(201, 'POST', '/api/projects/', {
      title: 'a; (b), "c"',
      lead: { id: 1 },
      members,
      address: { city: 'Bern' },
    })
    await server.expect(201, 'POST', '/api/projects/', { title: 'empty', members: [] })
    const tasks = Array.from({ length: 30 }, (_, at) => ({
      project: { id: 1 },
      assignee: at % 3 === 0 ? null : { id: 1 + (at % 4) },
      title: at === 7 ? 'x;y),(z,"' : `t${at}`,
      status: at % 2 === 0 ? 'open' : 'done',
      due: at % 5 === 0 ? null : `2026-01-${String(1 + (at % 7)).padStart(2, '0')}`,
      weight: at % 4,
      secret: at,
    }))
    await server.expect(201, 'POST', '/api/tasks/', tasks)
  })

  const titles = ({ data }: any) => data.map(({ title }: any) => title)

  test('of referrers are filtered, sorted, cut and narrowed, and go on in their own list', async () => {
    const asked = { filter: 'status == "open"', sort: '-due,weight', limit: '5', fields: 'id,title' }
    const text = Object.entries(asked).map(([name, value]) => `${name}=${value}`)
    for (const by of [
      '-due,weight',
      '-score',
      'due',
      '-assignee.name,due',
      'weight,-id',
      '-secret,title',
      'title',
    ]) {
      const options = text.map((one) => one.replace('-due,weight', by)).join(';')
      const wanted = await get('/api/tasks/', { ...asked, sort: by, limit: '200', 'project.id': '1' })
      const one = await expand('/api/projects/1/', `tasks(${options})`)
      expect([by, one.tasks.data]).toEqual([by, wanted.body.data.slice(0, 5)])
      const rest = await get('/api/tasks/', {
        ...asked,
        sort: by,
        limit: '200',
        'project.id': '1',
        cursor: one.tasks.next,
      })
      expect([by, rest.body.data]).toEqual([by, wanted.body.data.slice(5)])
      const many = await get('/api/projects/', { expand: `tasks(${options})`, search: 'b' })
      expect(many.body.data).toEqual([one])
    }
    const whole = await expand('/api/projects/1/', 'tasks(limit=200;filter=status == "open")')
    expect([whole.tasks.data.length, whole.tasks.next]).toEqual([15, null])
    const { data } = await expand('/api/projects/', 'tasks(limit=1;sort=-weight,id)')
    expect(data.map(({ tasks }: any) => [tasks.data.length, tasks.next === null])).toEqual([
      [1, false],
      [0, true],
    ])
  })

  test('have texts with every sign in their filters', async () => {
    for (const filter of [
      'title == "x;y),(z,\\""',
      "title == 'x;y),(z,\"'",
      'title == """x;y),(z,\\""""',
      'title == r"x;y),(z," || title in ["x;y),(z,\\"", "]"]',
    ]) {
      const one = await expand('/api/projects/1/', `tasks( filter=${filter} ; fields=title ),lead`)
      expect([filter, one.tasks.data, one.lead.name]).toEqual([
        filter,
        [{ id: 8, title: 'x;y),(z,"' }],
        'ann',
      ])
    }
  })

  test('each have values of their own in their filters', async () => {
    const { body } = await get('/api/users/', {
      filter: 'name == "bob"',
      name: 'bob',
      expand:
        'tasks(filter=weight == 1 && title.startsWith("t");fields=title;limit=3;expand=project(fields=title;expand=tasks(filter=weight == 3;limit=1))),projects(filter=title.startsWith("a");fields=id)',
    })
    const [{ tasks, projects }] = body.data
    expect(tasks.data.map(({ title, project }: any) => [title, titles(project.tasks)])).toEqual([
      ['t1', ['t3']],
      ['t5', ['t3']],
      ['t13', ['t3']],
    ])
    expect(projects.data).toEqual([{ id: 1 }])
  })

  test('of one Entity name its fields, with its id and what is expanded in it', async () => {
    const one = await expand('/api/tasks/2/', 'project(fields=title,address.city;expand=lead(fields=name))')
    expect(one.project).toEqual({
      id: 1,
      title: 'a; (b), "c"',
      address: { city: 'Bern' },
      lead: { id: 1, name: 'ann' },
    })
    const also = await expand('/api/tasks/2/', 'project.lead(fields=name),project(fields=title,address.city)')
    expect(also.project).toEqual(one.project)
  })

  test('of lists of references leave out, order and cut their members', async () => {
    const names = async (options: string) =>
      (await expand('/api/projects/1/', `members(fields=name;${options})`)).members.map(
        ({ id, name, truncated }: any) => name ?? [id, truncated],
      )
    expect(await names('filter=name != "bob"')).toEqual(['dan', 'cem', 'ann'])
    expect(await names('sort=name')).toEqual(['ann', 'bob', 'cem', 'dan'])
    expect(await names('sort=-name;limit=2;filter=name > "ann"')).toEqual(['dan', 'cem', [2, true]])
    expect(await names('limit=1')).toEqual(['dan', [2, true], [3, true], [1, true]])
    expect(await names('filter=name == "eve"')).toEqual([])
    const all = await expand('/api/projects/1/', 'members(fields=name)')
    expect(all.members[0]).toEqual({ id: 4, name: 'dan' })
    const { data } = await expand('/api/projects/', 'members(limit=1)')
    expect(data.map(({ members }: any) => members.length)).toEqual([4, 0])
  })

  test('show, find and order nothing that the caller may not see', async () => {
    // Strangers see neither done tasks nor users.
    const stranger = await expand('/api/projects/1/', 'tasks(limit=200;sort=-id;fields=status)', null)
    expect(new Set(stranger.tasks.data.map(({ status }: any) => status))).toEqual(new Set(['open']))
    const done = await expand('/api/projects/1/', 'tasks(filter=status == "done")', null)
    expect(done.tasks).toEqual({ data: [], next: null })
    const mine = await expand('/api/projects/1/', 'tasks(filter=secret > 0;fields=secret,assignee)', 'bob')
    expect(mine.tasks.data.length).toBeGreaterThan(3)
    for (const task of mine.tasks.data) expect(task.assignee).toEqual({ id: 2 })
    const sorted = await expand('/api/projects/1/', 'tasks(sort=-secret;limit=200;fields=assignee)', 'bob')
    const first = sorted.tasks.data.findIndex(({ assignee }: any) => assignee?.id !== 2)
    const others = sorted.tasks.data.slice(first).map(({ id }: any) => id)
    expect(others).toEqual(others.toSorted((a: number, b: number) => b - a))
    for (const [option, unknown] of [
      ['filter=hidden == 1', 'filter=hiddex == 1'],
      ['sort=hidden', 'sort=hiddex'],
      ['fields=hidden', 'fields=hiddex'],
    ] as const) {
      const [one, two] = [await get('/api/projects/1/', { expand: `tasks(${option})` }, 'bob')].concat(
        await get('/api/projects/1/', { expand: `tasks(${unknown})` }, 'bob'),
      )
      expect([one?.status, one?.text.replaceAll('hidden', 'hiddex')]).toEqual([422, two?.text])
    }
  })

  describe('that are wrong', () => {
    for (const [text, said] of [
      ['tasks(limit=5', 'has a "(" without its ")"'],
      ['tasks)limit=5(', 'has a ")" that nothing opens'],
      ['tasks(filter=title == "x)', 'has a text without its closing quote'],
      ['tasks(limit=5)x', '"x" cannot follow the options of "tasks"'],
      [
        'tasks(limit=5).project',
        '".project" cannot follow the options of "tasks": write "tasks(…;expand=project)"',
      ],
      ['tasks()', '"" is not an option of "tasks": filter, sort, limit, fields, expand'],
      [
        'tasks(limits=5)',
        '"limits" is not an option of "tasks": filter, sort, limit, fields, expand; did you mean "limit"?',
      ],
      ['tasks(limit)', 'limit of "tasks" needs a value: write limit=…'],
      ['tasks(limit=5;limit=6)', '"tasks" has limit more than once'],
      ['tasks(limit=5),tasks(limit=6)', '"tasks" has options more than once'],
      ['tasks(limit=0)', 'limit of "tasks": must be a whole number from 1 to 200'],
      ['tasks(limit=five)', 'limit of "tasks": must be a whole number from 1 to 200'],
      ['tasks(filter=)', 'filter of "tasks": is empty'],
      [
        'tasks(filter=titel == "x")',
        'filter of "tasks": unknown field "titel" at column 1; did you mean "title"?',
      ],
      ['tasks(filter=weight)', 'filter of "tasks": needs something that is true or false at column 1'],
      [
        'tasks(sort=titel)',
        'sort of "tasks": "titel" is not a value of tasks that can be sorted by; did you mean "title"?',
      ],
      ['tasks(fields=titel)', 'fields of "tasks": "titel" is not a field of tasks; did you mean "title"?'],
      ['tasks(expand=asignee)', '"asignee" is not a reference of tasks; did you mean "assignee"?'],
      ['tasks(expand=project.tasks(expand=project))', '"project" is more than 3 away'],
      ['lead(sort=name)', '"lead" is a single Entity: sort is only for lists of Entities'],
      ['lead(limit=1)', '"lead" is a single Entity: limit is only for lists of Entities'],
      ['lead(filter=name == "ann")', '"lead" is a single Entity: filter is only for lists of Entities'],
      ['nothing(limit=x)', '"nothing" is not a reference of projects'],
      [`tasks(expand=${Array(20).fill('project').join(',')})`, 'names more than 20 paths'],
    ] as const)
      test(text.slice(0, 50), async () => {
        for (const path of ['/api/projects/', '/api/projects/1/']) {
          const { status, body } = await get(path, { expand: text })
          expect([status, body.errors]).toEqual([422, { expand: [said] }])
        }
      })
  })
})
