import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
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
