import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Bound } from '../../src/store/dialect.ts'
import { choice, entity, everyone, integer, list, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { isDeep, onEveryStoreByHand, TestServer } from '../harness.ts'
import { fillTable, planOf, recordStatements, scansIn, valuesOf } from '../plans.ts'

const having = (path: string) =>
  `${path}memberships.exists(m, m.user.id == me.id && m.role in ["owner", "editor"])`

const declaration = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {}, access: { read: everyone } }),
  projects: entity({
    fields: { title: text(), level: integer(), owner: ref('users'), code: text({ unique: true }) },
    access: { read: having('') },
    index: [['title']],
  }),
  memberships: entity({
    fields: {
      project: ref('projects', { as: 'memberships' }),
      user: ref('users', { as: 'memberships' }),
      role: choice(['owner', 'editor', 'viewer']),
      level: integer(),
    },
    access: { read: `user.id == me.id || ${having('project.')}` },
  }),
  tasks: entity({
    fields: {
      title: text(),
      status: choice(['open', 'done']),
      project: ref('projects', { as: 'tasks' }),
      also: list(ref('projects', { as: 'mentions' }), { default: [] }),
    },
    access: { read: having('project.') },
  }),
  notes: entity({
    fields: { text: text(), project: ref('projects', { as: 'notes' }) },
    access: { read: 'me.memberships.exists(m, m.project.id == project.id && m.role != "viewer")' },
  }),
  // A condition on both Entities, and an alternative.
  files: entity({
    fields: {
      name: text(),
      level: integer(),
      project: ref('projects', { as: 'files' }),
      owner: ref('users'),
    },
    access: {
      read: 'owner.id == me.id || project.memberships.exists(m, m.user.id == me.id && m.level >= level)',
    },
  }),
  // Everybody may see these.
  boards: entity({ fields: { title: text() }, access: { read: everyone } }),
  cards: entity({
    fields: { board: ref('boards', { as: 'cards' }), status: choice(['open', 'done']), rank: integer() },
    access: { read: everyone },
  }),
})

const large = ['projects', 'memberships', 'tasks', 'notes', 'files', 'boards', 'cards']
const USERS = 1000
const PROJECTS = isDeep ? 10_000 : 5000

