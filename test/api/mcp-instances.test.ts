import { expect, test } from 'bun:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { entity, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore, TestServer } from '../harness.ts'

const declaration = withAdmins({ news: entity({ fields: { title: text() } }) })

onEveryStore('three instances behind one address', declaration, (server) => {
  test('answer an agent in turn, whatever the generation of its client', async () => {
    const database = await server.database()
    const others = [0, 1].map(() => new TestServer('', declaration, {}, database))
    try {
      for (const other of others) {
        other.adminToken = server.adminToken
        await other.start()
      }
      const urls = [server, ...others].map(({ url }) => url)
      let turn = 0
      const inTurn = (url: string | URL, init?: RequestInit) => {
        const { pathname } = new URL(url)
        return fetch(`${urls[turn++ % urls.length]}${pathname}`, init)
      }
      const { key } = await server.expect(201, 'POST', '/api/auth/keys/', { name: 'x', agent: true })
      for (const mode of ['auto', 'legacy'] as const) {
        const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
        const requestInit = { headers: { Authorization: `Bearer ${key}` } }
        const address = new URL('http://one.example/mcp')
        await client.connect(new StreamableHTTPClientTransport(address, { requestInit, fetch: inTurn }))
        const use = async (given: object): Promise<any> =>
          (await client.callTool({ name: 'write', arguments: { ...given } })).structuredContent
        // Previewed by one instance, done by the next, and done only once, although a third is asked again.
        const asked = {
          parts: [{ action: 'create', entity: 'news', values: { title: mode } }],
          idempotency_key: mode,
        }
        const { plan } = (await use(asked)).answer
        const done = await use({ ...asked, plan })
        expect([typeof done.operation, await use({ ...asked, plan })]).toEqual(['string', done])
        await client.close()
      }
      expect((await server.expect(200, 'GET', '/api/news/')).data).toHaveLength(2)
      expect(turn).toBeGreaterThan(8)
    } finally {
      for (const other of others) await other.stop()
    }
  })
})
