import { beforeAll, expect, test } from 'bun:test'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { template } from '../../src/cli/init-config.ts'
import * as takeback from '../../src/takeback.ts'
import { buildLibrary, newFolder } from './process.ts'

const root = join(import.meta.dir, '..', '..')

const right = `import { app, entity, everyone, ref, text } from 'takeback'
export default app({ entities: {
  rooms: entity({ fields: { title: text({ max: 200, unique: true }) }, access: { read: everyone } }),
  bookings: entity({ fields: { room: ref('rooms', { onDelete: 'cascade' }) } }),
} })`

/** Every builder, with and without options, so that TypeScript must name every type that it infers. */
const everything = `import * as t from 'takeback'
export const bare = { a: t.text(), b: t.email(), c: t.url(), d: t.integer(), e: t.number(), f: t.decimal(),
  g: t.boolean(), h: t.date(), i: t.datetime(), j: t.choice(['x', 'y']), k: t.json(), l: t.secret(),
  m: t.object({ a: t.text() }), n: t.list(t.text()), o: t.ref('things') }
export const given = { a: t.text({ max: 3, read: t.everyone }), m: t.object({ a: t.date({ optional: true }) }, { optional: true }),
  n: t.list(t.ref('things', { onDelete: 'clear' }), { max: 3 }), o: t.ref('things', { as: 'x', write: t.signedIn }) }
export const things = t.entity({ fields: bare, access: { read: t.everyone, create: t.signedIn }, trash: { keep: '3d' } })
export default t.app({ admins: 'admins', journal: { keep: '1d' }, entities: {
  things, admins: t.entity({ login: { userType: 'admin' }, fields: {} }) } })
export const builders = { ...t }`

const settings = [
  ['--module', 'nodenext', '--target', 'es2022'],
  ['--module', 'preserve', '--moduleResolution', 'bundler', '--target', 'es2022'],
]

beforeAll(buildLibrary)

/** What TypeScript says of a config in somebody's project that has Takeback as a dependency. */
function check(config: string, flags: readonly string[]): string {
  const folder = newFolder()
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'takeback'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'takeback.config.ts'), config)
  const tsc = join(root, 'node_modules', '.bin', 'tsc')
  const { stdout } = Bun.spawnSync([tsc, '--noEmit', '--strict', ...flags, 'takeback.config.ts'], {
    cwd: folder,
  })
  return stdout.toString()
}

test('a config type-checks in somebody else’s project, whatever the project’s settings', () => {
  for (const flags of settings) expect(check(right, flags)).toBe('')
})

test('so does one that is exported with its types', () => {
  const names = Object.keys(takeback).filter((name) => !everything.includes(`t.${name}`))
  expect(names).toEqual([])
  for (const flags of settings)
    for (const config of [right, everything, template])
      expect(check(config, [...flags, '--declaration', '--verbatimModuleSyntax'])).toBe('')
})

test('and mistakes in it are found before it is served', () => {
  const wrong = right
    .replace('max: 200', 'mx: 200')
    .replace("'cascade'", "'cascad'")
    .replace('access:', 'acces:')
  const said = check(wrong, ['--module', 'nodenext', '--target', 'es2022'])
  expect(said).toContain('"cascad"')
  expect(said.match(/takeback\.config\.ts\(3,\d+\): error/g)).toHaveLength(2)
})
