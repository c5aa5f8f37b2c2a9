import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pkg from '../../package.json'
import { hidePassword } from '../../src/store/location.ts'
import { newDatabase } from '../harness.ts'
import { type Block, blocksOf, commandsOf, pages } from '../markdown.ts'
import { startPostgres } from '../postgres.ts'
import { answersAs, withKnown } from './answers.ts'
import { linkCommand, must, network, PACK, pack, quickNpx, unpack } from './package.ts'
import { example, newFolder, root } from './process.ts'
import { Typist } from './typist.ts'

/** The escape sequence that clears a line of a terminal. */
const CLEARED = '\x1b[K'
/** The end of what the first start on a database prints. */
const FIRST = '# taken back'
const POSTGRES = 'postgres://user:password@host/name'
const open: Reader[] = []
afterEach(async () => {
  for (const reader of open.splice(0)) await reader.close()
})

/** A reader with a project, who types the commands of a page, and compares the answers. */
class Reader {
  readonly folder = newFolder()
  /** Ids of operations on the page, and those of this run. */
  readonly #known = new Map<string, string>()
  #typist = this.#sitDown()
  postgres = ''
  since = ''
  url = ''
  token = ''

  constructor(config?: string) {
    open.push(this)
    mkdirSync(join(this.folder, 'node_modules'))
    symlinkSync(root, join(this.folder, 'node_modules', 'takeback'))
    linkCommand(this.folder)
    if (config === undefined) cpSync(example, join(this.folder, 'takeback.config.ts'))
    else this.declare(config)
  }

  declare(config: string): void {
    writeFileSync(join(this.folder, 'takeback.config.ts'), config)
  }

