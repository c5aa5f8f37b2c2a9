import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { eventually, isDeep, type TestDatabase } from '../harness.ts'
import { example, login, prepared, run, serve } from './process.ts'

const CLIENTS = 8
const DRAIN_S = 2
/** The pause between a client's rounds: together, the clients still keep some requests under way at any time. */
const PAUSE_MS = 20
/** How often a server is killed. */
const ROUNDS = isDeep ? 4 : 2

type Served = Awaited<ReturnType<typeof serve>>

/** Sends requests to healthy servers, as balancers do: another one is tried only if nothing was sent. */
class Balancer {
  readonly #servers = new Map<Served, boolean>()
  #turn = 0
  #over = false
  readonly #watch: Promise<void>

  constructor() {
    this.#watch = this.#look()
  }

  async add(server: Served): Promise<void> {
    this.#servers.set(server, false)
    await eventually(() => this.#servers.get(server) === true)
  }

  remove(server: Served): void {
    this.#servers.delete(server)
  }

  isHealthy(server: Served): boolean {
    return this.#servers.get(server) === true
  }

  async stop(): Promise<void> {
    this.#over = true
    await this.#watch
  }

  async #look(): Promise<void> {
    for (; !this.#over; await Bun.sleep(100))
      for (const server of this.#servers.keys()) {
        const answer = await fetch(`${server.url}/api/health`, {
          headers: { Accept: 'application/json' },
        }).catch(() => undefined)
        if (this.#servers.has(server)) this.#servers.set(server, answer?.status === 200)
      }
  }

  async send(path: string, request: RequestInit): Promise<Response> {
    const healthy = [...this.#servers].filter(([, is]) => is).map(([server]) => server)
    const others = [...this.#servers.keys()].filter((server) => !healthy.includes(server))
    const first = this.#turn++ % Math.max(1, healthy.length)
    for (const { url } of [...healthy.slice(first), ...healthy.slice(0, first), ...others])
      try {
        return await fetch(url + path, request)
      } catch (error) {
        if ((error as { code?: string }).code !== 'ECONNREFUSED') throw error
      }
    throw new Error('no server is there')
  }
}

/** A client that writes all the time, and records what was acknowledged. */
class Client {
  readonly #balancer: Balancer
  readonly #headers: Record<string, string>
  readonly #name: number
  /** The number of beds in the last answer, by id. */
  readonly acknowledged = new Map<number, number>()
  /** Everything that went wrong. */
  readonly lost: string[] = []
  sent = 0

  constructor(balancer: Balancer, headers: Record<string, string>, name: number) {
    this.#balancer = balancer
    this.#headers = headers
    this.#name = name
  }

  async runUntil(isOver: () => boolean): Promise<void> {
    for (; !isOver(); await Bun.sleep(PAUSE_MS)) {
      const title = `${this.#name} ${this.sent}`
      const id = (await this.#send('POST', '/api/rooms/', { title, beds: 1 }))?.id
      if (id === undefined) continue
      this.acknowledged.set(id, 1)
      const changed = await this.#send('PATCH', `/api/rooms/${id}/`, { beds: 2 })
      if (changed !== undefined) this.acknowledged.set(id, 2)
      const read = await this.#send('GET', `/api/rooms/${id}/`)
      // A change may have been made without an answer.
      const told = this.acknowledged.get(id) ?? 0
      if (read !== undefined && (read.beds ?? 0) < told) this.lost.push(`read of ${id}`)
    }
  }

  async #send(method: string, path: string, body?: unknown): Promise<Record<string, number> | undefined> {
    this.sent++
    try {
      const answer = await this.#balancer.send(path, {
        method,
        headers: this.#headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      if (answer.ok) return JSON.parse(text)
      this.lost.push(`${method} ${answer.status} ${text}`)
    } catch (error) {
      this.lost.push(`${method} ${(error as { code?: string }).code ?? error}`)
    }
    return undefined
  }
}

const start = (database: TestDatabase, config: string) =>
  serve(
    [
      ...['--config', config, '--database', database.url, '--log', 'json'],
      ...['--rate-limit', 'writes=off,reads=off', '--drain', `${DRAIN_S}`],
    ],
    { direct: true, env: { TAKEBACK_DRAIN: '' } },
  )

/** Starts clients that write through the balancer until stopped. */
function startClients(balancer: Balancer, headers: Record<string, string>) {
  let over = false
  const clients = Array.from({ length: CLIENTS }, (_, name) => new Client(balancer, headers, name))
  const running = clients.map((client) => client.runUntil(() => over))
  const sent = () => clients.reduce((sum, client) => sum + client.sent, 0)
  return {
    /** Waits for this many more requests. */
    async later(requests: number) {
      const before = sent()
      await eventually(() => sent() > before + requests)
    },
    async stop() {
      over = true
      await Promise.all(running)
    },
    lost: () => clients.flatMap(({ lost }) => lost),
    acknowledged: () => clients.flatMap((client) => [...client.acknowledged]).sort(([a], [b]) => a - b),
  }
}

test('a server takes over an SQLite file from another one, and no request is lost', async () => {
  const { database, folder } = await preparedFile()
  // The second server has one more field, and the first one keeps running beside it.
  const grown = join(folder, 'grown.config.ts')
  const declared = readFileSync(example, 'utf8')
  writeFileSync(grown, declared.replace('beds: ', 'floor: integer({ optional: true }), beds: '))
  const balancer = new Balancer()
  let current = await start(database, example)
  await balancer.add(current)
  const clients = startClients(balancer, await login(current.url))
  await clients.later(100)
  for (let takeover = 0; takeover < (isDeep ? 3 : 2); takeover++) {
    const next = await start(database, grown)
    await balancer.add(next)
    // Both run for a while.
    await clients.later(200)
    const ended = current.end('SIGTERM')
    await eventually(() => !balancer.isHealthy(current))
    await clients.later(100)
    expect(await ended).toBe(0)
    balancer.remove(current)
    await clients.later(100)
    current = next
  }
  await clients.stop()
  await balancer.stop()
  expect(clients.lost()).toEqual([])
  expect(await current.end('SIGTERM')).toBe(0)
  const rows = await database.query('SELECT id, beds FROM rooms ORDER BY id')
  expect(rows.map(({ id, beds }) => [id, beds])).toEqual(clients.acknowledged())
  await expectWhole(database)
})

test('a server that is killed beside another one on the same SQLite file takes nothing along', async () => {
  const { database } = await preparedFile()
  const balancer = new Balancer()
  const servers = [await start(database, example), await start(database, example)]
  for (const server of servers) await balancer.add(server)
  const clients = startClients(balancer, await login(servers[0]?.url ?? ''))
  for (let round = 0; round < ROUNDS; round++) {
    await clients.later(200)
    const [killed] = servers.splice(0, 1)
    if (killed === undefined) throw new Error('nobody is there')
    await killed.end('SIGKILL')
    balancer.remove(killed)
    await clients.later(100)
    const next = await start(database, example)
    servers.push(next)
    await balancer.add(next)
  }
  await clients.stop()
  await balancer.stop()
  // Requests that the killed servers were running got no answer, and neither did those on idle connections to them: one
  // for each client, and one for the balancer. Nobody else noticed.
  expect(clients.lost().filter((one) => /\d{3}|read/.test(one))).toEqual([])
  expect(clients.lost().length).toBeLessThanOrEqual(ROUNDS * (CLIENTS + 1))
  for (const server of servers) expect(await server.end('SIGTERM')).toBe(0)
  const rows = await database.query('SELECT id, beds FROM rooms ORDER BY id')
  const beds = new Map(rows.map((row) => [Number(row.id), Number(row.beds)]))
  // A change may have been made without an answer.
  const missing = clients.acknowledged().filter(([id, told]) => (beds.get(id) ?? 0) < told)
  expect(missing).toEqual([])
  await expectWhole(database)
})

async function preparedFile(): Promise<{ database: TestDatabase; folder: string }> {
  const { database } = await prepared('sqlite')
  return { database, folder: dirname(database.url.replace('sqlite:', '')) }
}

async function expectWhole(database: TestDatabase): Promise<void> {
  const { code, err } = await run(['check', '--database', database.url])
  expect([code, err]).toEqual([0, ''])
  await database.remove()
}
