import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { example, newFolder, run, serve } from './process.ts'

async function login(url: string): Promise<Record<string, string>> {
  const headers = { Accept: '*/*', 'Content-Type': 'application/json' }
  const response = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ email: 'a@example.com', password: 'a long password' }),
  })
  const { token } = (await response.json()) as { token: string }
  return { ...headers, Authorization: `Bearer ${token}` }
}

async function prepared(): Promise<{ file: string; args: string[] }> {
  const file = join(newFolder(), 't.db')
  const args = ['--config', example, '--database', `sqlite:${file}`]
  await run(['user', 'add', 'admins', 'a@example.com', '--password', 'a long password', ...args])
  return { file, args }
}

test('kill -9 in the middle of writes: what was acknowledged is there, journal and tables agree', async () => {
  const { file, args } = await prepared()
  const acknowledged = new Map<number, string>()
  let serial = 0
  for (let round = 0; round < 5; round++) {
    const server = await serve([...args, '--log', 'json'], { direct: true })
    const headers = await login(server.url)
    let running = true
    const clients = Array.from({ length: 8 }, async () => {
      while (running) {
        const title = `room ${++serial}`
        try {
          const response = await fetch(`${server.url}/api/rooms/`, {
            method: 'POST',
            headers,
            body: JSON.stringify({ title, beds: 1 }),
          })
          if (response.status === 201) acknowledged.set(((await response.json()) as { id: number }).id, title)
        } catch {
          running = false
        }
      }
    })
    await Bun.sleep(100 + Math.random() * 150)
    server.child.kill('SIGKILL')
    running = false
    await Promise.all(clients)
    await server.child.exited
  }
  const database = new Database(file)
  const titles = new Map(
    (database.query('SELECT id, title FROM rooms').values() as [number, string][]).map(([id, title]) => [
      id,
      title,
    ]),
  )
  const journal = database
    .query(
      "SELECT count(*) FROM takeback_journal WHERE entity = 'rooms' AND json_extract(data, '$.title') = (SELECT title FROM rooms WHERE id = entity_id)",
    )
    .values()[0]?.[0]
  const lost = [...acknowledged].filter(([id, title]) => titles.get(id) !== title)
  expect(acknowledged.size).toBeGreaterThan(100)
  expect(lost).toEqual([])
  expect(journal).toBe(titles.size)
  expect(database.query('PRAGMA integrity_check').values()).toEqual([['ok']])
  expect(database.query('PRAGMA foreign_key_check').values()).toEqual([])
  database.close()
}, 60_000)

test('SIGTERM under load: what is under way is answered, nothing is cut off, exit code 0', async () => {
  const { file, args } = await prepared()
  const server = await serve([...args, '--log', 'json'])
  const headers = await login(server.url)
  let [answered, serial] = [0, 0]
  let stopping = false
  const cut: unknown[] = []
  const clients = Array.from({ length: 8 }, async () => {
    while (!stopping) {
      try {
        const response = await fetch(`${server.url}/api/rooms/`, {
          method: 'POST',
          headers,
          body: JSON.stringify({ title: `r${++serial}`, beds: 1 }),
        })
        if (response.status === 201) answered++
        else cut.push(response.status)
        await response.text()
      } catch (error) {
        // Refused is what a server that no longer listens does; anything else was cut off.
        if (/REFUSED/i.test((error as { code?: string }).code ?? '')) return
        cut.push((error as { code?: string }).code)
        return
      }
    }
  })
  await Bun.sleep(200)
  const code = await server.end('SIGTERM')
  stopping = true
  await Promise.all(clients)
  expect(code).toBe(0)
  expect(cut).toEqual([])
  const database = new Database(file)
  expect(database.query('SELECT count(*) FROM rooms').values()).toEqual([[answered]])
  database.close()
}, 60_000)

test('a damaged page ends the server, and the next start refuses the file and touches nothing', async () => {
  const { file, args } = await prepared()
  const server = await serve([...args, '--log', 'json'], { direct: true })
  const headers = await login(server.url)
  const titles = Array.from({ length: 400 }, (_, at) => `room ${at} ${'x'.repeat(150)}`)
  for (const title of titles)
    await fetch(`${server.url}/api/rooms/`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ title, beds: 1 }),
    })
  expect(await server.end()).toBe(0)
  const bytes = readFileSync(file)
  for (let at = bytes.indexOf(titles[200] ?? ''); at >= 0; at = bytes.indexOf(titles[200] ?? '')) {
    const page = at - (at % 4096)
    bytes.fill(0xff, page, page + 4096)
  }
  writeFileSync(file, bytes)
  const again = await serve([...args, '--log', 'json'], { direct: true })
  const response = await fetch(`${again.url}/api/rooms/?beds=7`, {
    headers: await login(again.url),
  })
  expect(response.status).toBe(503)
  await again.child.exited
  expect(again.child.exitCode).toBe(1)
  const damaged = readFileSync(file)
  const refused = await run(['serve', '--port', '0', ...args])
  expect([refused.code, refused.err.includes('it is damaged')]).toEqual([1, true])
  expect(readFileSync(file).equals(damaged)).toBe(true)
}, 60_000)

test('a purge does not wait for whoever reads the file, and leaves no trace once they are done', async () => {
  const { file, args } = await prepared()
  const server = await serve([...args, '--log', 'json'], { direct: true })
  const headers = await login(server.url)
  const send = (method: string, path: string, body?: object) =>
    fetch(`${server.url}/api/rooms/${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  await send('POST', '', { title: 'canary of a room', beds: 1 })
  const reader = new Database(file)
  reader.run('BEGIN')
  reader.query('SELECT count(*) FROM rooms').get()
  await send('PATCH', '1/', { title: 'canary once more' })
  await send('DELETE', '1/')
  const started = performance.now()
  expect((await send('DELETE', '1/?purge=1')).status).toBe(204)
  // Waiting for them would take the whole busy timeout of five seconds.
  expect(performance.now() - started).toBeLessThan(4900)
  reader.run('COMMIT')
  reader.close()
  const traces = () =>
    [file, `${file}-wal`].filter((one) => existsSync(one) && readFileSync(one).includes('canary'))
  for (let tries = 0; tries < 50 && traces().length > 0; tries++) await Bun.sleep(100)
  expect(traces()).toEqual([])
  expect(await server.end()).toBe(0)
}, 60_000)
