import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '../../client/client.ts'
import type config from '../../examples/bookings/takeback.config.ts'
import pkg from '../../package.json'

// `npm run test:binary`: the binary, with a config that imports a file and a package of its own.

const root = join(import.meta.dir, '..', '..')
const binary = join(root, 'dist', 'takeback')
const folder = mkdtempSync(join(tmpdir(), 'takeback-binary-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

beforeAll(() => {
  const shout = join(folder, 'node_modules', 'shout')
  mkdirSync(shout, { recursive: true })
  writeFileSync(join(shout, 'package.json'), '{"name":"shout","type":"module","exports":"./entry.js"}')
  writeFileSync(join(shout, 'entry.js'), 'export const shout = (text) => text.toUpperCase()')
  writeFileSync(
    join(folder, 'title.ts'),
    "import { shout } from 'shout'\nexport const title = shout('attic')",
  )
  const source = readFileSync(join(root, 'examples', 'bookings', 'takeback.config.ts'), 'utf8')
  const own = source.replace("example: 'Room with a view'", 'example: title')
  writeFileSync(join(folder, 'takeback.config.ts'), `import { title } from './title.ts'\n${own}`)
})

/** Runs to a good end, and gives what it said. No other Takeback and no Bun is found. */
function must(cwd: string, ...args: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([binary, ...args], { cwd, env: { PATH: '' } })
  if (exitCode !== 0) throw new Error(`takeback ${args.join(' ')}\n${stdout}${stderr}`)
  return stdout.toString()
}

function runSql(text: string): void {
  const database = new Database(join(folder, 'data', 'takeback.db'))
  database.run(text)
  database.close()
}

/** So many that a server does not read them all by itself. */
function addRooms(): void {
  runSql(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
    INSERT INTO "rooms" ("title", "beds", "price", "version", "created_at", "updated_at")
    SELECT 'Room ' || i, 1, 0, 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' FROM n`)
}

/** The first arguments of the processes that one has started. */
function argumentsOf(pid: number): (string | undefined)[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' '))
    .filter((child) => child.trim() !== '')
    .map((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0')[1])
}

async function urlOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  let said = ''
  for await (const chunk of stream.pipeThrough(new TextDecoderStream() as never)) {
    said += chunk
    const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? []
    if (found !== undefined) return found
  }
  throw new Error(`It has ended: ${said}`)
}

test('it serves a config with its own imports, and ends when it is told to', async () => {
  expect(must(folder, '--version').trim()).toBe(pkg.version)
  must(folder, 'migrate', '--apply')
  const login = { email: 'admin@example.com', password: 'correct horse battery' }
  must(folder, 'user', 'add', 'admins', login.email, '--password', login.password)
  addRooms()
  const server = Bun.spawn([binary, 'serve', '--port', '0', '--log', 'json', '--drain', '0'], {
    cwd: folder,
    env: { PATH: '' },
    stderr: 'inherit',
  })
  const url = await urlOf(server.stdout)
  const api = connect<typeof config>(url)
  await api.login(login)
  const room = await api.rooms.create({ title: 'Attic', beds: 2 })
  expect((await api.rooms.list({ search: 'attic', count: true })).total).toBe(1)
  // So many rows are read by a process of its own.
  expect((await api.rooms.list({ filter: 'title.contains("tti")', sort: '-price', count: true })).total).toBe(
    1,
  )
  if (process.platform === 'linux') expect(argumentsOf(server.pid)).toContain('--reader')
  await room.delete()
  expect((await room.restore()).title).toBe('Attic')
  expect(
    (await (await fetch(`${url}/api/openapi.json`, { headers: { Accept: '*/*' } })).text()).includes('ATTIC'),
  ).toBe(true)
  expect((await fetch(`${url}/docs`)).status).toBe(200)
  server.kill('SIGTERM')
  expect(await server.exited).toBe(0)
  runSql(`DELETE FROM "rooms" WHERE "title" LIKE 'Room %'`)
})

test('every command works in it', () => {
  must(folder, 'check')
  must(folder, 'backup', '--to', join(folder, 'one.backup'))
  must(folder, 'restore', 'one.backup', '--to', 'sqlite:other.db')
  must(folder, 'copy', '--from', 'sqlite:other.db', '--to', 'sqlite:third.db')
  expect(must(folder, 'types')).toContain('bookings')
  for (const command of ['jobs list', 'reactions list', 'webhooks list', 'vacuum', 'trash list'])
    must(folder, ...command.split(' '))
  const fresh = join(folder, 'fresh')
  expect(must(folder, 'init', fresh)).toContain('&& takeback serve')
  must(fresh, 'migrate')
  expect(must(folder, '--help')).toContain('takeback serve')
})

test('it backs up by schedule, and serves anew in dev', async () => {
  const backups = join(folder, 'backups')
  const args = ['dev', '--port', '0', '--log', 'json', '--backup-every', '1s', '--backup-to', backups]
  const server = Bun.spawn([binary, ...args], { cwd: folder, env: { PATH: '' }, stderr: 'inherit' })
  await urlOf(server.stdout)
  const isThere = () =>
    existsSync(backups) && readdirSync(backups).some((name) => /^takeback-.*Z\.db$/.test(name))
  while (!isThere()) await Bun.sleep(50)
  server.kill('SIGTERM')
  await server.exited
})
