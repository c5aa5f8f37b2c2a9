import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { root } from './process.ts'

const start = (env: Record<string, string>, ...args: string[]) =>
  Bun.spawnSync([process.execPath, join(root, 'test', 'run.ts'), ...args], {
    cwd: root,
    env: { ...process.env, ...env },
  })

test('npm test fails at once where there is no PostgreSQL', () => {
  const nowhere = 'postgres://user:password@127.0.0.1:1/name'
  const { exitCode, stderr } = start({ TAKEBACK_TEST_POSTGRES: nowhere }, 'test/errors.test.ts')
  expect([exitCode, stderr.toString()]).toEqual([
    1,
    expect.stringContaining('The tests need PostgreSQL: ') as unknown as string,
  ])
  expect(stderr.toString()).not.toContain('(pass)')
})

test('npm run test:fast needs none, and says what it leaves out', () => {
  const { exitCode, stdout } = start({}, '--fast', 'test/errors.test.ts')
  expect([exitCode, stdout.toString()]).toEqual([
    0,
    expect.stringContaining('Left out: PostgreSQL') as unknown as string,
  ])
})
