import { expect } from 'bun:test'
import { app, datetime, entity, integer, list, now, ref, secret, text } from '../src/takeback.ts'
import type { TestResponse, TestServer } from './harness.ts'

const all = 'me != null'
const open = { create: all, read: all, update: all, delete: all, restore: all, purge: all, history: all }
/** What the hook of letters has received. */
export const hooked: string[] = []
export const declaration = app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    companies: entity({ fields: { name: text() }, access: open }),
    users: entity({
      login: { userType: 'user' },
      fields: { company: ref('companies', { onDelete: 'cascade', optional: true }) },
      access: open,
    }),
    rooms: entity({
      fields: {
        title: text({ unique: true }),
        beds: integer({ default: 1 }),
        pin: secret({ optional: true }),
      },
      access: open,
    }),
    bookings: entity({
      fields: {
        name: text(),
        room: ref('rooms', { as: 'bookings', onDelete: 'cascade', optional: true }),
        also: list(ref('rooms', { onDelete: 'clear' }), { optional: true }),
        made_at: datetime({ default: now }),
        edited_at: datetime({ optional: true }),
      },
      set: { update: { edited_at: now } },
      access: open,
    }),
    letters: entity({
      fields: { to: text() },
      access: open,
      before: {
        create: async (given, { api }) => {
          hooked.push(String(given.to))
          if (given.to === 'rooms') await api.rooms.create({ title: 'by a hook' })
          if (given.to === 'system') await api.system.rooms.create({ title: 'by a hook' })
          if (given.to === 'count') given.to = String((await api.rooms.list()).data.length)
        },
      },
    }),
  },
  routes: {
    'GET /api/tally/': { access: all, run: async ({ api }) => ({ n: (await api.rooms.list()).data.length }) },
    'GET /api/sly/': { access: all, run: async ({ api }) => api.system.rooms.create({ title: 'sly' }) },
    'POST /api/do/': { access: all, run: async () => ({}) },
  },
})
const TYPES = ['companies', 'users', 'rooms', 'bookings', 'letters', 'admins']

/** Returns the data that a user has, live and deleted, without versions and times of changes. */
export async function stateOf(server: TestServer): Promise<string> {
  const state: unknown[] = []
  for (const type of TYPES)
    for (const { version: _, updated_at: __, deletion: ___, edited_at: ____, ...row } of await server.query(
      `SELECT * FROM "${type}" ORDER BY id`,
    ))
      if (row.deleted_at === null) state.push([type, row])
  for (const table of [
    'takeback_keys',
    'takeback_links',
    'takeback_tasks',
    'takeback_purges',
    'takeback_sealed',
  ])
    for (const { used_at: _, ...row } of await server.query(`SELECT * FROM "${table}"`))
      state.push([table, row])
  return state
    .map((one) => JSON.stringify(one))
    .sort()
    .join('\n')
}

/** The calls of an agent. */
export class AgentCalls {
  readonly #server: TestServer
  #made = 0

  constructor(server: TestServer) {
    this.#server = server
  }

  title(): string {
    return `room ${++this.#made}`
  }

  room(fields: object = {}): Promise<any> {
    return this.#server.expect(201, 'POST', '/api/rooms/', { title: this.title(), ...fields })
  }

  /** Creates a key of an agent. */
  agent(more: object = {}): Promise<{ key: string; id: number }> {
    return this.#server.expect(201, 'POST', '/api/auth/keys/', { name: 'an agent', agent: true, ...more })
  }

  send(token: string, method: string, path: string, body?: unknown): Promise<TestResponse> {
    return this.#server.call(method, path, { token, ...(body !== undefined && { body }) })
  }

  /** Previews a write, checks that nothing was written, then does it. */
  async write(token: string, method: string, path: string, body?: unknown): Promise<TestResponse> {
    const before = await this.#server.rows('takeback_journal')
    const shown = await this.send(token, method, path, body)
    expect(await this.#server.rows('takeback_journal')).toBe(before)
    if (shown.status !== 200 || path === '/api/may/') return shown
    expect([shown.body.operation, typeof shown.body.plan]).toEqual([null, 'string'])
    expect(shown.headers.get('takeback-operation')).toBeNull()
    return this.send(token, method, withPlan(path, shown.body.plan), body)
  }
}

export function withPlan(path: string, plan: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}plan=${plan}`
}
