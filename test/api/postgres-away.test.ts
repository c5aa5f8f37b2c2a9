import { afterAll, beforeAll, expect, test } from 'bun:test'
import { graph } from '../declarations.ts'
import { eventually, newDatabase, onStoreByHand, type TestDatabase, TestServer } from '../harness.ts'
import { newFolder } from '../process/process.ts'
import { Wire } from '../wire.ts'

onStoreByHand('postgres', 'a database that goes away', () => {
  let database: TestDatabase
  let server: TestServer
  let wire: Wire
  beforeAll(async () => {
    database = await newDatabase('postgres', newFolder())
    const url = new URL(database.url)
    wire = new Wire(url.hostname, Number(url.port))
    url.port = String(await wire.listen())
    const flags = { 'statement-timeout': '1', 'connect-timeout': '1' }
    server = new TestServer('postgres', graph, flags, { ...database, url: url.href })
    await server.start()
  })
  afterAll(async () => {
    await server.remove()
    wire.close()
  })

  for (const way of ['cut', 'silence'] as const)
    test(`(${way}): 503 in time, back by itself, nothing lost, nothing doubled`, async () => {
      const acknowledged: string[] = []
      const statuses = new Set<number>()
      let [running, serial, slowest] = [true, 0, 0]
      const clients = Array.from({ length: 8 }, async () => {
        while (running) {
          const name = `${way} ${++serial}`
          const began = performance.now()
          const received = await server.call('POST', '/api/companies/', { body: { name } })
          slowest = Math.max(slowest, performance.now() - began)
          statuses.add(received.status)
          if (received.status === 201) acknowledged.push(name)
          if (received.status === 503) {
            expect(received.headers.get('Retry-After')).not.toBeNull()
            await Bun.sleep(20)
          }
        }
      })
      await eventually(() => acknowledged.length > 0)
      wire[way]()
      await eventually(async () => {
        const { status, body } = await server.call('GET', '/api/health')
        return status === 503 && body.code === 'unavailable'
      })
      await eventually(() => statuses.has(503))
      const before = acknowledged.length
      wire.heal()
      await eventually(() => acknowledged.length > before)
      running = false
      await Promise.all(clients)
      // The timeouts of the caller's look-up and of the write, with their grace periods. This is no test of speed.
      expect(slowest).toBeLessThan(30_000)
      expect([...statuses].sort()).toEqual([201, 503])
      const rows = await database.query('SELECT name, count(*) AS n FROM companies GROUP BY name')
      const counts = new Map(rows.map(({ name, n }) => [name, n]))
      expect(acknowledged.filter((name) => counts.get(name) !== 1)).toEqual([])
      expect([...counts.values()].filter((n) => n !== 1)).toEqual([])
      // The last result is cached for half a second.
      await eventually(async () => (await server.call('GET', '/api/health')).status === 200)
    })
})
