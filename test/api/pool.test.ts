import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { type Cluster, startCluster } from '../cluster.ts'
import { graph } from '../declarations.ts'
import { eventually, newDatabase, onStoreByHand, type TestDatabase, TestServer } from '../harness.ts'
import { newFolder } from '../process/process.ts'
import { Wire } from '../wire.ts'

const POOL = 4
/** One more connection watches those that were given up. */
const BUDGET = POOL + 1

/** Counts the server's connections from outside, until stopped. Returns the most at once. */
function countConnections(url: string): { readonly most: () => number; stop(): Promise<void> } {
  const sql = new SQL(url, { max: 1 })
  let [most, running] = [0, true]
  const counting = (async () => {
    while (running) {
      const [row] = await sql`SELECT count(*)::int AS n FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'takeback'`
      most = Math.max(most, row.n)
      await Bun.sleep(20)
    }
  })()
  return {
    most: () => most,
    async stop() {
      running = false
      await counting
      await sql.close()
    },
  }
}

/** Clients that create companies until stopped, and the answers they got. */
class Clients {
  readonly acknowledged: string[] = []
  readonly statuses: number[] = []
  /** The longest time that an answer took. */
  slowest = 0
  #running = true
  readonly #server: TestServer
  readonly #all: Promise<void>[]

  constructor(server: TestServer, what: string) {
    this.#server = server
    this.#all = Array.from({ length: 12 }, (_, who) => this.#run(`${what} ${who}`))
  }

  async #run(who: string): Promise<void> {
    for (let serial = 0; this.#running; serial++) {
      const name = `${who} ${serial}`
      const began = performance.now()
      const { status } = await this.#server.call('POST', '/api/companies/', { body: { name } })
      this.slowest = Math.max(this.slowest, performance.now() - began)
      this.statuses.push(status)
      if (status === 201) this.acknowledged.push(name)
      else await Bun.sleep(20)
    }
  }

  async stop(): Promise<void> {
    this.#running = false
    await Promise.all(this.#all)
  }
}

