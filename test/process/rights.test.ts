import { expect, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../harness.ts'
import { example, LOGIN, newFolder, run, runHere, serve } from './process.ts'

const rightsOf = (file: string) => statSync(file).mode & 0o777

const posix = process.platform !== 'win32'
if (!posix) console.warn('skipped: Windows has no rights of this kind')

test.skipIf(!posix)('every file that is made is for its owner alone, whatever the umask says', async () => {
  const folder = newFolder()
  const data = join(folder, 'deep', 'data')
  const args = ['--config', example, '--database', `sqlite:${data}/t.db`]
  const before = process.umask(0)
  const server = await serve(args).finally(() => process.umask(before))
  const sent = await fetch(`${server.url}/api/health`, { headers: { Accept: '*/*' } })
  expect(sent.status).toBe(200)
  expect(readdirSync(data).sort()).toEqual(['t.db', 't.db-shm', 't.db-wal', 't.db.mark', 't.db.secret'])
  for (const file of readdirSync(data)) expect([file, rightsOf(join(data, file))]).toEqual([file, 0o600])
  expect([rightsOf(data), rightsOf(join(folder, 'deep'))]).toEqual([0o700, 0o700])
  expect(server.said()).not.toContain('chmod')
  await server.end()
})

test.skipIf(!posix)('a database that others can open is served, with a warning', async () => {
  const folder = newFolder()
  const file = join(folder, 't.db')
  const args = ['--config', example, '--database', `sqlite:${file}`]
  await runHere(['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password, ...args])
  chmodSync(file, 0o644)
  const server = await serve(args)
  await eventually(() => server.said().includes(`chmod 600 ${file}`))
  await server.end()
  expect(rightsOf(file)).toBe(0o644)
})

test.skipIf(!posix)(
  'a secret that others may know is refused, in a sentence that says what to do',
  async () => {
    const folder = newFolder()
    const file = join(folder, 't.db')
    const secret = `${file}.secret`
    const args = ['serve', '--port', '0', '--config', example, '--database', `sqlite:${file}`]
    await runHere(['user', 'add', 'admins', LOGIN.email, '--password', LOGIN.password, ...args.slice(3)])
    for (const mode of [0o644, 0o640, 0o604, 0o660, 0o602, 0o677]) {
      chmodSync(secret, mode)
      const { code, err } = await run(args)
      expect([mode, code, err.includes(`run "chmod 600 ${secret}"`)]).toEqual([mode, 1, true])
      expect(err.trim().split('\n')).toHaveLength(1)
    }
    chmodSync(secret, 0o600)
    const elsewhere = join(folder, 'elsewhere')
    renameSync(secret, elsewhere)
    symlinkSync(elsewhere, secret)
    const link = await run(args)
    expect([link.code, link.err]).toEqual([
      1,
      expect.stringContaining('is a symbolic link') as unknown as string,
    ])
    expect(lstatSync(secret).isSymbolicLink()).toBe(true)
  },
)

test('a secret that is easy to guess is refused, from the file and from the environment', async () => {
  const folder = newFolder()
  mkdirSync(join(folder, 'data'))
  const file = join(folder, 'data', 't.db')
  const args = ['serve', '--port', '0', '--config', example, '--database', `sqlite:${file}`]
  for (const weak of [
    ' '.repeat(40),
    `${'\t'.repeat(20)}short${'\n'.repeat(20)}`,
    'x'.repeat(64),
    'abab'.repeat(16),
  ]) {
    for (const variable of ['TAKEBACK_SECRET', 'TAKEBACK_SECRET_PREVIOUS']) {
      const { code, err } = await run(args, { env: { [variable]: weak } })
      expect([weak, code, err.startsWith(`${variable} must have at least`)]).toEqual([weak, 1, true])
    }
    writeFileSync(`${file}.secret`, weak, { mode: 0o600 })
    const { code, err } = await run(args)
    expect([weak, code, err.includes('must have at least'), existsSync(file)]).toEqual([weak, 1, true, true])
  }
})
