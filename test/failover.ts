import { expect } from 'bun:test'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { eventually } from './harness.ts'
import { example, LOGIN, login, run, serve } from './process/process.ts'
import { Wire } from './wire.ts'

/** A primary that answers only once its standby has what it wrote, and that standby. */
interface Pair {
  readonly primary: { readonly url: string; readonly pid: number }
  readonly standby: { readonly url: string }
  stop(): Promise<void>
}

async function startPair(): Promise<Pair> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'postgres-pair.ts')], {
    cwd: tmpdir(),
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
    detached: true,
  })
  child.unref()
  const { value } = await child.stdout.getReader().read()
  if (value === undefined) throw new Error(`no pair could be started: ${await child.stderr.text()}`)
  return {
    ...JSON.parse(new TextDecoder().decode(value)),
    async stop() {
      await child.stdin.end()
      await child.exited
    },
  }
}

/** Asks one of the two directly; if told so, until it answers this. */
async function ask(url: string, text: string, until: (rows: any) => boolean = () => true): Promise<any> {
  const sql = new SQL(url, { max: 1 })
  try {
    for (;;) {
      const rows = await sql.unsafe(text)
      if (until(rows)) return rows
      await Bun.sleep(50)
    }
  } finally {
    await sql.close()
  }
}

/** A room as a client was told that it stands: whatever was acknowledged must be there, and nothing twice. */
interface Room {
  readonly id: number
  readonly title: string
  /** The version of the last write that was acknowledged. */
  version: number
  /** Writes that were answered 503: done or not. */
  unknown: number
}

/** Between the rounds of a client, so that the machine is not busy with nothing else. */
const PAUSE_MS = 50

/** Clients that create, change and batch all the time, and know what was acknowledged. */
class Clients {
  readonly rooms: Room[] = []
  readonly statuses = new Set<number>()
  acknowledged = 0
  #running = true
  #serial = 0
  readonly #url: string
  readonly #headers: Record<string, string>
  readonly #all: Promise<void>[]

  constructor(url: string, headers: Record<string, string>) {
    this.#url = url
    this.#headers = headers
    this.#all = Array.from({ length: 8 }, (_, who) => this.#run(who))
  }

  async #send(method: string, path: string, body: unknown): Promise<{ status: number; body: any }> {
    const response = await fetch(this.#url + path, {
      method,
      headers: this.#headers,
      body: JSON.stringify(body),
    })
    this.statuses.add(response.status)
    const received = { status: response.status, body: await response.json() }
    if (response.ok) this.acknowledged++
    else await Bun.sleep(100)
    return received
  }

  async #run(who: number): Promise<void> {
    for (; this.#running; await Bun.sleep(PAUSE_MS)) {
      const title = `${who} ${++this.#serial}`
      const made = await this.#send('POST', '/api/rooms/', { title, beds: 1 })
      if (made.status !== 201) continue
      const room: Room = { id: made.body.id, title, version: 1, unknown: 0 }
      this.rooms.push(room)
      const path = `/api/rooms/${room.id}/`
      const patched = await this.#send('PATCH', path, { beds: 2 })
      if (patched.status === 200) room.version = patched.body.version
      else room.unknown++
      const parts = [2, 3].map((beds) => ({ method: 'PATCH', path, body: { beds: beds + 1 } }))
      const batched = await this.#send('POST', '/api/batch/', parts)
      if (batched.status === 200) room.version = batched.body.results[1].body.version
      else room.unknown += 2
    }
  }

  async more(than = 100): Promise<void> {
    const goal = this.acknowledged + than
    await eventually(() => this.acknowledged >= goal)
  }

  async stop(): Promise<void> {
    this.#running = false
    await Promise.all(this.#all)
  }

  /** Rooms that are not among the rows as they were acknowledged. */
  lost(rows: readonly { title: string; version: number | string }[]): Room[] {
    const versions = Map.groupBy(rows, ({ title }) => title)
    return this.rooms.filter(({ title, version, unknown }) => {
      const [found, ...twice] = versions.get(title) ?? []
      const seen = Number(found?.version ?? 0)
      return twice.length > 0 || seen < version || seen > version + unknown
    })
  }
}

async function health(url: string): Promise<number> {
  return (await fetch(`${url}/api/health`, { headers: { Accept: '*/*' } })).status
}

/** How the primary is lost: it is killed, or its network is cut and it goes on. */
export type Loss = 'killed' | 'cut off'

type Server = Awaited<ReturnType<typeof serve>>