onStoreByHand('postgres', 'connections that were given up', () => {
  let database: TestDatabase
  let server: TestServer
  let wire: Wire
  beforeAll(async () => {
    database = await newDatabase('postgres', newFolder())
    const url = new URL(database.url)
    wire = new Wire(url.hostname, Number(url.port))
    url.port = String(await wire.listen())
    const flags = { pool: String(POOL), 'statement-timeout': '0.5', 'connect-timeout': '1' }
    server = new TestServer('postgres', graph, flags, { ...database, url: url.href })
    await server.start()
  })
  afterAll(async () => {
    await server.remove()
    wire.close()
  })

  /** Expects every acknowledged row exactly once. */
  async function expectKept(acknowledged: readonly string[]): Promise<void> {
    const rows = await database.query('SELECT name, count(*) AS n FROM companies GROUP BY name')
    const counts = new Map(rows.map(({ name, n }) => [name, n]))
    expect(acknowledged.filter((name) => counts.get(name) !== 1)).toEqual([])
  }

  test('commits that hang hold no more connections than the pool may have', async () => {
    // A statement timeout does not end what a commit waits for.
    await database.query(`CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$`)
    await database.query(`CREATE CONSTRAINT TRIGGER hang AFTER INSERT ON companies
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hang()`)
    const holder = new SQL(database.url, { max: 1 })
    await holder`SELECT pg_advisory_lock(1)`
    const count = countConnections(database.url)
    const clients = new Clients(server, 'hang')
    await eventually(() => clients.statuses.length > 60)
    expect([...new Set(clients.statuses)]).toEqual([503])
    expect(count.most()).toBeLessThanOrEqual(BUDGET)
    await holder.close()
    await eventually(() => clients.acknowledged.length > 50)
    await clients.stop()
    await count.stop()
    expect(count.most()).toBeLessThanOrEqual(BUDGET)
    expect([...new Set(clients.statuses)].sort()).toEqual([201, 503])
    await expectKept(clients.acknowledged)
    await database.query('DROP TRIGGER hang ON companies')
  })

  test('connections that fell silent are ended before new ones take their place', async () => {
    const count = countConnections(database.url)
    for (let round = 0; round < 3; round++) {
      const clients = new Clients(server, `silence ${round}`)
      await eventually(() => clients.acknowledged.length > 50)
      wire.silence()
      await eventually(() => clients.statuses.includes(503))
      const prompt = clients.statuses.length
      await eventually(() => clients.statuses.length > prompt + 200)
      expect((await server.call('GET', '/api/health')).status).toBe(503)
      const before = clients.acknowledged.length
      wire.heal()
      await eventually(() => clients.acknowledged.length > before + 50)
      await clients.stop()
      expect([...new Set(clients.statuses)].sort()).toEqual([201, 503])
      await expectKept(clients.acknowledged)
    }
    await count.stop()
    // A round may begin before the one that looks after the others is closed. It then falls silent too, and is replaced.
    expect(count.most()).toBeLessThanOrEqual(BUDGET + 1)
    await eventually(async () => (await server.call('GET', '/api/health')).status === 200)
  })

  test('connections that take no writes are made anew: the address may lead elsewhere by then', async () => {
    const [row] = await database.query('SELECT current_database() AS name')
    const create = async (name: string) =>
      (await server.call('POST', '/api/companies/', { body: { name } })).status
    await database.query(`ALTER DATABASE "${row?.name}" SET default_transaction_read_only = on`)
    await database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'takeback'`,
    )
    await eventually(async () => (await create('read-only')) === 503)
    await eventually(async () => (await server.call('GET', '/api/health')).status === 503)
    await database.query(`ALTER DATABASE "${row?.name}" RESET default_transaction_read_only`)
    // A balancer sends no writes until the server is healthy again.
    await eventually(async () => (await server.call('GET', '/api/health')).status === 200)
    await eventually(async () => (await create('writable')) === 201)
  })
})

onStoreByHand('postgres', 'commits that wait for a standby', () => {
  let cluster: Cluster
  let admin: SQL
  let server: TestServer
  beforeAll(async () => {
    // Standbys are configured for a whole PostgreSQL server, so the test needs its own.
    cluster = await startCluster('TAKEBACK_TEST_POSTGRES_OF_ITS_OWN', ['fsync=off'])
    admin = new SQL(cluster.url, { max: 1 })
    const database: TestDatabase = {
      url: cluster.url,
      query: (text) => admin.unsafe(text),
      async remove() {},
    }
    const flags = { pool: String(POOL), 'statement-timeout': '0.5', 'connect-timeout': '1' }
    server = new TestServer('postgres', graph, flags, database)
    await server.start()
    await admin.unsafe('CREATE TABLE probes ()')
  })
  afterAll(async () => {
    await server.remove()
    await admin.close()
    await cluster.stop()
  })

  async function setStandbys(names: string): Promise<void> {
    await admin.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
    await admin.unsafe('SELECT pg_reload_conf()')
  }

  /** PostgreSQL takes a moment to reload its settings: waits until a commit of ours is held up. */
  async function untilCommitsWait(): Promise<SQL> {
    const probe = new SQL(cluster.url, { max: 1, connection: { application_name: 'probe' } })
    let waits = false
    const commit = (): Promise<void> =>
      probe.unsafe('INSERT INTO probes DEFAULT VALUES').then(() => (waits ? undefined : commit()))
    const committing = commit()
    await eventually(async () => {
      const seen = await admin.unsafe(
        `SELECT 1 FROM pg_stat_activity WHERE application_name = 'probe' AND wait_event = 'SyncRep'`,
      )
      waits = seen.length > 0
      return waits
    })
    committing.catch(() => {})
    return probe
  }

  test('are counted, but not ended: nobody sees what no standby has', async () => {
    const count = countConnections(cluster.url)
    await setStandbys('absent')
    const probe = await untilCommitsWait()
    const clients = new Clients(server, 'standby')
    // Once all connections hang, requests are refused at once.
    await eventually(() => clients.statuses.length > 300)
    expect(clients.acknowledged).toEqual([])
    expect(await admin.unsafe('SELECT name FROM companies')).toHaveLength(0)
    await setStandbys('')
    await eventually(() => clients.acknowledged.length > 50)
    await clients.stop()
    await count.stop()
    await probe.close()
    expect(count.most()).toBeLessThanOrEqual(BUDGET)
    expect([...new Set(clients.statuses)].sort()).toEqual([201, 503])
    const rows: { name: string }[] = await admin.unsafe('SELECT name FROM companies')
    const names = new Set(rows.map(({ name }) => name))
    expect(clients.acknowledged.filter((name) => !names.has(name))).toEqual([])
  })
})