onEveryStoreByHand('plans over what refers to an Entity', (store) => {
  const server = new TestServer(store, declaration)
  let token = ''
  const sqlite = store === 'sqlite'
  const time = sqlite ? "'2026-01-01T00:00:00.000Z'" : "timestamptz '2026-01-01'"

  const fill = (table: string, rows: number, columns: Record<string, string>) =>
    fillTable(server, { store, table, rows, time }, columns)

  beforeAll(async () => {
    await server.start()
    token = (await server.user('users', { email: 'ann@example.com' })).token
    await fill('users', USERS, {
      email: "'user' || i || '@example.com'",
      email_key: "'user' || i || '@example.com'",
      password: "'none'",
      token_epoch: '0',
    })
    await fill('projects', PROJECTS, {
      title: "'Project ' || i",
      level: 'i % 7',
      'owner.id': `1 + i % ${USERS}`,
      code: "'code ' || i",
    })
    await fill('memberships', 4 * PROJECTS, {
      'project.id': `1 + i % ${PROJECTS}`,
      'user.id': `1 + (i * 7 + i / ${PROJECTS}) % ${USERS}`,
      role: "CASE i % 3 WHEN 0 THEN 'owner' WHEN 1 THEN 'editor' ELSE 'viewer' END",
      level: 'i % 9',
    })
    await fill('tasks', 4 * PROJECTS, {
      title: "'Task ' || i",
      status: "CASE i % 3 WHEN 0 THEN 'open' ELSE 'done' END",
      'project.id': `1 + i % ${PROJECTS}`,
      also: sqlite
        ? `'[{"id":' || (1 + i % ${PROJECTS}) || '}]'`
        : `('[{"id":' || (1 + i % ${PROJECTS}) || '}]')::json`,
    })
    await fill('notes', 2 * PROJECTS, { text: "'Note'", 'project.id': `1 + i % ${PROJECTS}` })
    await fill('files', 2 * PROJECTS, {
      name: "'File'",
      level: 'i % 5',
      'project.id': `1 + i % ${PROJECTS}`,
      'owner.id': `1 + i % ${USERS}`,
    })
    await fill('boards', PROJECTS, { title: "'Board ' || i" })
    await fill('cards', 4 * PROJECTS, {
      'board.id': `1 + i % ${PROJECTS}`,
      status: "CASE i % 3 WHEN 0 THEN 'open' ELSE 'done' END",
      rank: 'i',
    })
    if (!sqlite) await server.query('ANALYZE')
  })
  afterAll(() => server.remove())

  async function plansOf(path: string, sent: { token?: string }): Promise<string[]> {
    const asked = await recordStatements(server.context.store, () =>
      server.expect(200, 'GET', path, undefined, sent),
    )
    const query = (text: string, ...values: Bound[]) => server.query(text, ...(values as string[]))
    const statements = asked.filter(({ statement }) =>
      large.some((name) => statement.text.includes(`"${name}"`)),
    )
    expect(statements.length).toBeGreaterThan(0)
    const plans: string[] = []
    for (const one of statements) plans.push(await planOf(store, query, one.statement.text, valuesOf(one)))
    return plans
  }

  const check = (who: string, paths: Record<string, RegExp>, sent: () => { token?: string }) => {
    for (const [path, found] of Object.entries(paths))
      test(`${who}: ${path}`, async () => {
        for (const plan of await plansOf(path, sent())) {
          const aliases = Array.from({ length: 30 }, (_, at) => `h${at}`)
          expect([plan, scansIn(plan, ['t', 'e1', 'w', ...aliases, ...large])]).toEqual([plan, []])
          expect(plan).toMatch(found)
        }
      })
  }

  const mine = /memberships:user.id\+id:index/
  check(
    'a member',
    {
      '/api/projects/': mine,
      '/api/projects/?count=1': mine,
      '/api/projects/?sort=-title': mine,
      '/api/projects/?filter=level > 3': mine,
      '/api/projects/1001/': /memberships:(project|user).id\+id:index/,
      '/api/tasks/': mine,
      '/api/tasks/?count=1&filter=status == "open"': mine,
      '/api/tasks/?expand=project': mine,
      '/api/notes/': mine,
      '/api/notes/?sort=-created_at': mine,
      '/api/files/': mine,
      '/api/files/?count=1': mine,
      '/api/memberships/': mine,
      '/api/memberships/?filter=project.title == "Project 6"': mine,
      '/api/projects/?filter=tasks.exists(t, t.status == "open")': /tasks:project.id\+id:index/,
      '/api/projects/?filter=size(tasks) > 3': /tasks:project.id\+id:index/,
      '/api/projects/?sort=-size(tasks)': /tasks:project.id\+id:index/,
      '/api/boards/?filter=cards.exists(c, c.id == 5)': /./,
    },
    () => ({ token }),
  )

  check(
    'an admin',
    {
      '/api/projects/?filter=memberships.exists(m, m.user.id == 5)': mine,
      '/api/projects/?filter=memberships.exists(m, m.user.id in [5, 6] %26%26 m.level >= level)': mine,
      '/api/tasks/?filter=project.memberships.exists(m, m.user.id == 5)': mine,
      '/api/projects/?filter=mentions.exists(t, t.id == 5)': /tasks|source=/,
    },
    () => ({}),
  )

  /** Filters that scan until a page is full. The referrers of each row must still be found by an index. */
  test.each([
    'cards.exists(c, c.status == "open")',
    '!cards.exists(c, c.status == "open")',
    'cards.all(c, c.status == "done")',
    'size(cards) > 2',
    'size(cards) == 0',
  ])('a page of those for which %s looks at what refers to each', async (filter) => {
    for (const plan of await plansOf(`/api/boards/?limit=20&filter=${encodeURIComponent(filter)}`, {}))
      expect([plan, /cards:board.id\+id:index/.test(plan), scansIn(plan, ['cards', 'h0', 'h1'])]).toEqual([
        plan,
        true,
        [],
      ])
  })
})