/** A server on a primary and its standby, with a way to the primary that can be cut. */
class Stage {
  readonly #pair: Pair
  readonly #wire: Wire
  /** Both of them, as a server is given them. */
  readonly #database: readonly string[]
  readonly #servers: Server[] = []

  private constructor(pair: Pair, wire: Wire, hosts: readonly string[]) {
    this.#pair = pair
    this.#wire = wire
    const { username, password } = new URL(pair.standby.url)
    const address = `postgres://${username}:${password}@${hosts.join()}/app`
    this.#database = ['--database', `${address}?target_session_attrs=read-write`]
  }

  /** The order in which an address names them. */
  static async set(first: 'primary' | 'standby'): Promise<Stage> {
    const pair = await startPair()
    const { hostname, port } = new URL(pair.primary.url)
    const wire = new Wire(hostname, Number(port))
    const hosts = [`127.0.0.1:${await wire.listen()}`, new URL(pair.standby.url).host]
    const stage = new Stage(pair, wire, first === 'primary' ? hosts : hosts.reverse())
    const states = 'SELECT sync_state FROM pg_stat_replication'
    await ask(pair.primary.url, states, ([first]) => first?.sync_state === 'sync')
    await ask(pair.primary.url, 'CREATE DATABASE app')
    const admin = ['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password]
    expect((await run([...admin, '--config', example, ...stage.#database])).code).toBe(0)
    return stage
  }

  /** With so many seconds for a statement and for a connection. */
  async serve(seconds: number): Promise<Server> {
    const times = ['statement', 'connect'].flatMap((what) => [`--${what}-timeout`, `${seconds}`])
    const limits = [...times, '--rate-limit', 'writes=off']
    const server = await serve(['--config', example, ...this.#database, ...limits], { direct: true })
    this.#servers.push(server)
    return server
  }

  lose(loss: Loss): void {
    if (loss === 'killed') process.kill(this.#pair.primary.pid, 'SIGKILL')
    else this.#wire.silence()
  }

  /** When it has happened. */
  async promote(): Promise<number> {
    await this.ask('SELECT pg_promote()')
    return performance.now()
  }

  /** If it still runs, it does not know that it has a successor. */
  oldPrimaryComesBack(): void {
    this.#wire.heal()
  }

  /** Of the former standby. */
  ask(text: string): Promise<any> {
    return ask(this.#pair.standby.url.replace(/[^/]*$/, 'app'), text)
  }

  async check(): Promise<void> {
    const { code, err } = await run(['check', ...this.#database])
    expect([code, err]).toEqual([0, ''])
  }

  async clear(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.end('SIGKILL')))
    this.#wire.close()
    await this.#pair.stop()
  }
}

/**
 * The primary is lost under load, and the standby promoted: nothing but 503 in between, and all that was ever
 * acknowledged is there afterwards. Tells how long the server took to be back after the promotion, in milliseconds.
 */
export async function failOver(loss: Loss): Promise<number> {
  // What is cut off comes back: it must not be taken for coming first.
  const stage = await Stage.set(loss === 'killed' ? 'standby' : 'primary')
  try {
    // Who is cut off is noticed by nothing but the time; a killed one at once, however busy the machine is.
    const seconds = loss === 'killed' ? 3 : 1
    const { url } = await stage.serve(seconds)
    const clients = new Clients(url, await login(url))
    await clients.more()
    stage.lose(loss)
    await eventually(() => clients.statuses.has(503))
    await eventually(async () => (await health(url)) === 503)
    const before = clients.acknowledged
    const promoted = await stage.promote()
    await eventually(() => clients.acknowledged > before)
    const took = performance.now() - promoted
    await clients.more()
    stage.oldPrimaryComesBack()
    await expectSuccessor(stage, seconds)
    await clients.more()
    await eventually(async () => (await health(url)) === 200)
    await clients.stop()
    expect([...clients.statuses].sort()).toEqual([200, 201, 503])
    expect(clients.lost(await stage.ask('SELECT title, version FROM rooms'))).toEqual([])
    await stage.check()
    return took
  } finally {
    await stage.clear()
  }
}

/** Another server that starts now goes to the new primary too. */
async function expectSuccessor(stage: Stage, seconds: number): Promise<void> {
  const { url } = await stage.serve(seconds)
  const body = JSON.stringify({ title: 'successor', beds: 1 })
  const made = await fetch(`${url}/api/rooms/`, { method: 'POST', headers: await login(url), body })
  expect(made.status).toBe(201)
  expect(await stage.ask(`SELECT 1 FROM rooms WHERE title = 'successor'`)).toHaveLength(1)
}
