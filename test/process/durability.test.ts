import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { eventually, isDeep, onEveryStoreByHand } from '../harness.ts'
import { FULL_POOL, login, prepared, run, serve } from './process.ts'

/** How often a server is killed, and after how many answered writes. */
const ROUNDS = isDeep ? 10 : 3
const WRITES = 20

/** Makes a database file whose bytes can be changed and inspected. */
async function preparedFile(): Promise<{ file: string; args: string[] }> {
  const { database, args } = await prepared('sqlite')
  return { file: database.url.replace(/^sqlite:/, ''), args }
}

onEveryStoreByHand('the end of a server', (store) => {
  test('kill -9 in the middle of writes: what was acknowledged is there, journal and tables agree', async () => {
    const { database, args } = await prepared(store)
    const acknowledged = new Map<number, string>()
    let serial = 0
    for (let round = 0; round < ROUNDS; round++) {
      const server = await serve([...args, '--log', 'json'], { direct: true, env: FULL_POOL })
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
            if (response.status === 201)
              acknowledged.set(((await response.json()) as { id: number }).id, title)
          } catch {
            running = false
          }
        }
      })
      await eventually(() => acknowledged.size > (round + 1) * WRITES)
      await Bun.sleep(Math.random() * 100)
      server.child.kill('SIGKILL')
      running = false
      await Promise.all(clients)
      await server.child.exited
    }
    // One statement, because a remote database may still be running the server's last one.
    const rows = await database.query(
      `SELECT r.id, r.title, j.data FROM rooms r
       FULL JOIN (SELECT * FROM takeback_journal WHERE entity = 'rooms') j ON j.entity_id = r.id`,
    )
    const titles = new Map(rows.map(({ id, title }) => [id, title]))
    const lost = [...acknowledged].filter(([id, title]) => titles.get(id) !== title)
    expect(acknowledged.size).toBeGreaterThan(ROUNDS * WRITES)
    expect(lost).toEqual([])
    expect(rows.filter(({ title, data }) => title !== JSON.parse(String(data))?.title)).toEqual([])
    expect(rows).toHaveLength(titles.size)
    // The killed process wrote the file itself; a database server looks after its own files.
    if (store === 'sqlite') {
      expect(await database.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
      expect(await database.query('PRAGMA foreign_key_check')).toEqual([])
    }
    await database.remove()
  })

  test('kill -9, and all that had a key is sent again: everything is there once, as it was first answered', async () => {
    const { database, args } = await prepared(store)
    const answers = new Map<string, string | undefined>()
    const post = async (
      url: string,
      headers: Record<string, string>,
      key: string,
    ): Promise<string | undefined> => {
      const response = await fetch(`${url}/api/rooms/`, {
        method: 'POST',
        headers: { ...headers, 'Idempotency-Key': key },
        body: JSON.stringify([1, 2].map((at) => ({ title: `${key} ${at}`, beds: at }))),
      })
      const text = await response.text()
      return response.status === 201 ? text : undefined
    }
    for (let round = 0; round < ROUNDS; round++) {
      const server = await serve([...args, '--log', 'json'], { direct: true, env: FULL_POOL })
      const headers = await login(server.url)
      let running = true
      const clients = Array.from({ length: 8 }, async () => {
        while (running) {
          const key = `key-${answers.size}`
          answers.set(key, undefined)
          try {
            answers.set(key, await post(server.url, headers, key))
          } catch {
            running = false
          }
        }
      })
      // However long that takes on a busy machine.
      await eventually(() => answers.size > (round + 1) * WRITES)
      await Bun.sleep(Math.random() * 100)
      server.child.kill('SIGKILL')
      running = false
      await Promise.all(clients)
      await server.child.exited
    }
    const server = await serve([...args, '--log', 'json'], { direct: true })
    const headers = await login(server.url)
    for (const [key, first] of answers) {
      const again = await post(server.url, headers, key)
      expect(again).toBeString()
      if (first !== undefined) expect(again).toBe(first)
    }
    expect(await server.end()).toBe(0)
    expect(answers.size).toBeGreaterThan(ROUNDS * WRITES)
    expect([...answers.values()]).toContain(undefined)
    const rows = await database.query('SELECT title FROM rooms')
    expect(rows).toHaveLength(answers.size * 2)
    expect(await database.query('SELECT count(*) AS n FROM takeback_answers')).toEqual([{ n: answers.size }])
    await database.remove()
  })

  test('SIGTERM under load: what is under way is answered, nothing is cut off, exit code 0', async () => {
    const { database, args } = await prepared(store)
    const server = await serve([...args, '--log', 'json'], { direct: false, env: FULL_POOL })
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
          // A refused connection means that the server no longer listens; anything else was cut off.
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
    expect(await database.query('SELECT count(*) AS n FROM rooms')).toEqual([{ n: answered }])
    await database.remove()
  })
})

test('a damaged page ends the server, and the next start refuses the file and touches nothing', async () => {
  const { file, args } = await preparedFile()
  const server = await serve([...args, '--log', 'json'], { direct: true })
  const headers = await login(server.url)
  const titles = Array.from({ length: 400 }, (_, at) => `room ${at} ${'x'.repeat(150)}`)
  const made = await fetch(`${server.url}/api/rooms/`, {
    method: 'POST',
    headers,
    body: JSON.stringify(titles.map((title) => ({ title, beds: 1 }))),
  })
  expect(made.status).toBe(201)
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
  // The login is in the log, and stays there.
  const files = () => [readFileSync(file), readFileSync(`${file}-wal`)] as const
  const [damaged, log] = files()
  expect([damaged.equals(bytes), log.length > 0]).toEqual([true, true])
  const refused = await run(['serve', '--port', '0', ...args])
  expect([refused.code, refused.err.includes('it is damaged')]).toEqual([1, true])
  expect(files().map((now, at) => now.equals([damaged, log][at] ?? Buffer.alloc(0)))).toEqual([true, true])
})

test('a purge does not wait for whoever reads the file, and leaves no trace once they are done', async () => {
  const { file, args } = await preparedFile()
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
  await eventually(() => traces().length === 0)
  expect(await server.end()).toBe(0)
})