  #sitDown(): Typist {
    return new Typist(this.folder, {
      PORT: '0',
      TAKEBACK_LOG: 'json',
      PATH: quickNpx(),
    })
  }

  /** Starts the server and signs in as its first admin. */
  async serve(command = 'npx takeback serve'): Promise<void> {
    const { url, said } = await this.#typist.start(this.#inThisRun(command), FIRST)
    this.url = url
    const [, password] = /password {2}(\S+)/.exec(said) ?? []
    this.token = (await this.call('POST', 'auth/login', { email: 'admin@example.com', password }, '')).token
    await this.#typist.type(`API=${url}/api AUTH="Authorization: Bearer ${this.token}"`)
  }

  async stop(): Promise<void> {
    await this.#typist.stopServers()
  }

  async call(method: string, path: string, body?: object, token = this.token): Promise<any> {
    const response = await fetch(`${this.url}/api/${path}`, {
      method,
      headers: {
        Accept: 'application/json',
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(token !== '' && { Authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  /** Types all commands of a block. If the page shows an answer, the output must match it. */
  async type(block: Block | undefined): Promise<void> {
    if (block === undefined) throw new Error('there is no such block')
    for (const { command, answer } of commandsOf(block)) {
      const typed = this.#inThisRun(command)
      if (typed.startsWith('npx takeback serve')) await this.serve(typed)
      else {
        const { code, output } = await this.#typist.type(typed)
        const shown = this.#asOnThePage(output)
        if (answer === undefined) expect([typed, code, output]).toEqual([typed, 0, output])
        else if (!answersAs(shown, answer, this.#known))
          expect(`${command}\n${shown}`).toBe(`${command}\n${answer}`)
      }
    }
  }

  #inThisRun(command: string): string {
    return withKnown(command, this.#known)
      .replaceAll(POSTGRES, this.postgres)
      .replaceAll('--since 14:00', `--since ${this.since}`)
  }

  #asOnThePage(output: string): string {
    return output
      .split('\n')
      .map((line) => Bun.stripANSI(line.split(CLEARED).at(-1) ?? ''))
      .join('\n')
      .replaceAll(this.folder, '/srv/takeback')
      .replaceAll(this.postgres === '' ? POSTGRES : hidePassword(this.postgres), 'postgres://user@host/name')
  }

  async close(): Promise<void> {
    await this.#typist.close()
  }
}

const typedIn = (page: string) =>
  blocksOf(page).filter(({ language }) => ['sh', 'console'].includes(language))

/** How each page is read: what exists before, and what happens between its blocks. */
const stories: Record<string, () => Promise<void>> = {
  async 'docs/queries.md'() {
    const reader = new Reader()
    await reader.serve()
    await addBookings(reader, { open: [3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2], held: [3, 3, 3] })
    for (const block of typedIn('docs/queries.md')) await reader.type(block)
  },

  async 'docs/migrations.md'() {
    const [plan, drop, ...more] = typedIn('docs/migrations.md')
    expect(more).toEqual([])
    const reader = new Reader(rooms('title: text(), size: integer(), floor: text()'))
    await reader.serve()
    for (const [title, floor] of [
      ['Attic', 'first'],
      ['Cellar', 'ground'],
      ['Tower', 'fifth'],
    ])
      await reader.call('POST', 'rooms/', { title, size: 20, floor })
    reader.declare(
      rooms(
        `name: text({ was: 'title', max: 200 }), beds: integer({ default: 1 }), floor: choice(['ground', 'first'])`,
        'countries: entity({ fields: { code: text() } }),',
      ),
    )
    await reader.type(plan)
    await reader.call('PATCH', 'rooms/3/', { floor: 'first' })
    must(reader.folder, 'npx takeback migrate --apply')
    await reader.type(drop)
  },

  async 'docs/taking-back.md'() {
    const [cascade, undo, conflict, skip, history, purge, never, ...more] = typedIn('docs/taking-back.md')
    expect(more).toEqual([])
    const reader = new Reader()
    await reader.serve()
    await reader.call('POST', 'users/', {
      email: 'bo@example.com',
      password: 'correct horse battery',
      name: 'Bo',
    })
    await addBookings(reader, { open: [1, 1, 1] }, { owner: { id: 1 } })
    await reader.type(cascade)
    await reader.type(undo)
    await letAnAgentLoose(reader)
    for (const block of [conflict, skip, history, purge, never]) await reader.type(block)
  },

  async 'docs/backups.md'() {
    const reader = new Reader()
    await reader.serve()
    await addBookings(reader, { open: Array.from({ length: 14 }, () => 1) })
    await reader.call('DELETE', 'bookings/3/')
    await reader.call('DELETE', 'bookings/4/')
    for (const block of typedIn('docs/backups.md')) await reader.type(block)
  },

  async 'docs/instances.md'() {
    await startPostgres()
    const [serve, container, copy, ...more] = typedIn('docs/instances.md')
    expect(more).toEqual([])
    const reader = new Reader()
    reader.postgres = (await newDatabase('postgres', newFolder())).url
    await reader.type(serve)
    await reader.stop()
    await reader.serve()
    await addBookings(reader, { open: Array.from({ length: 14 }, () => 1) })
    await reader.stop()
    reader.postgres = (await newDatabase('postgres', newFolder())).url
    await reader.type(copy)
    expect(container?.text).toContain('npm pack')
  },
}

const rooms = (fields: string, more = '') => `import { app, choice, entity, integer, text } from 'takeback'
export default app({ admins: 'admins', entities: {
  admins: entity({ login: { userType: 'admin' }, fields: {} }),
${more}
  rooms: entity({ fields: { ${fields} } }),
} })
void choice
`

/** Creates a room, and bookings with these numbers of guests. */
async function addBookings(
  reader: Reader,
  guests: Record<string, number[]>,
  more: object = {},
): Promise<void> {
  await reader.call('POST', 'rooms/', { title: 'Attic', beds: 2 })
  let day = 0
  for (const [status, numbers] of Object.entries(guests))
    for (const guests of numbers) {
      const starts_at = new Date(Date.UTC(2027, 4, 1 + day++, 15)).toISOString()
      await reader.call('POST', 'bookings/', { room: { id: 1 }, starts_at, guests, status, ...more })
    }
}

/** Does what the page tells about an agent. */
async function letAnAgentLoose(reader: Reader): Promise<void> {
  const agent = { email: 'agent@example.com', password: 'correct horse battery' }
  await reader.call('POST', 'admins/', agent)
  const { token } = await reader.call('POST', 'auth/login', agent, '')
  reader.since = new Date().toISOString()
  await reader.call('PATCH', 'bookings/1/', { guests: 19 }, token)
  await reader.call('PATCH', 'bookings/2/', { guests: 7, status: 'paid' }, token)
  await reader.call('DELETE', 'bookings/3/', undefined, token)
  await reader.call('POST', 'bookings/', { room: { id: 1 }, starts_at: '2028-01-01T15:00:00Z' }, token)
  await reader.call('PATCH', 'bookings/2/', { guests: 2 })
}

const tools = ['bash', 'curl', 'npx', 'mkfifo', 'grep'].every((tool) => Bun.which(tool) !== null)
if (!tools) console.warn('skipped: the commands of the docs need bash, curl, grep and npx')

describe.skipIf(!tools)('the commands of the docs, typed in', () => {
  for (const [page, read] of Object.entries(stories)) test(page, read)

  test('are all there is', () => {
    // These two have their own tests.
    const others = ['README.md', 'docs/first-app.md']
    const typed = pages.filter((page) => !others.includes(page) && typedIn(page).length > 0)
    expect(typed).toEqual(Object.keys(stories).sort())
    const languages = new Set(pages.flatMap(blocksOf).map(({ language }) => language))
    expect([...languages].sort()).toEqual([
      ...['', 'console', 'dockerfile', 'html', 'ini', 'js', 'json', 'sh', 'ts', 'tsx', 'yaml'],
    ])
  })
})

const blockOf = (language: string) => {
  const [block] = blocksOf('docs/instances.md').filter((one) => one.language === language)
  return block?.text ?? ''
}

async function expectHealthy(
  command: readonly string[],
  folder: string,
  env: Record<string, string>,
): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', TAKEBACK_DRAIN: '0', ...env },
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const { value } = await child.stdout.getReader().read()
  const port = /ready at http:\/\/0\.0\.0\.0:(\d+)/.exec(new TextDecoder().decode(value))?.[1] ?? ''
  const check = blockOf('dockerfile').match(/^HEALTHCHECK .*? CMD (\[.*\])$/m)?.[1] ?? ''
  const health = JSON.parse(check).map((part: string) => part.replace('3000', port)) as string[]
  expect(await Bun.spawn(health, { stdout: 'ignore' }).exited).toBe(0)
  child.kill()
  expect(await child.exited).toBe(0)
  expect(await Bun.spawn(health, { stdout: 'ignore' }).exited).toBe(1)
  return port
}

/** Makes a folder, and types the commands above the Dockerfile in it. */
async function makeShop(): Promise<string> {
  const folder = join(newFolder(), 'shop')
  mkdirSync(folder)
  symlinkSync(root, join(folder, '..', 'takeback'))
  const script = blocksOf('docs/instances.md').find(({ text }) => text.includes('npm pack'))
  for (const { command } of commandsOf(script ?? { language: 'sh', text: '', said: '' }))
    if (command === PACK) cpSync(await pack(), join(folder, `takeback-${pkg.version}.tgz`))
    else if (/^npm install \.\/(\S+)$/.test(command) && !network) {
      const tarball = command.replace('npm install ./', '')
      unpack(join(folder, tarball), folder, { complete: true })
      writeFileSync(join(folder, 'package.json'), `{"dependencies":{"takeback":"file:${tarball}"}}`)
      writeFileSync(join(folder, 'package-lock.json'), '{}')
    } else must(folder, command)
  return folder
}

describe.skipIf(!tools)('what the docs say of services', () => {
  let shop = ''
  beforeAll(async () => {
    shop = await makeShop()
  })

  test('the container works from an empty folder, line by line', async () => {
    const image = newFolder()
    const env: Record<string, string> = {}
    let command: string[] = []
    for (const line of blockOf('dockerfile').trim().split('\n')) {
      const [word = '', ...rest] = line.split(' ')
      const text = rest.join(' ')
      if (word === 'COPY') for (const file of rest.slice(0, -1)) cpSync(join(shop, file), join(image, file))
      else if (word === 'RUN') build(image, text)
      else if (word === 'ENV')
        for (const [name, value] of rest.map((one) => one.split('='))) env[name ?? ''] = value ?? ''
      else if (word === 'CMD') command = JSON.parse(text)
      else expect(['FROM', 'WORKDIR', 'USER', 'VOLUME', 'EXPOSE', 'HEALTHCHECK']).toContain(word)
    }
    await expectHealthy(command, image, { ...env, PORT: '0' })
  })

  test('the unit of systemd starts it', async () => {
    const folder = newFolder()
    unpack(join(shop, tarballIn(shop)), folder, { complete: true })
    cpSync(example, join(folder, 'takeback.config.ts'))
    const [, start = ''] = /^ExecStart=\/usr\/bin\/(.*)$/m.exec(blockOf('ini')) ?? []
    await expectHealthy(start.split(' '), folder, { PORT: '0' })
  })
})

function tarballIn(folder: string): string {
  return readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
}

/** Runs a script of the Dockerfile as an image build would: as root, without a user called node. */
function build(image: string, script: string): void {
  const me = must(image, 'id -un').trim()
  if (!network) {
    unpack(join(image, tarballIn(image)), image, { complete: true })
  }
  must(image, script.replace('npm ci', network ? 'npm ci' : 'true').replace('chown node', `chown ${me}`))
}
