import { expect, test } from 'bun:test'
import { connect } from '../../client/client.ts'
import { boolean, entity, everyone, integer, list, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore, runs, type TestServer } from '../harness.ts'
import { Replica, type ReplicaOptions } from '../replica.ts'

const all = { create: 'me.type == "admin"' } as const
const declaration = withAdmins({
  users: entity({
    login: { userType: 'user' },
    fields: { team: text({ optional: true }), note: text({ optional: true }) },
    access: { read: 'id == me.id' },
  }),
  projects: entity({
    fields: { title: text(), open: boolean(), owner: ref('users') },
    access: { ...all, read: 'open || owner.id == me.id' },
  }),
  tags: entity({ fields: { name: text(), hot: boolean() }, access: { ...all, read: everyone } }),
  tasks: entity({
    fields: {
      title: text(),
      level: integer(),
      team: text({ optional: true }),
      secret: text({ optional: true, read: 'project.owner.id == me.id' }),
      project: ref('projects', { as: 'tasks', onDelete: 'cascade' }),
      tags: list(ref('tags', { onDelete: 'clear' }), { default: [] }),
    },
    access: {
      ...all,
      read: 'project.open || project.owner.id == me.id || shares.exists(s, s.user.id == me.id) || team == me.team || tags.exists(t, t.hot)',
    },
  }),
  shares: entity({
    fields: { task: ref('tasks', { as: 'shares', onDelete: 'cascade' }), user: ref('users') },
    access: { ...all, read: 'user.id == me.id' },
  }),
  drafts: entity({
    fields: { title: text(), owner: ref('users'), level: integer() },
    access: { ...all, read: 'owner.id == me.id' },
  }),
})
const types = ['projects', 'tags', 'tasks', 'shares', 'drafts'] as const

/** Returns a random generator with a seed. */
function randomFrom(seed: number): (most: number) => number {
  let state = seed * 2_654_435_761 + 1
  return (most) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    return ((state ^ (state >>> 13)) >>> 0) % most
  }
}

/** Makes random writes. */
class Writer {
  readonly #server: TestServer
  readonly #users: readonly number[]
  readonly #random: (most: number) => number
  readonly #ids = new Map<string, number[]>(types.map((name) => [name, []]))
  readonly #operations: string[] = []

  constructor(server: TestServer, users: readonly number[], seed: number) {
    this.#server = server
    this.#users = users
    this.#random = randomFrom(seed)
  }

  #one<T>(list: readonly T[]): T | undefined {
    return list[this.#random(list.length || 1)]
  }

