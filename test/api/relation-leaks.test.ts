import { beforeAll, expect } from 'bun:test'
import { boolean, choice, entity, everyone, integer, list, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { giant, onEveryStore, sample, sampleStart } from '../harness.ts'

/*
 * Hidden data cannot be asked about: any question about referrers gets the same answer, byte for byte, whatever the
 * hidden data is.
 */

const mine = 'user.id == me.id'
const staff = 'me.type == "staff"'

const leaks = withAdmins({
  staff: entity({ login: { userType: 'staff' }, fields: {} }),
  users: entity({ login: { userType: 'user' }, fields: { name: text() }, access: { read: everyone } }),
  projects: entity({ fields: { title: text() }, access: { read: everyone } }),
  tasks: entity({
    fields: {
      status: choice(['open', 'done'], { default: 'open' }),
      points: integer({ optional: true }),
      tags: list(text(), { default: [], max: 20 }),
      project: ref('projects', { as: 'tasks', onDelete: 'cascade' }),
      user: ref('users', { as: 'tasks', optional: true }),
      also: list(ref('projects', { as: 'mentions', onDelete: 'clear' }), {
        default: [],
        read: mine,
        max: 20,
      }),
      up: ref('tasks', { as: 'parts', optional: true }),
      own: integer({ optional: true, read: mine }),
      hidden: integer({ optional: true, read: staff }),
      public: boolean({ default: false }),
    },
    // Who may read it depends on its referrers, too.
    access: { read: `public || ${mine} || project.votes.exists(v, v.user.id == me.id)` },
  }),
  votes: entity({
    fields: {
      project: ref('projects', { as: 'votes', read: mine, onDelete: 'cascade' }),
      user: ref('users', { as: 'votes' }),
      weight: integer({ default: 1 }),
    },
    access: { read: everyone },
  }),
  audits: entity({
    fields: {
      project: ref('projects', { as: 'audits', onDelete: 'cascade' }),
      task: ref('tasks', { as: 'audits', optional: true, onDelete: 'clear' }),
    },
    access: { read: staff },
  }),
})

const values = (of: string) => [
  'true',
  `${of}.status == "open"`,
  `${of}.points > 2`,
  `${of}.points == null`,
  `${of}.own == 7`,
  `${of}.own == null`,
  `${of}.hidden == 7`,
  `"a" in ${of}.tags`,
  `${of}.tags.exists(x, x == "a")`,
  `${of}.user.name == "ann"`,
  `${of}.user.id == 1`,
  `${of}.user.id == me.id`,
  `${of}.up.points == 3`,
  `size(${of}.parts) > 0`,
  `${of}.parts.exists(p, p.points > 2)`,
  `size(${of}.audits) > 0`,
  `${of}.project.votes.exists(v, v.weight > 1)`,
  `size(${of}.project.votes) > 0`,
  `2 in ${of}.also`,
  `size(${of}.also) > 0`,
  `${of}.id > 5`,
]
const filters = [
  ...['tasks', 'mentions'].flatMap((name) =>
    values('t').flatMap((value) => [
      `${name}.exists(t, ${value})`,
      `!${name}.exists(t, ${value})`,
      `${name}.all(t, ${value})`,
      `(${name}.exists(t, ${value}) ? 1 : 2) == 2`,
    ]),
  ),
  ...['tasks', 'mentions', 'votes', 'audits', 'me.tasks'].flatMap((name) =>
    [
      `size(${name}) == 0`,
      `size(${name}) > 1`,
      `size(${name}) in [1, 2]`,
      `${name}.exists(x, x.id > 3)`,
    ].concat(`!${name}.exists(x, x.id == 4)`),
  ),
  'votes.exists(v, v.weight == 5)',
  'me.tasks.exists(t, t.project.id == id)',
  '!me.votes.exists(v, v.project.id == id && v.weight == 1)',
]
const sorts = ['tasks', 'mentions', 'votes', 'audits'].flatMap((name) => [`size(${name})`, `-size(${name})`])

onEveryStore('leaks over referrers', leaks, (server) => {
  let eve = { id: 0, token: '' }
  let ann = { id: 0, token: '' }
  const add = (type: string, body: object) => server.expect(201, 'POST', `/api/${type}/`, body)

  beforeAll(async () => {
    ann = await server.user('users', { email: 'ann@example.com', name: 'ann' })
    eve = await server.user('users', { email: 'eve@example.com', name: 'eve' })
    for (let at = 1; at <= 5; at++) await add('projects', { title: `p${at}` })
    for (let at = 1; at <= 5; at++) {
      const project = { id: at }
      await add('tasks', {
        project,
        points: at,
        public: at % 2 === 0,
        user: { id: ann.id },
        own: at,
        also: [{ id: 2 }],
      })
      await add('tasks', {
        project,
        points: at,
        public: true,
        tags: ['a'],
        user: { id: eve.id },
        own: 7,
        also: [{ id: 1 }],
      })
    }
    await add('votes', { project: { id: 1 }, user: { id: eve.id } })
  })

  /** Asks everything that a caller can ask, and returns the answers. */
  async function answers(token: string | null): Promise<string[]> {
    const asked = [
      ...sample(filters, 2, sampleStart(server.store)).flatMap((filter) => [
        `?limit=200&count=1&filter=${encodeURIComponent(filter)}`,
        `summary/?filter=${encodeURIComponent(filter)}`,
      ]),
      ...sorts.flatMap((sort) => [`?limit=200&sort=${sort}`, `?limit=2&sort=${sort}`]),
    ]
    const told: string[] = []
    for (const path of asked) {
      const { status, text: body } = await server.call('GET', `/api/projects/${path}`, { token })
      told.push(`${decodeURIComponent(path)} ${status} ${body}`)
    }
    return told
  }

  giant('nothing that is asked tells what is hidden', async () => {
    const people = [eve.token, null]
    const before = await Promise.all(people.map(answers))
    expect(new Set(before.flat().map((one) => one.replace(/^\S+ /, ''))).size).toBeGreaterThan(40)
    // Adds hidden data of all kinds: tasks of others that are not public, votes, fields and audits.
    for (let at = 2; at <= 5; at++) {
      const hidden = { project: { id: at }, user: { id: ann.id }, points: 9, own: 7, hidden: 7, tags: ['a'] }
      const { id } = await add('tasks', { ...hidden, also: [{ id: 1 }, { id: at }], up: { id: 2 * at } })
      await add('votes', { project: { id: at }, user: { id: ann.id }, weight: 5 })
      await add('audits', { project: { id: at }, task: { id } })
    }
    const { data } = await server.expect(200, 'GET', `/api/tasks/?limit=200&user.id=${ann.id}`)
    for (const { id } of data)
      await server.expect(200, 'PATCH', `/api/tasks/${id}/`, { own: 7, hidden: 7, also: [{ id: 3 }] })
    const after = await Promise.all(people.map(answers))
    expect(after).toEqual(before)
    // A caller who may see it gets other answers.
    expect(await answers(ann.token)).not.toEqual(before[0] ?? [])
  })
})
