import { afterAll, beforeAll } from 'bun:test'
import {
  cel,
  choice,
  decimal,
  entity,
  everyone,
  forbidden,
  integer,
  invalid,
  json,
  list,
  me,
  object,
  ref,
  secret,
  signedIn,
  text,
} from '../src/takeback.ts'
import { users, withAdmins } from './declarations.ts'
import {
  onEveryStoreByHand,
  operationOf,
  type TestRequest,
  type TestResponse,
  TestServer,
} from './harness.ts'

const tracker = withAdmins({
  users,
  projects: entity({ fields: { name: text() }, access: { read: everyone, delete: signedIn } }),
  tags: entity({ fields: { name: text() }, access: { read: everyone } }),
  tasks: entity({
    fields: {
      title: text({ search: true, optional: true }),
      run: text({ default: '' }),
      number: integer({ unique: true, optional: true }),
      status: choice(['open', 'done'], { default: 'open' }),
      points: integer({ min: 0, default: 0 }),
      price: decimal({ optional: true }),
      project: ref('projects', { optional: true, onDelete: 'cascade' }),
      parent: ref('tasks', { optional: true, onDelete: 'restrict', as: 'children' }),
      related: ref('tasks', { optional: true, onDelete: 'clear' }),
      tags: list(ref('tags'), { default: [], max: 3 }),
      place: object({ city: text(), floor: integer({ default: 1 }) }, { optional: true }),
      extra: json({ optional: true }),
      key: secret({ optional: true }),
      hidden: integer({ default: 5, min: 0, read: 'me.type == "admin"', write: 'me.type == "admin"' }),
      locked: text({ default: 'no', write: 'status == "open"' }),
      owner: text({ default: 'all' }),
    },
    check: [
      { that: 'points <= 100 || status == "done"', at: 'points', says: 'must be at most 100 unless done' },
    ],
    access: {
      create: signedIn,
      read: 'owner == "all" || owner == "shown" || me.type == "admin"',
      update: 'owner == "all" && next.points != 13',
      delete: 'owner == "all"',
      restore: signedIn,
    },
  }),
  orders: entity({
    fields: {
      name: text(),
      count: integer({ default: 0, min: 0 }),
      label: text({ optional: true, search: true, sort: 'fold' }),
      twice: integer({ optional: true, read: 'me.type == "admin"' }),
      editor: ref('users', { optional: true, read: 'me.type == "admin"' }),
      checked: text({ optional: true, read: 'me.type == "admin"', write: 'me.type == "admin"' }),
    },
    set: { update: { twice: cel('count == 2 ? 4 : 0'), label: cel('name'), editor: me } },
    before: {
      update(changes, { before }) {
        if (before.name === 'refused') throw invalid({ count: 'is fixed' })
        return { ...changes, checked: `${before.count} to ${changes.count}` }
      },
      delete({ name }) {
        if (name === 'refused') throw forbidden('It is kept.')
      },
    },
    access: { create: signedIn, read: signedIn, update: signedIn, delete: signedIn },
  }),
  notes: entity({
    fields: { task: ref('tasks', { onDelete: 'cascade' }), text: text({ default: '' }) },
    access: { read: everyone },
  }),
})

export type Task = Record<string, unknown> & { id: number; version: number }

/** A server with tasks, and the calls that tests of writes by a filter need. */
export class Tracker {
  readonly server: TestServer
  readonly store: string
  /** The token of a user who is no admin. */
  token = ''
  #runs = 0

  constructor(store: string) {
    this.store = store
    this.server = new TestServer(store, tracker)
  }

  async start(): Promise<void> {
    await this.server.start()
    this.token = (await this.server.user('users', { email: 'u@example.com' })).token
  }

  /** Creates tasks. Returns their ids, and a filter that finds them. */
  async make(...bodies: object[]): Promise<{ ids: number[]; where: string }> {
    const run = `r${++this.#runs}`
    const body = bodies.map((one) => ({ run, ...one }))
    const { data } = await this.server.expect(201, 'POST', '/api/tasks/', body)
    return { ids: data.map(({ id }: Task) => id), where: `run == "${run}"` }
  }

  path(filter: string, more = ''): string {
    return `/api/tasks/?filter=${encodeURIComponent(filter)}${more}`
  }

  patch(filter: string, body: unknown, more = '', sent: TestRequest = {}): Promise<TestResponse> {
    return this.server.call('PATCH', this.path(filter, more), { ...sent, body })
  }

  remove(filter: string, more = '', sent: TestRequest = {}): Promise<TestResponse> {
    return this.server.call('DELETE', this.path(filter, more), sent)
  }

  get(id: number | undefined): Promise<Task> {
    return this.server.expect(200, 'GET', `/api/tasks/${id}/`)
  }

  async all(filter: string): Promise<Task[]> {
    return (await this.server.expect(200, 'GET', this.path(filter, '&limit=200'))).data
  }

  undo(received: TestResponse): Promise<unknown> {
    return this.server.expect(200, 'POST', `/api/operations/${operationOf(received)}/undo/`)
  }
}

/** Runs the tests once for each database. */
export function withTracker(feature: string, tests: (tasks: Tracker, server: TestServer) => void): void {
  onEveryStoreByHand(feature, (store) => {
    const tasks = new Tracker(store)
    beforeAll(() => tasks.start())
    afterAll(() => tasks.server.remove())
    tests(tasks, tasks.server)
  })
}
