import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { bookings } from '../declarations.ts'
import { eventually, newDatabase, TestServer } from '../harness.ts'
import { chunked, exchange, head, type Segment } from '../raw.ts'
import { type Balancer, kinds, startProxy } from './proxy.ts'

/** Requests of strangers. None of them may keep others from being served. */
const hostile: Record<string, readonly Segment[]> = {
  'an unknown method': [head('FOO', '/api/rooms/')],
  'a method in small letters': [head('get', '/api/rooms/')],
  CONNECT: [head('CONNECT', 'example.com:80', { Host: 'example.com:80' })],
  'CONNECT with a path': [head('CONNECT', '/api/rooms/')],
  'a method that few know': [head('PROPFIND', '/api/rooms/')],
  'two Hosts': [head('GET', '/api/rooms/', { Host: 'a\r\nHost: b' })],
  'a Host that is none': [head('GET', '/api/rooms/', { Host: 'a/b' })],
  'a trailer': [
    head('POST', '/api/rooms/', {
      'Content-Type': 'application/json',
      'Transfer-Encoding': 'chunked',
      Trailer: 'X-Trailer',
    }) + chunked('{}').replace(/\r\n$/, 'X-Trailer: y\r\n\r\n'),
  ],
  'two lengths': [
    `${head('POST', '/api/rooms/', { 'Content-Type': 'application/json', 'Content-Length': '2\r\nContent-Length: 2' })}{}`,
  ],
  'a body that is too large': [
    head('POST', '/api/rooms/', { 'Content-Type': 'application/json', 'Content-Length': '3000000' }),
    'x'.repeat(100_000),
  ],
  'a body that never ends': [
    head('POST', '/api/rooms/', { 'Content-Type': 'application/json', 'Content-Length': '100' }),
    '{',
  ],
  'bytes that are no request': ['\0\0\0\0\r\n\r\n'],
  'an upgrade': [head('GET', '/api/rooms/', { Connection: 'Upgrade', Upgrade: 'websocket' })],
}

/** How many of each, at once: more than there are instances, and connections to each. */
const TIMES = 40

for (const name of Object.keys(kinds))
  describe(`behind ${name}, as docs/instances.md configures it`, () => {
    const flags = { 'trusted-proxies': '127.0.0.1' }
    const instances: TestServer[] = []
    let proxy: Balancer

    beforeAll(async () => {
      const first = new TestServer('sqlite', bookings, flags)
      const database = await newDatabase('sqlite', first.folder)
      instances.push(
        new TestServer('sqlite', bookings, flags, database),
        new TestServer('sqlite', bookings, flags, database),
      )
      for (const instance of instances) {
        instance.adminToken = instances[0]?.adminToken ?? ''
        await instance.start()
      }
      proxy = await startProxy(
        name,
        instances.map(({ url }) => url),
        first.folder,
      )
    })
    afterAll(async () => {
      await proxy?.stop()
      for (const instance of instances) await instance.stop()
      await instances[0]?.remove()
    })

    const token = () => instances[0]?.adminToken ?? ''
    const logged = () => instances.map(({ logged }) => logged.join('')).join('')
    const healthy = async () => {
      const started = performance.now()
      const answer = await fetch(`${proxy.url}/api/rooms/?limit=1`, { headers: { Accept: '*/*' } })
      await answer.text()
      return { status: answer.status, ms: performance.now() - started }
    }

    test('clients are known by their own address', async () => {
      const health = head('GET', '/api/health?limit=5', { 'X-Forwarded-For': '203.0.113.7' })
      await exchange(proxy.url, [health], { from: '127.0.0.2', patience: 10_000 })
      await eventually(() => logged().includes('limit=5'))
      const line = logged()
        .split('\n')
        .find((one) => one.includes('limit=5'))
      expect(JSON.parse(line ?? '{}').address).toBe('127.0.0.2')
    })

    for (const [what, segments] of Object.entries(hostile))
      test(`nobody else is kept from being served: ${what}`, async () => {
        const attack = Promise.all(
          Array.from({ length: TIMES }, () => exchange(proxy.url, segments, { patience: 3000 })),
        )
        const found: { status: number; ms: number }[] = []
        for (let at = 0; at < 30; at++) {
          found.push(await healthy())
          await Bun.sleep(20)
        }
        await attack
        for (let at = 0; at < 10; at++) found.push(await healthy())
        expect(found.filter(({ status }) => status !== 200)).toEqual([])
        // A stall would last as long as a timeout: ten seconds or more.
        expect(Math.max(...found.map(({ ms }) => ms))).toBeLessThan(5000)
      })

    test('what is written is answered with 2xx, and what is not is not', async () => {
      const create = (more: Record<string, string>, body: string) =>
        head('POST', '/api/rooms/', {
          'Content-Type': 'application/json',
          Authorization: `Bearer ${token()}`,
          ...more,
        }) + body
      const json = (title: string) => JSON.stringify({ title, beds: 1 })
      const sent = Array.from({ length: 60 }, (_, at) => {
        const title = `${name} ${at}.`
        const body = json(title)
        const plain = create({ 'Content-Length': String(body.length) }, body)
        const trailed = chunked(body).replace(/\r\n$/, 'X-Trailer: y\r\n\r\n')
        return {
          title,
          bytes: [
            plain,
            plain + head('GET', '/api/health'),
            create({ 'Transfer-Encoding': 'chunked' }, chunked(body)),
            create({ 'Transfer-Encoding': 'chunked', Trailer: 'X-Trailer' }, trailed),
            create({ 'Transfer-Encoding': 'chunked' }, trailed),
            plain.slice(0, -3),
          ][at % 6] as string,
        }
      })
      const got = await Promise.all(
        sent.map(async ({ title, bytes }) => {
          const { answers } = await exchange(proxy.url, [bytes], { patience: 5000 })
          return [title, answers.some((one) => one.status === 201 && one.body.includes(title))] as const
        }),
      )
      const rows = await (instances[0] as TestServer).query('SELECT "title" FROM "rooms"')
      const written = new Set(rows.map((row) => String(row.title)))
      expect(got.filter(([title, answered]) => written.has(title) !== answered)).toEqual([])
      expect(got.filter(([, answered]) => answered).length).toBeGreaterThan(20)
    })

    test('an instance that stops loses nobody a request', async () => {
      let over = false
      const statuses: number[] = []
      const load = Promise.all(
        Array.from({ length: 4 }, async () => {
          while (!over) statuses.push((await healthy()).status)
        }),
      )
      await Bun.sleep(300)
      await instances[1]?.stop()
      await Bun.sleep(500)
      over = true
      await load
      expect(statuses.length).toBeGreaterThan(20)
      expect([...new Set(statuses)]).toEqual([200])
    })
  })
