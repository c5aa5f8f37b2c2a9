import { expect } from 'bun:test'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { eventually } from './harness.ts'
import { example, LOGIN, login, run, serve } from './process/process.ts'
import { Wire } from './wire.ts'

/** A primary that acknowledges writes only once its standby has them, and that standby. */
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

/** Queries one of the two directly, if necessary until the rows are as expected. */
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

/** A room as a client knows it: every acknowledged write must be there, and none twice. */
interface Room {
  readonly id: number
  readonly title: string
  /** The version of the last acknowledged write. */
  version: number
  /** Writes that were answered with 503, and may or may not be done. */
  unknown: number
}

/** The pause between the rounds of a client, so that the machine can do something else. */
const PAUSE_MS = 50

/** Clients that create, change and batch all the time, and record what was acknowledged. */
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

  /** Returns the rooms whose rows do not match what was acknowledged. */
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

/** How the primary is lost: it is killed, or its network is cut while it keeps running. */
export type Loss = 'killed' | 'cut off'

type Server = Awaited<ReturnType<typeof serve>>

/** A server on a primary and its standby. The connection to the primary can be cut. */
class Stage {
  readonly #pair: Pair
  readonly #wire: Wire
  /** The address of both, as given to a server. */
  readonly #database: readonly string[]
  readonly #servers: Server[] = []

  private constructor(pair: Pair, wire: Wire, hosts: readonly string[]) {
    this.#pair = pair
    this.#wire = wire
    const { username, password } = new URL(pair.standby.url)
    const address = `postgres://${username}:${password}@${hosts.join()}/app`
    this.#database = ['--database', `${address}?target_session_attrs=read-write`]
  }

  /** `first` is the one that the address names first. */
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

  /** Starts a server with this timeout for statements and connections. */
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

  /** Promotes the standby. Returns when that was done. */
  async promote(): Promise<number> {
    await this.ask('SELECT pg_promote()')
    return performance.now()
  }

  /** Reconnects the old primary. If it still runs, it does not know that it has a successor. */
  oldPrimaryComesBack(): void {
    this.#wire.heal()
  }

  /** Queries the former standby. */
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
 * Loses the primary under load, and promotes the standby: there must be nothing but 503 in between, and every
 * acknowledged write afterwards. Returns how long the server took after the promotion, in milliseconds.
 */
export async function failOver(loss: Loss): Promise<number> {
  // A primary that was cut off returns: it must not be used again, although the address names it first.
  const stage = await Stage.set(loss === 'killed' ? 'standby' : 'primary')
  try {
    // A cut connection is only noticed by its timeout; a killed primary at once, however busy the machine is.
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

/** Expects that another server, started now, also uses the new primary. */
async function expectSuccessor(stage: Stage, seconds: number): Promise<void> {
  const { url } = await stage.serve(seconds)
  const body = JSON.stringify({ title: 'successor', beds: 1 })
  const made = await fetch(`${url}/api/rooms/`, { method: 'POST', headers: await login(url), body })
  expect(made.status).toBe(201)
  expect(await stage.ask(`SELECT 1 FROM rooms WHERE title = 'successor'`)).toHaveLength(1)
}
