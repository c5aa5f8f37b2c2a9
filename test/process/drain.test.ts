import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { eventually, newDatabase, onEveryStoreByHand } from '../harness.ts'
import { freePort } from '../ports.ts'
import { startPostgres } from '../postgres.ts'
import { example, LOGIN, newFolder, prepared, runHere, serve, takeback } from './process.ts'

const headers = { Accept: 'application/json', 'Content-Type': 'application/json' }

async function tokenOf(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers,
    body: JSON.stringify(LOGIN),
  })
  return ((await answer.json()) as { token: string }).token
}

onEveryStoreByHand('a server that is told to stop', (store) => {
  test('first drains: health is 503, and all else is served on connections that end', async () => {
    const { database, args } = await prepared(store)
    // As a service runs it: with the default drain.
    const server = await serve([...args, '--log', 'json'], { direct: true, env: { TAKEBACK_DRAIN: '' } })
    const token = await tokenOf(server.url)
    const ask = async (method: string, path: string, body?: unknown) => {
      const answer = await fetch(server.url + path, {
        method,
        headers: { ...headers, Authorization: `Bearer ${token}` },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const { code } = (await answer.json().catch(() => ({}))) as { code?: string }
      return { status: answer.status, code, connection: answer.headers.get('connection') }
    }
    expect(await ask('GET', '/api/health')).toMatchObject({ status: 200, connection: null })
    const ended = server.end('SIGTERM')
    await eventually(async () => (await ask('GET', '/api/health')).code === 'stopping')
    for (const [method, path, body, status] of [
      ['GET', '/api/rooms/', undefined, 200],
      ['POST', '/api/rooms/', { title: 'late', beds: 1 }, 201],
      ['GET', '/api/nothing', undefined, 404],
      ['GET', '/api/health', undefined, 503],
    ] as const)
      expect(await ask(method, path, body)).toMatchObject({ status, connection: 'close' })
    expect(await ended).toBe(0)
    expect(await database.query('SELECT title FROM rooms')).toEqual([{ title: 'late' }])
    await database.remove()
  })
})

test('Ctrl-C does not wait for a balancer', async () => {
  const { database, args } = await prepared('sqlite')
  const server = await serve([...args, '--log', 'json'], { direct: true, env: { TAKEBACK_DRAIN: '' } })
  expect(await server.end('SIGINT')).toBe(0)
  expect(server.said()).not.toContain('Takeback stops in')
  await database.remove()
})

test('a second signal ends it at once', async () => {
  const { database, args } = await prepared('sqlite')
  const server = await serve([...args, '--log', 'json', '--drain', '3600'], { direct: true })
  server.child.kill('SIGTERM')
  await eventually(() => server.said().includes('Takeback stops in 3600 s'))
  await Bun.sleep(1100)
  expect(await server.end('SIGTERM')).toBe(1)
  await database.remove()
})

test('--drain takes seconds, none at all too', async () => {
  for (const wrong of ['-1', 'x', '4000', ' ']) {
    const { code, err } = await runHere(['serve', '--port', '0', `--drain=${wrong}`])
    expect([code, err]).toEqual([1, expect.stringContaining('--drain must be seconds') as unknown as string])
  }
})

test('requests that come while a server starts wait for it', async () => {
  await startPostgres()
  const database = await newDatabase('postgres', newFolder())
  const args = ['--config', example, '--database', database.url]
  await runHere(['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password, ...args])
  const sql = new SQL(database.url, { max: 1 })
  await sql.unsafe('BEGIN')
  await sql.unsafe('LOCK TABLE takeback_meta IN ACCESS EXCLUSIVE MODE')
  const port = freePort()
  const url = `http://127.0.0.1:${port}`
  const child = takeback(['serve', ...args, '--port', String(port), '--log', 'json'], { direct: true })
  const health = () => fetch(`${url}/api/health`, { headers }).catch(() => undefined)
  await eventually(async () => (await health())?.status === 503)
  const asked = [
    ['GET', '/api/rooms/'],
    ['GET', '/api/rooms/?limit=x'],
    ['GET', '/api/rooms'],
    ['GET', '/api/rooms/1/'],
    ['GET', '/api/rooms/%31'],
    ['GET', '/api/rooms/1/history/'],
    ['GET', '/api/rooms/summary/'],
    ['GET', '/api/nothing'],
    ['GET', '/docs'],
    ['POST', '/api/rooms/'],
    ['PUT', '/api/rooms/'],
    ['POST', '/api/auth/login'],
  ] as const
  const answers = () =>
    Promise.all(
      asked.map(async ([method, path]) => {
        const body = method === 'GET' ? {} : { body: JSON.stringify(LOGIN) }
        const answer = await fetch(url + path, { method, headers, ...body })
        return [method, path, answer.status, ((await answer.text()).match(/"message":"[^"]*"/) ?? [])[0]]
      }),
    )
  const early = answers()
  // Sent, but not answered yet.
  expect(await Promise.race([early, Bun.sleep(300).then(() => 'waits')])).toBe('waits')
  await sql.unsafe('ROLLBACK')
  const first = await early
  expect(first.filter(([, , status]) => status === 503)).toEqual([])
  expect(first).toEqual(await answers())
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  await sql.close()
  await database.remove()
})