  #some(name: string): number | undefined {
    return this.#one(this.#ids.get(name) ?? [])
  }

  #values(name: string): Record<string, unknown> {
    const owner = { id: this.#one(this.#users) }
    const title = `${name} ${this.#random(1000)}`
    const level = this.#random(6)
    if (name === 'projects') return { title, open: this.#random(3) === 0, owner }
    if (name === 'tags') return { name: title, hot: this.#random(4) === 0 }
    if (name === 'shares') return { task: { id: this.#some('tasks') ?? 0 }, user: owner }
    if (name === 'drafts') return { title, owner, level }
    const tags = [...new Set([this.#some('tags'), this.#some('tags')])].flatMap((id) => (id ? [{ id }] : []))
    const team = this.#one(['red', 'blue', null])
    return { title, level, team, secret: title, project: { id: this.#some('projects') ?? 0 }, tags }
  }

  async #call(method: string, path: string, body?: unknown): Promise<number | undefined> {
    const {
      status,
      headers,
      body: answer,
    } = await this.#server.call(method, path, body === undefined ? {} : { body })
    if (status >= 500) throw new Error(`${method} ${path}: ${status}`)
    const operation = headers.get('Takeback-Operation')
    if (operation !== null) this.#operations.push(operation)
    return status === 201 ? Number(answer.id) : undefined
  }

  async #create(name: string): Promise<void> {
    const id = await this.#call('POST', `/api/${name}/`, this.#values(name))
    if (id !== undefined) this.#ids.get(name)?.push(id)
  }

  #change(): { method: string; path: string; body: unknown } {
    const name = this.#one(types) ?? 'tasks'
    const keys = Object.entries(this.#values(name))
    const body = Object.fromEntries([this.#one(keys) ?? ['title', '']])
    return { method: 'PATCH', path: `/api/${name}/${this.#some(name) ?? 1}/`, body }
  }

  async #act(): Promise<void> {
    const name = this.#one(types) ?? 'tasks'
    const path = `/api/${name}/${this.#some(name) ?? 1}/`
    const kind = this.#random(20)
    if (kind < 6) return this.#create(this.#one([...types, 'tasks', 'shares']) ?? 'tasks')
    const { method, path: changed, body } = this.#change()
    if (kind < 11) await this.#call(method, changed, body)
    else if (kind < 13) await this.#call('DELETE', path)
    else if (kind < 15) await this.#call('DELETE', `${path}?restore=1`)
    else if (kind < 16) await this.#call('DELETE', `${path}?purge=1`)
    else if (kind < 17)
      await this.#call('PATCH', `/api/users/${this.#one(this.#users)}/`, {
        team: this.#one(['red', 'blue', null]),
      })
    else if (kind < 18)
      await this.#call('POST', '/api/batch/', [this.#change(), this.#change(), this.#change()])
    else await this.#call('POST', `/api/operations/${this.#one(this.#operations)}/undo/?skip_conflicts=1`)
  }

  /** Deletes everything for the next run: replicas are one page long. */
  async clear(): Promise<void> {
    for (const name of ['shares', 'tasks', 'projects', 'drafts', 'tags']) {
      const { body } = await this.#server.call('GET', `/api/${name}/?limit=200`)
      const requests = body.data.map(({ id }: { id: number }) => ({
        method: 'DELETE',
        path: `/api/${name}/${id}/`,
      }))
      if (requests.length > 0) await this.#call('POST', '/api/batch/', requests)
    }
  }

  /** Makes several writes at a time. */
  async play(acts: number): Promise<void> {
    for (let done = 0; done < acts; ) {
      const together = 1 + this.#random(4)
      await Promise.all(Array.from({ length: together }, () => this.#act()))
      done += together
    }
  }
}

/** Lists of one client, which share a stream. */
function liveLists(url: string, token: string | undefined): ReplicaOptions[] {
  const api = connect(url, { ...(token !== undefined && { token }) }) as never
  const lists = [
    { entities: ['tasks'] },
    { entities: ['tasks'], filter: 'level >= 3 && project.open' },
    { entities: ['tasks'], filter: 'level < 2' },
    { entities: ['projects'] },
    { entities: ['shares'] },
    { entities: ['drafts'], filter: 'level < 3', fields: 'id,title,version' },
  ]
  return lists.map((list) => ({ ...list, token: token ?? null, way: 'live', api }))
}

const RUNS = runs(15)
const SEED = Number(process.env.TAKEBACK_TEST_SEED ?? Date.now() % 1_000_000)

onEveryStore(
  'a replica',
  declaration,
  (server) => {
    test(
      'that follows the feed of changes is what a fresh list is, whoever follows it, however often it is cut off',
      async () => {
        const password = 'correct horse battery'
        const users = await Promise.all(
          ['ann', 'bob', 'cem'].map((name) =>
            server.user('users', { email: `${name}@example.com`, password, team: 'red' }),
          ),
        )
        const [ann, bob] = users
        const replicaOptions: ReplicaOptions[] = [
          { entities: types, token: server.adminToken, way: 'stream' },
          ...users.map(({ token }): ReplicaOptions => ({ entities: types, token, way: 'stream' })),
          { entities: types, token: ann?.token ?? null, way: 'poll' },
          { entities: ['projects', 'tags', 'tasks'], token: null, way: 'stream' },
          {
            entities: ['tasks'],
            token: bob?.token ?? null,
            filter: 'level >= 3 && project.open',
            way: 'stream',
          },
          { entities: ['tasks'], token: bob?.token ?? null, filter: 'secret != null', way: 'poll' },
          {
            entities: ['tasks'],
            token: server.adminToken,
            filter: 'shares.exists(s, s.user.id > 1)',
            way: 'stream',
          },
          {
            entities: ['drafts'],
            token: bob?.token ?? null,
            filter: 'level < 3',
            fields: 'id,title',
            way: 'stream',
          },
        ]
        for (let run = 0; run < RUNS; run++) {
          const seed = SEED + run
          const random = randomFrom(seed + 7)
          const writer = new Writer(
            server,
            users.map(({ id }) => id),
            seed,
          )
          await writer.play(10)
          const replicas = [...replicaOptions, ...liveLists(server.url, bob?.token)].map(
            (options) => new Replica(server, options),
          )
          const playing = writer.play(30)
          await Promise.all(replicas.map((one) => one.start()))
          for (let cuts = 0; cuts < 8; cuts++) {
            const one = replicas[random(replicas.length)]
            await one?.cut()
            await Bun.sleep(random(20))
            one?.resume()
          }
          await playing
          for (const one of replicas) {
            let wrong: string | undefined
            for (const until = performance.now() + 60_000; performance.now() < until; await Bun.sleep(10)) {
              wrong = await one.difference()
              if (wrong === undefined) break
            }
            if (wrong !== undefined) console.log(`seed ${seed}\n${one.told.join('\n')}`)
            expect(wrong).toBeUndefined()
          }
          await Promise.all(replicas.map((one) => one.cut()))
          await writer.clear()
        }
      },
      600_000 + RUNS * 2000,
    )
  },
  { 'rate-limit': 'writes=off,reads=off' },
)
