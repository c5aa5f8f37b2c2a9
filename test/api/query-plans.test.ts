import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Bound } from '../../src/store/dialect.ts'
import { choice, datetime, entity, integer, list, object, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { isDeep, onEveryStoreByHand, TestServer } from '../harness.ts'
import { fillTable, planOf, recordStatements, scansIn, valuesOf } from '../plans.ts'

const mine = 'company.id == me.company.id'

const declaration = withAdmins({
  companies: entity({ fields: { name: text() }, access: { read: 'id == me.company.id' } }),
  users: entity({
    login: { userType: 'user' },
    fields: { company: ref('companies', { optional: true }) },
    access: { read: 'id == me.id || company.id == me.company.id' },
  }),
  rooms: entity({
    fields: { title: text(), company: ref('companies') },
    access: { read: mine },
    index: [['title']],
  }),
  visits: entity({
    fields: {
      company: ref('companies', { as: 'visits' }),
      owner: ref('users', { as: 'visits' }),
      room: ref('rooms', { as: 'visits' }),
      status: choice(['open', 'held', 'paid']),
      starts_at: datetime(),
      code: text(),
      guests: integer(),
    },
    access: { read: mine },
    index: [
      ['company.id', '-starts_at'],
      ['company.id', 'status', '-starts_at'],
      ['code'],
      ['status', '-starts_at'],
    ],
  }),
  // Readable if they are one's own, or of one's company.
  tickets: entity({
    fields: {
      owner: ref('users'),
      company: ref('companies'),
      code: text(),
      label: text({ sort: 'fold' }),
    },
    access: { read: 'owner.id == me.id || company.id == me.company.id' },
    index: [['code'], ['label']],
  }),
  projects: entity({
    fields: { name: text(), members: list(ref('users'), { default: [] }) },
    access: { read: 'me.id in members' },
  }),
  rosters: entity({
    fields: {
      name: text(),
      people: list(object({ user: ref('users'), role: choice(['owner', 'reader']) }), { default: [] }),
    },
    access: { read: 'people.exists(p, p.user.id == me.id && p.role == "owner")' },
  }),
  tasks: entity({
    fields: { title: text(), project: ref('projects'), public: integer() },
    access: { read: 'me.id in project.members' },
  }),
})

/** Tables that are too large for a full scan. */
const large = ['visits', 'tickets', 'projects', 'rosters', 'tasks', 'rooms']
const VISITS = isDeep ? 60_000 : 30_000
const COMPANIES = 200
const USERS = 1000
const ROOMS = 4000
const PROJECTS = 5000

onEveryStoreByHand('plans of queries', (store) => {
  const server = new TestServer(store, declaration)
  let token = ''
  const sqlite = store === 'sqlite'
  const time = sqlite
    ? "strftime('%Y-%m-%dT%H:%M:%fZ', 1700000000 + (i * 7919) % 50000, 'unixepoch')"
    : 'to_timestamp(1700000000 + (i * 7919) % 50000)'

  const fill = (table: string, rows: number, columns: Record<string, string>) =>
    fillTable(server, { store, table, rows, time }, columns)

  beforeAll(async () => {
    await server.start()
    await fill('companies', COMPANIES, { name: "'Company ' || i" })
    const user = await server.user('users', { email: 'ann@example.com', company: { id: 7 } })
    token = user.token
    await fill('users', USERS, {
      email: "'user' || i || '@example.com'",
      email_key: "'user' || i || '@example.com'",
      password: "'none'",
      token_epoch: '0',
      'company.id': `1 + i % ${COMPANIES}`,
    })
    await fill('rooms', ROOMS, { title: "'Room ' || i", 'company.id': `1 + i % ${COMPANIES}` })
    await fill('visits', VISITS, {
      'company.id': `1 + i % ${COMPANIES}`,
      'owner.id': `1 + i % ${USERS}`,
      'room.id': `1 + i % ${ROOMS}`,
      status: "CASE i % 3 WHEN 0 THEN 'open' WHEN 1 THEN 'held' ELSE 'paid' END",
      starts_at: time,
      code: "'code ' || i",
      guests: 'i % 20',
    })
    await fill('tickets', 20_000, {
      'company.id': `1 + i % ${COMPANIES}`,
      'owner.id': `1 + i % ${USERS}`,
      code: "'code ' || i",
      label: "'Étage ' || i",
      'label^': "'etage ' || i",
    })
    const members = `'[{"id":' || (1 + i % ${USERS}) || '},{"id":' || (1 + (i * 7 + 1) % ${USERS}) || '}]'`
    await fill('projects', PROJECTS, {
      name: "'Project ' || i",
      members: sqlite
        ? members
        : `CASE WHEN (1 + i % ${USERS}) = (1 + (i * 7 + 1) % ${USERS}) THEN '[]' ELSE ${members} END::json`,
    })
    const people = `'[{"user":{"id":' || (1 + i % ${USERS}) || '},"role":"owner"}]'`
    await fill('rosters', PROJECTS, { name: "'Roster ' || i", people: sqlite ? people : `(${people})::json` })
    await fill('tasks', 20_000, { title: "'Task ' || i", 'project.id': `1 + i % ${PROJECTS}`, public: '0' })
    if (!sqlite) await server.query('ANALYZE')
  })
  afterAll(() => server.remove())

  /** Returns the query plans of all statements on large tables. */
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
    // One after the other: they share a connection.
    for (const one of statements) plans.push(await planOf(store, query, one.statement.text, valuesOf(one)))
    return plans
  }

  const check = (who: string, paths: Record<string, RegExp | undefined>, sent: () => { token?: string }) => {
    for (const [path, found] of Object.entries(paths))
      test(`${who}: ${path}`, async () => {
        for (const plan of await plansOf(path, sent())) {
          expect([plan, scansIn(plan, ['t', 'e1', 'w', ...large])]).toEqual([plan, []])
          if (found !== undefined) expect(plan).toMatch(found)
        }
      })
  }

  check(
    'a member',
    {
      '/api/visits/': /visits:company.id\+id:index/,
      '/api/visits/?count=1': /company.id/,
      '/api/visits/?count=1&status=open': /company.id/,
      '/api/visits/?sort=-starts_at': /visits:company.id\+-starts_at:sort/,
      '/api/visits/?sort=starts_at': /visits:company.id\+-starts_at:sort/,
      '/api/visits/?sort=-starts_at&expand=room&filter=status == "open" %26%26 guests > 3':
        /visits:company.id\+status\+-starts_at:sort/,
      '/api/visits/?sort=room.title': /company.id/,
      '/api/visits/?filter=room.title == "Room 6"': /rooms:title:sort/,
      '/api/visits/?filter=owner.id == me.id': /visits:owner.id\+id:index/,
      '/api/visits/?filter=code.startsWith("code 123")': undefined,
      '/api/visits/6/?expand=room,owner': undefined,
      '/api/rooms/6/?expand=visits': /visits:room.id\+id:index/,
      '/api/rooms/6/?expand=visits(sort=-starts_at;limit=5)': /visits:room.id\+id:index/,
      '/api/rooms/?expand=visits(filter=status == "open";sort=-starts_at;limit=5;fields=code)':
        /visits:room.id\+id:index/,
      '/api/projects/': /projects.members:target\+source:index/,
      '/api/projects/?count=1': /projects.members:target\+source:index/,
      '/api/projects/?sort=-created_at': /projects.members:target\+source:index/,
      '/api/rosters/': /rosters.people:target\+source:index/,
      '/api/rosters/?sort=-created_at&count=1': /rosters.people:target\+source:index/,
      '/api/tasks/': /tasks:project.id\+id:index/,
      '/api/tasks/?count=1': /tasks:project.id\+id:index/,
      '/api/tickets/summary/?count=1': /tickets:owner.id\+id:index/,
      '/api/tickets/?sort=code': /tickets:owner.id\+id:index/,
      '/api/tickets/': /tickets:owner.id\+id:index/,
      '/api/tickets/?limit=5&filter=id > 500': /tickets:company.id\+id:index/,
      '/api/visits/summary/?group=status&count=1': /company.id/,
      '/api/visits/summary/?group=room.id&sum=guests': /company.id/,
    },
    () => ({ token }),
  )

  check(
    'an admin',
    {
      '/api/companies/5/?expand=visits(sort=-starts_at;limit=3)': /visits:company.id\+-starts_at:sort/,
      '/api/projects/5/?expand=members(sort=email;limit=3)': undefined,
      '/api/visits/?owner.id=5': /visits:owner.id\+id:index/,
      '/api/visits/?filter=company.id == 5': /visits:company.id\+id:index/,
      '/api/visits/?filter=owner.id == 5&sort=-starts_at': /visits:owner.id\+id:index/,
      '/api/visits/?filter=owner.id == 5 || room.id == 6': /visits:owner.id\+id:index/,
      '/api/visits/?filter=code == "code 6"': /visits:code:sort/,
      '/api/visits/?filter=code in ["code 6", "code 206"]': /visits:code:sort/,
      '/api/visits/?filter=code.startsWith("code 123")&sort=code': /visits:code:sort/,
      '/api/visits/?filter=status == "open"&sort=-starts_at': /visits:status\+-starts_at:sort/,
      '/api/visits/?filter=room.title == "Room 6"': /visits:room.id\+id:index/,
      '/api/visits/?filter=room.title == "Room 6"&count=1': /visits:room.id\+id:index/,
      '/api/visits/?filter=room.title in ["Room 6", "Room 7"]&sort=-starts_at': /visits:room.id\+id:index/,
      '/api/tickets/?filter=fold(label) == "ETAGE 6"': /tickets:label\^:sort/,
      '/api/tickets/?filter=fold(label) in ["etage 6", "Étage 7"]': /tickets:label\^:sort/,
      '/api/tickets/?filter=fold(label).startsWith("étage 123")&sort=label': /tickets:label\^:sort/,
      '/api/projects/?filter=5 in members': /projects.members:target\+source:index/,
      '/api/rosters/?filter=people.exists(p, p.role == "owner" %26%26 p.user.id == 5)':
        /rosters.people:target\+source:index/,
      '/api/tasks/?filter=5 in project.members': /tasks:project.id\+id:index/,
      '/api/visits/summary/?group=status&count=1&owner.id=5': /visits:owner.id\+id:index/,
    },
    () => ({}),
  )
})
