import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { connect } from '../../client/client.ts'
import type config from '../../examples/bookings/takeback.config.ts'
import pkg from '../../package.json'
import { commandNames } from '../../src/cli/commands.ts'

// `npm run test:binary`: tries the binary, with a config that imports a file and a package.

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

/** The commands that have worked. */
const worked = new Set<string>()

function noteCommand(args: readonly string[]): void {
  const name = commandNames.find((one) => args.join(' ').startsWith(one))
  if (name !== undefined) worked.add(name)
}

/** Runs a command, which must succeed, and returns its output. It finds no other Takeback, and no Bun. */
function must(cwd: string, ...args: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([binary, ...args], { cwd, env: { PATH: '' } })
  if (exitCode !== 0) throw new Error(`takeback ${args.join(' ')}\n${stdout}${stderr}`)
  noteCommand(args)
  return stdout.toString()
}

function runSql(text: string): void {
  const database = new Database(join(folder, 'data', 'takeback.db'))
  database.run(text)
  database.close()
}

/** Adds so many rooms that the server reads them in another process. */
function addRooms(): void {
  runSql(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
    INSERT INTO "rooms" ("title", "beds", "price", "version", "created_at", "updated_at")
    SELECT 'Room ' || i, 1, 0, 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' FROM n`)
}

/** Returns the first argument of each child process. */
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

/** Lists the tools, as an agent on this machine does. */
async function listTools(url: string): Promise<void> {
  const client = new Client({ name: 'test', version: '1' })
  const args = ['mcp', '--url', url]
  await client.connect(new StdioClientTransport({ command: binary, args, env: { PATH: '' } }))
  expect((await client.listTools()).tools.length).toBe(8)
  await client.close()
  noteCommand(args)
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
  await listTools(url)
  const room = await api.rooms.create({ title: 'Attic', beds: 2 })
  expect((await api.rooms.list({ search: 'attic', count: true })).total).toBe(1)
  // This many rows are read by a process of their own.
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
  noteCommand(['serve'])
  runSql(`DELETE FROM "rooms" WHERE "title" LIKE 'Room %'`)
})

/** A declaration with what the example lacks: a job, and a webhook. */
const notes = `import { app, cases, entity, text } from 'takeback'
const config = app({
  admins: 'admins',
  entities: { admins: entity({ login: { userType: 'admin' }, fields: {} }), notes: entity({ fields: { title: text() } }) },
  jobs: { nightly: { every: '0 3 * * *', run: async ({ api }) => void (await api.notes.create({ title: 'x' })) } },
  webhooks: { erp: { to: 'https://erp.example.com/', secret: 'whsec_${btoa('x'.repeat(32))}', on: ['notes.*'] } },
})
export default config
export const rules = cases(config, { given: {}, cases: [{ as: 'nobody', mayNot: ['list notes'] }] })`

test('commands work in it', () => {
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

test('so do those for what has happened', () => {
  const place = join(folder, 'notes')
  mkdirSync(place)
  writeFileSync(join(place, 'takeback.config.ts'), notes)
  writeFileSync(join(place, 'takeback.rules.ts'), "export { rules as default } from './takeback.config.ts'")
  must(place, 'migrate', '--apply')
  must(place, 'rules', 'test')
  must(place, 'user', 'add', 'admins', 'admin@example.com', '--password', 'correct horse battery')
  must(place, 'user', 'unlock', 'admins', 'admin@example.com')
  must(place, 'jobs', 'run', 'nightly')
  const [made] = JSON.parse(must(place, 'history', 'notes/1', '--json')).data
  must(place, 'undo', made.operation, '--yes')
  expect(must(place, 'trash', 'purge', '--older-than', '0d', '--yes')).toContain('1')
  must(place, 'reactions', 'retry', '--all')
  must(place, 'webhooks', 'resend', 'erp', '--aside')
  must(place, 'retention', 'confirm', '--yes')
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
  noteCommand(['dev'])
})

test('no command was left out', () => {
  expect(commandNames.filter((name) => !worked.has(name))).toEqual([])
})
