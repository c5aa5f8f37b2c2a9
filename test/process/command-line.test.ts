import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pkg from '../../package.json'
import { eventually } from '../harness.ts'
import { codesOf } from '../totp-codes.ts'
import { example, LOGIN, newFolder, prepared, run, runHere, serve, takeback } from './process.ts'

const post = (url: string, body: unknown, headers = {}) =>
  fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { Accept: '*/*', 'Content-Type': 'application/json', ...headers },
  })

test('help, version, and what is mistyped', async () => {
  expect((await run(['--version'], { direct: false })).out.trim()).toBe(pkg.version)
  const help = await run(['--help'])
  const mistyped = await run(['serve', '--databse', 'x'])
  expect([mistyped.code, mistyped.out, mistyped.err]).toEqual([
    1,
    '',
    'takeback serve does not know --databse: did you mean --database?\n',
  ])
  expect(help.out).toContain('takeback serve')
  expect(help.out).toContain('takeback user add')
  for (const command of ['serve', 'init', 'user add']) {
    const { code, out } = await runHere([...command.split(' '), '--help'])
    expect([code, out.includes(`takeback ${command}`)]).toEqual([0, true])
  }
  for (const [args, sentence] of [
    [['serv'], 'There is no command "serv"; did you mean "takeback serve"?'],
    [['user'], 'There is no command "user"; did you mean "takeback user add"?'],
    [['serve', 'this'], 'takeback serve does not take "this"'],
    [['serve', '--port'], '--port needs a value: --port N.'],
    [['serve', '--database='], '--database needs a value: --database URL.'],
    [['backup', '--to', ''], '--to needs a value: --to FILE|FOLDER.'],
    [['serve', '--port', '99999'], '--port must be a number from 0 to 65535'],
    [['serve', '--log', 'xml'], '--log must be pretty or json'],
    [['serve', '--database', 'mysql:x'], '--database must be an address such as sqlite:'],
    [['serve', '--trusted-proxies', 'here'], '--trusted-proxies must be addresses'],
    [['serve', '--database', 'postgres:/u:pw/d'], 'not "postgres:/u:pw/d"'],
    [['serve', '--pool', '0'], '--pool must be a number from 1 to 1000'],
    [['serve', '--statement-timeout', 'x'], '--statement-timeout must be seconds from 0.1 to 3600'],
    [['copy', '--from', 'sqlite:a.db'], 'Usage: takeback copy'],
    [['copy', '--from', 'sqlite:/nowhere/a.db', '--to', 'sqlite:/nowhere/b.db'], 'There is no /nowhere/a.db'],
    [['migrate', 'now'], 'takeback migrate does not take "now"'],
    [['init', 'a', 'b'], 'takeback init takes one folder.'],
    [['user', 'add'], 'Name a type and an e-mail'],
    [['user', 'unlock', 'admins'], 'Name a type and an e-mail'],
  ] as const) {
    const { code, err } = await runHere(args)
    expect([code, err]).toEqual([1, expect.stringContaining(sentence) as unknown as string])
    expect(err.trim().split('\n')).toHaveLength(1)
  }
})

const shell = ['sh', 'curl', 'sed'].every((tool) => Bun.which(tool) !== null)
if (!shell) console.warn('skipped: the tour needs sh, curl and sed')

