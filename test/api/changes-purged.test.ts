import { expect, test } from 'bun:test'
import { boolean, entity, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

const declaration = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: {} }),
  projects: entity({
    fields: { open: boolean(), owner: ref('users') },
    access: { read: 'open || owner.id == me.id' },
  }),
  tasks: entity({
    fields: { title: text(), project: ref('projects', { onDelete: 'cascade' }) },
    access: { read: 'project.open || project.owner.id == me.id' },
  }),
})

onEveryStore('the feed of changes', declaration, (server) => {
  test('tells of a purge that comes between the reading of the journal and the look at who sees what', async () => {
    const ann = await server.user('users', { email: 'ann@example.com', password: 'correct horse' })
    const make = (name: string, body: object) => server.expect(201, 'POST', `/api/${name}/`, body)
    const project = await make('projects', { open: false, owner: { id: ann.id } })
    await make('tasks', { title: 'a', project: { id: project.id } })
    const read = async (since: string) =>
      (await server.call('GET', `/api/changes/?entity=projects,tasks&since=${since}`, { token: ann.token }))
        .body
    const { next: start } = (await server.call('GET', '/api/changes/', { token: ann.token })).body
    await server.expect(200, 'DELETE', `/api/projects/${project.id}/`)
    const { feed } = server.context
    const after = feed.after.bind(feed)
    const purged: { status: number }[] = []
    feed.after = async (...given) => {
      feed.after = after
      const page = await after(...given)
      purged.push(await server.call('DELETE', `/api/projects/${project.id}/?purge=1`))
      return page
    }
    const first = await read(start)
    const second = await read(first.next)
    expect(purged.map(({ status }) => status)).toEqual([204])
    const told = [...first.data, ...second.data].filter((one) => one.entity === 'tasks')
    // After the purge, nobody knows who saw the task, so followers must list the tasks again.
    expect(told).toContainEqual({ type: 'reset', entity: 'tasks' })
  })
})
