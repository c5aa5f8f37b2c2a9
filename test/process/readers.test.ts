import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { LOGIN, prepared, serve } from './process.ts'

const ROWS = 200_000

/** Starts a server with many rows, and a read that takes far longer than the test. */
async function begin() {
  const { database, args } = await prepared('sqlite')
  await database.query(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
      INSERT INTO "rooms" ("title", "version", "created_at", "updated_at")
      SELECT 'Room ' || i || hex(zeroblob(200)), 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' FROM n`,
  )
  const server = await serve([...args, '--log', 'json', '--statement-timeout', '3600'], { direct: true })
  const headers = { Accept: 'application/json', 'Content-Type': 'application/json' }
  const login = { method: 'POST', headers, body: JSON.stringify(LOGIN) }
  const { token } = (await (await fetch(`${server.url}/api/auth/login`, login)).json()) as { token: string }
  const call = (path: string) =>
    fetch(server.url + path, { headers: { ...headers, Authorization: `Bearer ${token}` } })
  const parts = Array.from({ length: 10 }, (_, at) => `title.lowerAscii().contains("zz${at}")`)
  const slow = `/api/rooms/?count=1&filter=${encodeURIComponent(parts.join(' || '))}`
  return { database, server, call, slow }
}

function childrenOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' '))
    .filter((child) => child !== '')
}

/** Checks the command line, too, because a pid may be reused. */
const isThere = (pid: string) =>
  existsSync(`/proc/${pid}/cmdline`) && /reader\.[jt]s/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))

test('the readers of a server end with it, whatever they are doing', async () => {
  const { database, server, call, slow } = await begin()
  const asked = [1, 2].map(() => call(slow).catch(() => undefined))
  while (!childrenOf(server.child.pid).some(isThere)) await Bun.sleep(5)
  const readers = childrenOf(server.child.pid)
  await server.end('SIGKILL')
  await Promise.all(asked)
  while (readers.some(isThere)) await Bun.sleep(10)
  await database.remove()
})

test('a server that is asked to stop answers what its readers are doing', async () => {
  const { database, server, call } = await begin()
  const read = () => call('/api/rooms/?sort=-title&limit=1')
  await Promise.all([read(), read()])
  const asked = Array.from({ length: 4 }, read)
  await call('/api/health')
  const readers = childrenOf(server.child.pid)
  for (const pid of readers) process.kill(Number(pid), 'SIGTERM')
  const code = await server.end('SIGTERM')
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect([code, readers.filter(isThere)]).toEqual([0, []])
  await database.remove()
})