test.skipIf(!shell)(
  'the first start makes an admin, prints the password once, and a tour that works',
  async () => {
    const folder = newFolder()
    const args = ['--config', example, '--database', `sqlite:${folder}/data/t.db`]
    const first = await serve(args, { direct: false })
    await eventually(() => first.said().includes('# taken back'))
    const said = first.said()
    const lines = said.split('\n').filter((line) => /^ {2}(API|[A-Z_]+=\$\(|curl)/.test(line))
    expect(lines.length).toBeGreaterThan(6)
    const tour = Bun.spawnSync(['sh', '-c', lines.join('\n')])
    const out = tour.stdout
      .toString()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
    expect(out[0]).toMatchObject({
      id: 1,
      room: { id: 1 },
      address: { city: 'Berlin', country: { id: 1 } },
      deleted_at: null,
    })
    expect(out[1].deleted_at).toBeString()
    expect(out[2].code).toBe('not_found')
    expect(out[3]).toMatchObject({ id: 1, deleted_at: null, version: 3 })
    expect(await first.end()).toBe(0)
    expect(statSync(join(folder, 'data', 't.db.secret')).mode & 0o777).toBe(0o600)
    const second = await serve(args)
    expect(second.said()).not.toContain('password')
    expect(await second.end()).toBe(0)
  },
)

test('init writes a config that serves at once, far from any node_modules, and never overwrites', async () => {
  const folder = newFolder()
  const made = await run(['init', 'shop'], { cwd: folder })
  expect([made.code, made.out.includes('cd shop && npm install && npx takeback serve')]).toEqual([0, true])
  const file = join(folder, 'shop', 'takeback.config.ts')
  const before = readFileSync(file, 'utf8')
  const again = await run(['init', 'shop'], { cwd: folder })
  expect([again.code, again.err.includes('already exists')]).toEqual([1, true])
  expect(readFileSync(file, 'utf8')).toBe(before)
  const server = await serve([], { cwd: join(folder, 'shop') })
  expect((await fetch(`${server.url}/api/health`)).status).toBe(200)
  expect(existsSync(join(folder, 'shop', 'data', 'takeback.db'))).toBe(true)
  server.child.kill('SIGINT') // like a terminal, which signals all processes at once
  expect(await server.end('SIGINT')).toBe(0)
})

test('settings come from the environment too, and flags win', async () => {
  const folder = newFolder()
  const env = {
    TAKEBACK_CONFIG: example,
    TAKEBACK_DATABASE: `sqlite:${folder}/env.db`,
    PORT: '1',
    TAKEBACK_LOG: 'json',
    TAKEBACK_SECRET: 'a secret of more than thirty-two bytes',
  }
  const server = await serve([], { env })
  expect(JSON.parse(server.said().split('\n')[0] ?? '')).toMatchObject({
    url: server.url,
    database: join(folder, 'env.db'),
  })
  expect(await server.end()).toBe(0)
  expect([existsSync(join(folder, 'env.db')), existsSync(join(folder, 'env.db.secret'))]).toEqual([
    true,
    false,
  ])
  const short = await run(['serve'], { env: { ...env, TAKEBACK_SECRET: 'short' } })
  expect([short.code, short.err]).toEqual([
    1,
    expect.stringContaining('TAKEBACK_SECRET must have at least 32 bytes') as unknown as string,
  ])
})

test('user add, with and without a running server, from a flag and from a pipe', async () => {
  const folder = newFolder()
  const args = ['--config', example, '--database', `sqlite:${folder}/u.db`]
  const before = await run([
    'user',
    'add',
    'users',
    'a@example.com',
    '--password',
    'a long password',
    '--set',
    'name=Ann',
    ...args,
  ])
  expect([before.code, before.out]).toEqual([0, `Added users/1 to ${folder}/u.db.\n`])
  const server = await serve(args)
  const piped = await run(['user', 'add', 'users', 'b@example.com', '--set', 'name=7', ...args], {
    stdin: 'another long password\n',
  })
  expect([piped.code, piped.out]).toEqual([0, `Added users/2 to ${folder}/u.db.\n`])
  for (const [email, password, name] of [
    ['a@example.com', 'a long password', 'Ann'],
    ['b@example.com', 'another long password', '7'],
  ]) {
    const response = await post(`${server.url}/api/auth/login`, { email, password })
    expect(((await response.json()) as { user: { name: string } }).user.name).toBe(name as string)
  }
  for (const [words, sentence] of [
    [
      ['users', 'a@example.com', '--password', 'a long password', '--set', 'name=x'],
      'email is taken by users/1',
    ],
    [['users', 'c@example.com', '--password', 'short'], 'password must have at least 12 characters'],
    [
      ['users', 'c@example.com', '--password', 'a long password', '--set', 'nme=x'],
      'nme is not a field of users',
    ],
    [['user', 'c@example.com'], 'did you mean "users"?'],
    [['users', 'c@example.com', '--set', 'x'], '--set takes name=value'],
    [['users', 'c@example.com', '--set', 'name=x'], 'No password was given'],
  ] as const) {
    // Without a password, it may ask for one.
    const command = ['user', 'add', ...words, ...args]
    const { code, err } = await (command.includes('--password') ? runHere(command) : run(command))
    expect([code, err]).toEqual([1, expect.stringContaining(sentence) as unknown as string])
    expect(err).not.toContain('    at ')
  }
  expect(await server.end()).toBe(0)
})

test('what stands against a start is one clear sentence and exit code 1', async () => {
  const folder = newFolder()
  const server = await serve(['--config', example, '--database', `sqlite:${folder}/good.db`])
  const { port } = new URL(server.url)
  const good = join(folder, 'good.db')
  const use = (file: string) => ['--config', example, '--database', `sqlite:${file}`]
  writeFileSync(
    join(folder, 'text.db'),
    'this is no database at all, but long enough to be read as one'.repeat(20),
  )
  mkdirSync(join(folder, 'folder.db'))
  writeFileSync(join(folder, 'broken.ts'), 'export default {{{')
  writeFileSync(join(folder, 'empty.ts'), 'export const x = 1')
  const foreign = new Database(join(folder, 'foreign.db'))
  foreign.run('CREATE TABLE other (x)')
  foreign.close()
  const taken = await run(['serve', ...use(join(folder, 'other.db')), '--port', port])
  expect([taken.code, taken.err]).toEqual([
    1,
    `Port ${port} on 127.0.0.1 is taken: choose another with --port, or 0 for a free one.\n`,
  ])
  expect(await server.end()).toBe(0)
  const newer = new Database(good)
  newer.run("UPDATE takeback_meta SET value = '99' WHERE key = 'format'")
  newer.close()
  writeFileSync(join(folder, 'cut.db'), readFileSync(good))
  truncateSync(join(folder, 'cut.db'), 20_000)
  for (const [args, sentence] of [
    [use(join(folder, 'text.db')), 'it is damaged, or not a database of Takeback'],
    [use(join(folder, 'cut.db')), 'it is damaged, or not a database of Takeback'],
    [use(join(folder, 'folder.db')), 'folder.db cannot be opened'],
    [use(join(folder, 'foreign.db')), "has tables that are not Takeback's"],
    [use(good), 'was written by a newer Takeback'],
    [
      ['--database', 'postgres://u:s3cr3t@127.0.0.1:1/d', '--config', example],
      'The database postgres://u@127.0.0.1:1/d cannot be used',
    ],
    [['--config', join(folder, 'nowhere.ts')], 'nowhere.ts: name another file with --config'],
    [['--config', join(folder, 'broken.ts')], 'line 1, column 17: '],
    [['--config', join(folder, 'empty.ts')], "must be the file's default export"],
  ] as const) {
    const { code, err, out } = await run(['serve', '--port', '0', ...args])
    expect([code, out, err]).toEqual([1, '', expect.stringContaining(sentence) as unknown as string])
    expect(err).not.toMatch(/\n\s+at /)
  }
  expect(readFileSync(join(folder, 'text.db'), 'utf8')).toStartWith('this is no database')
})

test('all mistakes of a declaration are reported at once', async () => {
  const folder = newFolder()
  writeFileSync(
    join(folder, 'takeback.config.ts'),
    `import { app, entity, ref, text } from 'takeback'
     export default app({ admins: 'admin', entities: {
       rooms: entity({ fields: { id: text(), title: text({ mxa: 3 }) } }),
       bookings: entity({ fields: { room: ref('room') }, access: { read: 'owner.id == me.id', list: 'x' } }),
     } })`,
  )
  const { code, err } = await run(['serve'], { cwd: folder })
  expect(code).toBe(1)
  expect(err).toContain('has 6 mistakes in the declaration:')
  for (const line of [
    'entities.rooms.fields.id: is a name that every Entity already has; choose another',
    'entities.rooms.fields.title.mxa: is not an option here; did you mean "max"?',
    'entities.bookings.fields.room: refers to "room", which is not declared; did you mean "rooms"?',
    'entities.bookings.access.read: unknown field "owner" at column 1, in "owner.id == me.id"',
    'entities.bookings.access.list: is not an action: lists use the rule of read',
    'admins: must name a declared Entity type',
  ])
    expect(err).toContain(line)
  expect(existsSync(join(folder, 'data'))).toBe(false)
})

test('user unlock lets an account in again while the server runs', async () => {
  const folder = newFolder()
  const args = ['--config', example, '--database', `sqlite:${folder}/t.db`]
  await runHere(['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password, ...args])
  const server = await serve(args)
  const login = (password: string) => post(`${server.url}/api/auth/login`, { ...LOGIN, password })
  for (let at = 0; at < 5; at++) expect((await login('a wrong password')).status).toBe(422)
  expect((await login(LOGIN.password)).status).toBe(429)
  const nobody = await runHere(['user', 'unlock', 'admins', 'nobody@example.com', ...args])
  expect([nobody.code, nobody.err.trim()]).toEqual([1, 'There is no nobody@example.com among the admins.'])
  const { code, out } = await run(['user', 'unlock', 'admins', LOGIN.email.toUpperCase(), ...args])
  expect(code).toBe(0)
  expect((await login(LOGIN.password)).status).toBe(200)
  await server.end()
  const [, account = 'none'] = /account (\S+)\.$/m.exec(out) ?? []
  expect(server.said().split(account).length - 1).toBe(7)
})

test('user unlock --remove-second-factor lets somebody in who has lost it, and says what it has removed', async () => {
  const folder = newFolder()
  const config = join(folder, 'takeback.config.ts')
  writeFileSync(
    config,
    `import { app, entity } from 'takeback'
export default app({ admins: 'admins', entities: { admins: entity({ login: { userType: 'admin', second: 'optional' }, fields: {} }) } })`,
  )
  const args = ['--config', config, '--database', `sqlite:${folder}/t.db`]
  await runHere(['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password, ...args])
  const server = await serve(args)
  const login = () => post(`${server.url}/api/auth/login`, LOGIN)
  const { token } = (await (await login()).json()) as { token: string }
  const call = (path: string, body: object) =>
    post(`${server.url}/api/auth/totp/${path}`, body, { Authorization: `Bearer ${token}` })
  const { secret } = (await (await call('', { password: LOGIN.password })).json()) as { secret: string }
  expect((await call('confirm', { code: codesOf(secret)(0) })).status).toBe(200)
  expect((await login()).status).toBe(422)
  const unlock = () => runHere(['user', 'unlock', 'admins', LOGIN.email, '--remove-second-factor', ...args])
  expect((await unlock()).out).toContain('Removed the second factor.\n')
  expect((await login()).status).toBe(200)
  expect((await unlock()).out).toContain('There was no second factor and no passkey to remove.\n')
  await server.end()
})

test('the first admin has the e-mail that was asked for, and a password that is temporary', async () => {
  const args = ['--config', example, '--database', `sqlite:${newFolder()}/t.db`]
  const server = await serve([...args, '--admin-email', 'ada@example.org', '--log', 'json'])
  await eventually(() => server.said().includes('password  '))
  const [, password = ''] = /password {2}(\S+)/.exec(server.said()) ?? []
  const answer = await post(`${server.url}/api/auth/login`, { email: 'ada@example.org', password })
  const { user, password_expires_at: until } = (await answer.json()) as Record<string, any>
  expect([answer.status, user.email, user.password_expires_at]).toEqual([200, 'ada@example.org', until])
  expect(new Date(until).getTime()).toBeGreaterThan(Date.now())
  await server.end()

  const bad = await serve(['--config', example, '--database', `sqlite:${newFolder()}/t.db`], {
    env: { TAKEBACK_ADMIN_EMAIL: 'no e-mail' },
  })
  await eventually(() => bad.said().includes('There is no admin yet'))
  expect(bad.said()).toContain('email must be an e-mail address')
  await bad.end()
})

test.skipIf(!existsSync('/dev/full'))(
  'output that cannot be written is an error, and what was done stays done',
  async () => {
    const { database, args } = await prepared('sqlite')
    const [, config = ''] = args
    const add = ['user', 'add', 'users', 'u@example.com', '--password', 'a long password', '--set', 'name=U']
    const only = { types: ['--config', config], check: ['--database', database.url] }
    const full = { shell: 'exec > /dev/full' }
    for (const words of [['--help'], ['types', ...only.types], ['check', ...only.check], [...add, ...args]]) {
      const { code, err } = await run(words, full)
      expect([words, code, err]).toEqual([
        words,
        1,
        expect.stringMatching(/^The output could not be written: .*\.\n$/),
      ])
    }
    const listed = await run(['user', 'list', 'users', '--json', ...args])
    expect([listed.code, JSON.parse(listed.out).email]).toEqual([0, 'u@example.com'])
    // A reader that has ended has read all that it wanted.
    const child = takeback(['types', ...only.types])
    await child.stdout.cancel()
    expect(await child.exited).toBe(0)
    await database.remove()
  },
)
