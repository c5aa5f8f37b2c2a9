import { afterAll, beforeAll, expect, test } from 'bun:test'
import { check } from '../../src/store/check/check.ts'
import { graph } from '../declarations.ts'
import { FULL_POOL, newDatabase, onEveryStoreByHand, type TestDatabase, TestServer } from '../harness.ts'
import { newFolder } from '../process/process.ts'

const CLIENTS = 12
const ROUNDS = 12
/** Few names, so that clients conflict. */
const NAMES = 30

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)] as T

interface Part {
  readonly method: string
  readonly path: string
  readonly body?: object
}

onEveryStoreByHand('batches of many at once on the same graph', (store) => {
  const ids: Record<'companies' | 'people' | 'papers', number[]> = { companies: [], people: [], papers: [] }
  const operations: string[] = []
  let database: TestDatabase
  let servers: TestServer[]

  beforeAll(async () => {
    database = await newDatabase(store, newFolder())
    const flags = { ...FULL_POOL, 'rate-limit': 'writes=off,reads=off' }
    const first = new TestServer(store, graph, flags, database)
    await first.start()
    // If several servers may share a database, use two, so that they do not wait for each other in one process.
    const second = new TestServer(store, graph, flags, database)
    second.adminToken = first.adminToken
    servers = store === 'sqlite' ? [first] : [first, second]
    if (store !== 'sqlite') await second.start()
    for (let n = 0; n < 12; n++) {
      ids.people.push((await first.expect(201, 'POST', '/api/people/', { name: 'p' })).id)
      ids.companies.push((await first.expect(201, 'POST', '/api/companies/', { name: `c${n}` })).id)
      ids.papers.push((await first.expect(201, 'POST', '/api/papers/', { title: `t${n}`, meta: {} })).id)
    }
  })
  afterAll(async () => {
    for (const server of servers) await server.stop()
    await servers[0]?.remove()
  })

  const ref = (type: keyof typeof ids) => ({ id: pick(ids[type]) })
  const name = () => `n${Math.floor(Math.random() * NAMES)}`
  const some = () => [...new Set([pick(ids.people), pick(ids.people)])].map((id) => ({ id }))
  const change = (type: keyof typeof ids, body: object): Part => ({
    method: 'PATCH',
    path: `/api/${type}/${pick(ids[type])}/`,
    body,
  })
  const changes: (() => Part)[] = [
    () => change('people', { name: name() }),
    () => change('people', { boss: ref('people'), company: ref('companies') }),
    () => change('people', { friends: some() }),
    () => change('companies', { name: name(), lead: ref('people') }),
    () => change('papers', { author: ref('people'), keeper: ref('people'), signers: some() }),
    () => change('papers', { title: name() }),
    () => ({
      method: 'POST',
      path: '/api/papers/',
      body: { title: name(), meta: {}, author: ref('people') },
    }),
    () => ({ method: 'POST', path: '/api/people/', body: { name: name(), twin: ref('people') } }),
  ]
  const removals: (() => Part)[] = [
    () => ({ method: 'DELETE', path: `/api/people/${pick(ids.people)}/` }),
    () => ({ method: 'DELETE', path: `/api/people/${pick(ids.people)}/?restore=1` }),
    () => ({ method: 'DELETE', path: `/api/companies/${pick(ids.companies)}/?restore=1` }),
  ]
  /** A batch whose last part refers to the Entity that the first part creates, or that the second one changes. */
  const chained = (): Part[] => [
    { method: 'POST', path: '/api/people/', body: { name: name(), boss: ref('people') } },
    change('people', { name: name() }),
    {
      method: 'PATCH',
      path: pick(['/api/people/$0.id/', '/api/people/$1.id/']),
      body: { mentor: { id: '$1.id' } },
    },
  ]
  const batchOf = (from: readonly (() => Part)[]): Part[] =>
    Math.random() < 0.15
      ? chained()
      : Array.from({ length: 2 + Math.floor(Math.random() * 4) }, () => pick(from)())

  /** Returns the number of answers, by status and code. */
  async function race(
    move: () => [method: string, path: string, body?: unknown],
  ): Promise<Record<string, number>> {
    const answers: Record<string, number> = {}
    const client = async (who: number) => {
      const server = servers[who % servers.length] as TestServer
      for (let round = 0; round < ROUNDS; round++) {
        const [method, path, body] = move()
        const received = await server.call(method, path, body === undefined ? {} : { body })
        const what = received.status < 300 ? 'done' : `${received.status} ${received.body?.code}`
        answers[what] = (answers[what] ?? 0) + 1
        const operation = received.headers.get('Takeback-Operation')
        if (operation !== null) operations.push(operation)
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, (_, who) => client(who)))
    return answers
  }

  async function expectSound(): Promise<void> {
    const { findings } = await check(await (servers[0] as TestServer).location())
    expect(findings).toEqual([])
  }

  test('creates and updates in any order: all of them are done, or refused for what they say', async () => {
    const answers = await race(() => ['POST', '/api/batch/', batchOf(changes)])
    expect(Object.keys(answers).sort()).toEqual(['422 invalid_data', 'done'])
    await expectSound()
  })

  test('beside deletions, restores and undos, in batches and alone: no 5xx, and all that is left is sound', async () => {
    const single = (part: Part): [string, string, unknown] => [part.method, part.path, part.body]
    const answers = await race(() => {
      const chance = Math.random()
      if (chance < 0.4) return ['POST', '/api/batch/', batchOf(changes)]
      if (chance < 0.55) return ['POST', '/api/batch/', batchOf([...changes, ...removals])]
      if (chance < 0.75) return single(pick(removals)())
      if (chance < 0.85) return single(pick(changes)())
      return ['POST', `/api/operations/${pick(operations.slice(-20))}/undo/`, {}]
    })
    expect(Object.keys(answers).filter((what) => /^5|busy/.test(what))).toEqual([])
    expect(answers.done).toBeGreaterThan(CLIENTS)
    await expectSound()
  })
})
