import { expect, test } from 'bun:test'
import { entity, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, onEveryStore, TestServer } from '../harness.ts'

const declaration = withAdmins({
  notes: entity({ fields: { title: text() }, access: { read: 'true', create: 'true' } }),
})

onEveryStore('whoever follows the journal', declaration, (server) => {
  test('is woken by commits of this instance and of others, until it stops', async () => {
    const other = new TestServer('', declaration, {}, await server.database())
    other.adminToken = server.adminToken
    await other.start()
    try {
      const { waker, feed } = server.context
      let seen = await feed.now()
      let [wakes, changes] = [0, 0]
      // It is awaited, so that no two of them read the same.
      const stop = waker.follow(async () => {
        wakes++
        const page = await feed.after(seen, { limit: 100 })
        seen = page.next
        changes += page.operations.length
      })
      for (const [at, writer] of [server, other, server, other].entries()) {
        expect((await writer.call('POST', '/api/notes/', { body: { title: 'a' } })).status).toBe(201)
        await eventually(() => changes === at + 1)
      }
      stop()
      const before = wakes
      await other.call('POST', '/api/notes/', { body: { title: 'b' } })
      await server.call('POST', '/api/notes/', { body: { title: 'c' } })
      await Bun.sleep(100)
      expect(wakes).toBe(before)
    } finally {
      await other.stop()
    }
  })

  test('finds what is committed after a list or a read behind its Takeback-Position', async () => {
    const { body: first } = await server.call('POST', '/api/notes/', { body: { title: 'first' } })
    for (const path of ['/api/notes/', '/api/notes/?limit=1', `/api/notes/${first.id}/`]) {
      const { headers } = await server.call('GET', path)
      const { body, headers: written } = await server.call('POST', '/api/notes/', { body: { title: path } })
      const position = headers.get('Takeback-Position')?.replace(/-[^-]*$/, '')
      await eventually(async () => {
        const { operations } = await server.context.feed.after(position as never, { limit: 100 })
        return operations.some(({ id }) => id === written.get('Takeback-Operation'))
      })
      const past = await server.call('GET', `/api/notes/?at=${body.created_at}`)
      expect(past.headers.get('Takeback-Position')).toBeNull()
    }
  })
})
