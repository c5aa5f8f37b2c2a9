import { beforeAll, expect, test } from 'bun:test'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { digestOfSources, isUpToDate, markAsBuilt } from '../../build/up-to-date.js'
import pkg from '../../package.json'
import * as takeback from '../../src/takeback.ts'
import { blocksOf } from '../markdown.ts'
import { must, network, pack, sh, unpack } from './package.ts'
import { example, newFolder, run } from './process.ts'

const root = join(import.meta.dir, '..', '..')
let tarball = ''

beforeAll(async () => {
  tarball = await pack()
})

/** The exports that Node sees. */
const IMPORT = `import * as all from 'takeback'
import { connect } from 'takeback/client'
import { takebackCollection } from 'takeback/tanstack-db'
import { testApp } from 'takeback/testing'
console.log(Object.keys(all).join())
console.log(all.text({ max: 3 }).max)
console.log(typeof connect, typeof takebackCollection, typeof testApp)`

/** Tries what a new user does on the first evening. */
async function tryOut(folder: string): Promise<void> {
  const command = 'node node_modules/takeback/bin/takeback.js'
  expect(must(folder, `${command} --version`).trim()).toBe(pkg.version)
  expect(must(folder, `${command} init`)).toContain('npx takeback serve')
  const tsc = join(root, 'node_modules', '.bin', 'tsc')
  // The type check does not depend on what is written.
  const declarations = '--declaration --emitDeclarationOnly --noEmit false --outDir out'
  expect(must(folder, `"${tsc}" --checkers 1 ${declarations}`)).toBe('')
  writeFileSync(join(folder, 'import.mjs'), IMPORT)
  const [names = '', declared, others] = must(folder, 'node import.mjs').split('\n')
  expect(names.split(',').sort()).toEqual(Object.keys(takeback).sort())
  expect([declared, others]).toEqual(['3', 'function function function'])
  const server = Bun.spawn([...command.split(' '), 'serve', '--port', '0', '--log', 'json'], {
    cwd: folder,
    env: { ...process.env, TAKEBACK_DRAIN: '0' },
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const { value } = await server.stdout.getReader().read()
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(new TextDecoder().decode(value))?.[0]
  expect((await fetch(`${url}/api/health`, { headers: { Accept: 'application/json' } })).status).toBe(200)
  server.kill()
  expect(await server.exited).toBe(0)
}

test('the tarball has what is needed, and nothing else', async () => {
  const folder = newFolder()
  unpack(tarball, folder, { complete: true })
  await tryOut(folder)
  const files = readdirSync(join(folder, 'node_modules', 'takeback'), { recursive: true }).map(String)
  expect(files.filter((file) => /\.test\.|^test\/|^bench|^data|\.db$|\.made-from$/.test(file))).toEqual([])
  for (const file of [
    'lib/src/takeback.js',
    'lib/src/takeback.d.ts',
    'lib/client/client.js',
    'lib/tanstack-db/tanstack-db.js',
    'lib/testing/node.js',
    'lib/testing/node.d.ts',
    'lib/bundle/bundle.js',
    'lib/bundle/reader.js',
    'README.md',
    'LICENSE',
    'SECURITY.md',
  ])
    expect(files).toContain(file)
})

test('the bundle runs as long as the sources are those that it was made from', () => {
  const folder = newFolder()
  unpack(tarball, folder, { complete: true })
  const home = join(folder, 'node_modules', 'takeback')
  const version = () => must(folder, `node "${home}/bin/takeback.js" --version`).trim()
  const change = (file: string, from: string, to: string) =>
    writeFileSync(join(home, file), readFileSync(join(home, file), 'utf8').replaceAll(from, to))
  expect(version()).toBe(pkg.version)
  change('lib/bundle/bundle.js', `version: "${pkg.version}"`, 'version: "of the bundle"')
  expect(version()).toBe('of the bundle')
  change('src/cli/run.ts', 'pkg.version', "'of the sources'")
  expect(version()).toBe('of the sources')
})

test('the examples of docs/testing.md run with bun test and with node:test', () => {
  const folder = newFolder()
  unpack(tarball, folder, { complete: true })
  must(folder, 'node node_modules/takeback/bin/takeback.js init')
  cpSync(example, join(folder, 'takeback.config.ts'))
  const [inBun, inVitest, inNode] = blocksOf('docs/testing.md').map(({ text }) => text)
  writeFileSync(join(folder, 'bookings.test.ts'), inBun ?? '')
  writeFileSync(join(folder, 'rooms.test.mjs'), inNode ?? '')
  writeFileSync(join(folder, 'rooms.ts'), inVitest?.replace("'vitest'", "'bun:test'") ?? '')
  symlinkSync(join(root, 'node_modules', '@types'), join(folder, 'node_modules', '@types'))
  symlinkSync(join(root, 'node_modules', 'bun-types'), join(folder, 'node_modules', 'bun-types'))
  // With the settings of the project, and the one that the page names.
  const settings = join(folder, 'tsconfig.json')
  writeFileSync(settings, readFileSync(settings, 'utf8').replace('"types": []', '"types": ["bun"]'))
  must(folder, `"${join(root, 'node_modules', '.bin', 'tsc')}" --checkers 1`)
  must(folder, `"${process.execPath}" test --timeout 120000 bookings.test.ts ./rooms.ts`)
  expect(must(folder, 'node --test rooms.test.mjs')).toContain('# pass 3')
})

test('an app that cannot start keeps no test run from ending', async () => {
  const folder = newFolder()
  unpack(tarball, folder, { complete: true })
  writeFileSync(
    join(folder, 'wrong.ts'),
    "import { app } from 'takeback'\nexport default app({ entities: {} })\n",
  )
  writeFileSync(
    join(folder, 'run.mjs'),
    `import { testApp } from 'takeback/testing'
    for (const file of ['./wrong.ts', './none.ts']) await testApp(file).catch(({ message }) => console.log(message))`,
  )
  const run = Bun.spawn(['node', 'run.mjs'], { cwd: folder, stdout: 'pipe', timeout: 30_000 })
  expect(await run.stdout.text()).toMatch(
    /must declare at least one Entity type.*There is no .*none\.ts: testApp needs the file of the declaration, such as new URL\('/s,
  )
  expect(await run.exited).toBe(0)
})

test('a folder whose packages are not installed says so in one sentence', () => {
  const folder = newFolder()
  unpack(tarball, folder, { complete: false })
  const { code, err } = sh(folder, 'node node_modules/takeback/bin/takeback.js serve')
  expect([code, err.trim().split('\n').length]).toEqual([1, 1])
  expect(err).toContain(`npm install --prefix "${join(folder, 'node_modules', 'takeback')}"`)
})

test('a package without its types is not packed', () => {
  const folder = newFolder()
  for (const file of ['build/lib.js', 'build/up-to-date.js', 'bin/find-bun.js'])
    cpSync(join(root, file), join(folder, file))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  for (const [command, code] of [
    ['pack', 1],
    ['publish', 1],
    ['install', 0],
  ] as const) {
    const ended = sh(folder, 'node build/lib.js', { npm_command: command })
    expect([command, ended.code, ended.err.includes('TypeScript is not installed')]).toEqual([
      command,
      code,
      true,
    ])
  }
})

test('what was built is not built again, unless it would be something else', () => {
  const folder = newFolder()
  const lib = join(folder, 'lib')
  const files: Record<string, string> = {
    'src/a.ts': 'a',
    'console/app.tsx': 'b',
    'package.json': '{}',
    'node_modules/.package-lock.json': '{}',
    'lib/src/a.js': 'c',
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const isBuilt = () => isUpToDate(lib, digestOfSources(folder))
  expect(isBuilt()).toBe(false)
  markAsBuilt(lib, digestOfSources(folder))
  expect(isBuilt()).toBe(true)
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), `${text} `)
    expect([name, isBuilt()]).toEqual([name, false])
    rmSync(join(folder, name))
    expect([name, isBuilt()]).toEqual([name, false])
    writeFileSync(join(folder, name), text)
    expect([name, isBuilt()]).toEqual([name, true])
  }
  for (const more of ['src/b.ts', 'lib/b.js']) {
    writeFileSync(join(folder, more), '')
    expect([more, isBuilt()]).toEqual([more, false])
    rmSync(join(folder, more))
  }
  // The console is built from the same sources, but is not one of them.
  mkdirSync(join(folder, 'console', 'dist'))
  writeFileSync(join(folder, 'console', 'dist', 'assets.js'), '')
  expect(isBuilt()).toBe(true)
})

const project = ['takeback.config.ts', 'package.json', 'tsconfig.json', '.gitignore']

test('init adds what is missing, and leaves what is there', async () => {
  const fresh = newFolder()
  must(fresh, `node "${join(root, 'bin', 'takeback.js')}" init`)
  expect(readdirSync(fresh).sort()).toEqual([...project].sort())
  const made = JSON.parse(readFileSync(join(fresh, 'package.json'), 'utf8'))
  expect([made.type, existsSync(join(fresh, made.dependencies.takeback.replace('file:', '')))]).toEqual([
    'module',
    true,
  ])
  for (const [name, before, after] of [
    ['package.json', '{"dependencies":{}}', { dependencies: {}, type: 'module' }],
    ['package.json', '{"type":"commonjs"}', { type: 'commonjs' }],
    ['package.json', '{ not json', undefined],
    ['tsconfig.json', '{ "compilerOptions": {} }', undefined],
    ['.gitignore', 'mine\n', undefined],
  ] as const) {
    const folder = newFolder()
    writeFileSync(join(folder, name), before)
    expect((await run(['init'], { cwd: folder })).code).toBe(0)
    const text = readFileSync(join(folder, name), 'utf8')
    expect(after === undefined ? text : JSON.parse(text)).toEqual(after ?? before)
    expect(readdirSync(folder).sort()).toEqual([...project].sort())
  }
})

test('what the docs put into a project stays out of its commits, if it is secret', () => {
  const folder = newFolder()
  const takeback = `node "${join(root, 'bin', 'takeback.js')}"`
  must(folder, `${takeback} init && git init -q`)
  must(folder, `${takeback} user add admins a@example.com --password 'only for this test'`)
  must(folder, `${takeback} backup && ${takeback} backup --to monday.db`)
  must(folder, `${takeback} restore monday.db --to sqlite:restored/takeback.db`)
  must(folder, `${takeback} user list admins --database sqlite:restored/takeback.db`)
  const added = must(folder, 'git ls-files --others --exclude-standard').trim().split('\n')
  expect(added.toSorted()).toEqual(project.toSorted())
})

if (!network) console.warn('skipped: npm install from the registry; TAKEBACK_TEST_NETWORK=1 runs it')

test.skipIf(!network)(
  'npm installs it from the tarball, from git and from a folder',
  async () => {
    const clone = join(newFolder(), 'takeback')
    must(root, `git clone -q . "${clone}"`)
    for (const spec of [tarball, `git+file://${clone}`]) {
      const folder = newFolder()
      must(folder, `npm install "${spec}"`)
      await tryOut(folder)
    }
    const folder = newFolder()
    must(folder, `npm install "${clone}"`)
    const { err } = sh(folder, 'npx takeback init')
    const [, advice = ''] = /then try again: (.*)/.exec(err) ?? []
    must(folder, advice)
    await tryOut(folder)
  },
  600_000,
)
