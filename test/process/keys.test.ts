import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually, onEveryStoreByHand } from '../harness.ts'
import { databaseWithOwnTables, LOGIN, login, newFolder, root, run, runHere, serve } from './process.ts'

const config = `import { app, entity, text } from '${join(root, 'src', 'takeback.ts')}'
export default app({
  admins: 'admins',
  entities: {
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({ login: { userType: 'user', verify: true }, fields: {} }),
    notes: entity({ fields: { title: text() } }),
  },
})`

onEveryStoreByHand('on the command line', (store) => {
  test('keys and users are listed, and a key is ended while a server runs', async () => {
    const folder = newFolder()
    const database = await databaseWithOwnTables(store, folder)
    writeFileSync(join(folder, 'takeback.config.ts'), config)
    const args = ['--config', join(folder, 'takeback.config.ts'), '--database', database.url]
    await runHere(['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password, ...args])
    await runHere([
      'user',
      'add',
      'users',
      'sure@example.com',
      '--password',
      LOGIN.password,
      '--verified',
      ...args,
    ])
    await runHere(['user', 'add', 'users', 'new@example.com', '--password', LOGIN.password, ...args])
    expect((await runHere(['keys', 'list', ...args])).out).toBe('There are no keys.\n')
    const server = await serve([...args, '--outbox', join(folder, 'outbox')])
    const headers = await login(server.url)
    const make = async (body: object) => {
      const answer = await fetch(`${server.url}/api/auth/keys/`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      return (await answer.json()) as { id: number; key: string }
    }
    const { id, key } = await make({ name: 'Nightly import', agent: true })
    const can = { entities: { notes: ['read'] } }
    const other = await make({ name: 'Other', user: 'users/1', can, limits: { deletes_per_day: 3 } })
    const notes = async () =>
      (await fetch(`${server.url}/api/notes/`, { headers: { ...headers, Authorization: `Bearer ${key}` } }))
        .status
    expect(await notes()).toBe(200)
    const used = 'SELECT used_at FROM takeback_keys WHERE used_at IS NOT NULL'
    await eventually(async () => (await database.query(used)).length === 1)

    const listed = (await run(['keys', 'list', ...args])).out.replaceAll(/\d{4}-\S+Z/g, 'T')
    expect(listed).toBe(
      `keys/${id}  admins/1  "Nightly import"  last used T  may do what its user may  agent\n` +
        `keys/${other.id}  users/1  "Other"  last used never  may {"entities":{"notes":["read"]}}  limits {"deletes_per_day":3}\n`,
    )
    expect(listed).not.toContain(key)
    const ofUser = JSON.parse((await runHere(['keys', 'list', '--user', 'users/1', '--json', ...args])).out)
    expect(ofUser).toEqual([expect.objectContaining({ actor: `keys/${other.id}`, user: 'users/1', can })])
    const ended = await run(['keys', 'end', `keys/${id}`, ...args])
    expect(ended.out).toBe(`Ended keys/${id}, "Nightly import" of admins/1.\n`)
    await eventually(async () => (await notes()) === 401)
    expect((await runHere(['keys', 'end', String(id), ...args])).err).toContain(
      `keys/${id} has ended already.`,
    )
    await server.end()

    const users = (await run(['user', 'list', 'users', ...args])).out.replaceAll(/\d{4}-\S+Z/g, 'T')
    expect(users).toBe(
      'users/1  sure@example.com  since T  confirmed\nusers/2  new@example.com  since T  not confirmed\n',
    )
    const open = JSON.parse((await runHere(['user', 'list', 'users', '--unverified', '--json', ...args])).out)
    expect(open).toMatchObject({ user: 'users/2', verified: false })
    await database.remove()
  })
})
