import { expect, test } from 'bun:test'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder } from './process.ts'

const root = join(import.meta.dir, '..', '..')

const right = `import { app, entity, everyone, ref, text } from 'takeback'
export default app({ entities: {
  rooms: entity({ fields: { title: text({ max: 200, unique: true }) }, access: { read: everyone } }),
  bookings: entity({ fields: { room: ref('rooms', { onDelete: 'cascade' }) } }),
} })`

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
  for (const flags of [
    ['--module', 'nodenext', '--target', 'es2022'],
    ['--module', 'preserve', '--moduleResolution', 'bundler', '--target', 'es2022'],
  ])
    expect(check(right, flags)).toBe('')
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
