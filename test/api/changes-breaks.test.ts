import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from '../../client/client.ts'
import { boolean, entity, integer, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, onEveryStore, type TestRequest, TestServer } from '../harness.ts'

const declaration = withAdmins({
  projects: entity({ fields: { title: text(), open: boolean() }, access: { read: 'open' } }),
  tasks: entity({
    fields: { title: text(), level: integer(), project: ref('projects') },
    access: { read: 'project.open' },
  }),
})

const FILTERS = [undefined, 'level > 2', 'project.title == "b"']

onEveryStore('live lists at one instance, while others write at another', declaration, (server) => {
  const path = '/api/tasks/'
  const lists: string[] = []
  const stops: (() => void)[] = []
  let other: TestServer
  let project = 0

  beforeAll(async () => {
    other = new TestServer(server.store, declaration, {}, await server.database())
    other.adminToken = server.adminToken
    await other.start()
    project = (await server.expect(201, 'POST', '/api/projects/', { title: 'a', open: true })).id
    // It has another address after each start.
    const api = connect<typeof declaration>('http://other', {
      fetch: (url, init) => fetch(url.replace('http://other', other.url), init),
    })
    for (const [at, filter] of FILTERS.entries())
      stops.push(
        api.tasks.live(filter === undefined ? {} : { filter }, (tasks) => {
          lists[at] = JSON.stringify(tasks)
        }),
      )
  })
  afterAll(async () => {
    for (const stop of stops) stop()
    await other.stop()
  })

  /** Repeats calls that fail because the database does not answer. */
  async function call(method: string, path: string, sent: TestRequest = {}): Promise<any> {
    for (;;) {
      const { status, body } = await server.call(method, path, sent)
      if (status < 300) return body
      expect(status).toBe(503)
    }
  }

  /** Shows, hides, changes and removes tasks. */
  async function write(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      for (const level of [1, 3, 5])
        await call('POST', path, { body: { title: 'task', level, project: { id: project } } })
      const { data } = await call('GET', path)
      await call('PATCH', `${path}${data.at(-1).id}/`, { body: { level: round } })
      await call('DELETE', `${path}${data[0].id}/`)
      for (const open of [round % 2 === 1, true])
        await call('PATCH', `/api/projects/${project}/`, { body: { open, title: open ? 'b' : 'c' } })
    }
  }

  /** Waits until each list equals a new one. */
  async function settle(): Promise<void> {
    for (const [at, filter] of FILTERS.entries()) {
      const query = new URLSearchParams({ limit: '200', ...(filter !== undefined && { filter }) })
      const { data } = await call('GET', `${path}?${query}`, { token: null })
      expect(data.length).toBeGreaterThan(0)
      await eventually(() => lists[at] === JSON.stringify(data))
    }
  }

  const breaks: Record<string, () => Promise<unknown>> = {
    'an instance starts again': () => other.restart(),
    ...(server.store === 'postgres' && {
      'all connections to the database end': () =>
        server.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
        ),
    }),
  }

  for (const [what, happens] of Object.entries(breaks))
    test(`become equal to new lists, even if ${what}`, async () => {
      await write(2)
      await settle()
      const writing = write(5)
      await Bun.sleep(50)
      await happens()
      await writing
      await settle()
    })
})
