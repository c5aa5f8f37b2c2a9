import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../src/store/sqlite/open.ts'
import { eventually } from '../harness.ts'
import { commandLine, LOGIN, newFolder, prepared } from './process.ts'

test('the database is opened so that a commit is on disk', () => {
  const database = openDatabase(join(newFolder(), 'x.db'))
  const pragma = (name: string) => database.query(`PRAGMA ${name}`).values()[0]?.[0]
  expect([
    pragma('journal_mode'),
    pragma('synchronous'),
    pragma('foreign_keys'),
    pragma('secure_delete'),
  ]).toEqual(['wal', 2, 1, 1])
  database.close()
})

const strace = Bun.which('strace') !== null
if (!strace) console.warn('skipped: whether each write is synced needs strace')

test.skipIf(!strace)('nothing is acknowledged before the log was synced', async () => {
  const { args, database } = await prepared('sqlite')
  const trace = join(newFolder(), 'trace')
  const child = Bun.spawn(
    [
      'strace',
      ...['-f', '-y', '-e', 'trace=fsync,fdatasync', '-o', trace],
      process.execPath,
      commandLine,
      ...['serve', '--port', '0', '--log', 'json', ...args],
    ],
    { stdout: 'pipe', stderr: 'ignore' },
  )
  const said = child.stdout.getReader()
  let out = ''
  await eventually(async () => {
    const { value } = await said.read()
    out += new TextDecoder().decode(value)
    return out.includes('ready at')
  })
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(out)?.[0] ?? ''
  const headers = { Accept: 'application/json', 'Content-Type': 'application/json' }
  const login = await fetch(`${url}/api/auth/login`, { method: 'POST', headers, body: JSON.stringify(LOGIN) })
  const { token } = (await login.json()) as { token: string }
  const synced = () =>
    readFileSync(trace, 'utf8')
      .split('\n')
      .filter((line) => /sync\(\d+<.*-wal>\)/.test(line)).length
  for (let n = 0; n < 5; n++) {
    const before = synced()
    const { status } = await fetch(`${url}/api/rooms/`, {
      method: 'POST',
      headers: { ...headers, Authorization: `Bearer ${token}` },
      body: JSON.stringify({ title: `room ${n}`, beds: 1 }),
    })
    expect(status).toBe(201)
    // The trace may be written a moment later; the fault would be that it never is.
    await eventually(() => synced() > before)
  }
  // A signal to strace would not reach the server.
  process.kill(Number.parseInt(readFileSync(trace, 'utf8'), 10), 'SIGTERM')
  expect(await child.exited).toBe(0)
  expect(
    new Database(database.url.slice('sqlite:'.length)).query('SELECT count(*) AS n FROM rooms').get(),
  ).toEqual({ n: 5 })
  await database.remove()
})
