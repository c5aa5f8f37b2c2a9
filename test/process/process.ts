import { spyOn } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadModel, openApp } from '../../src/app.ts'
import { runCommand } from '../../src/cli/run.ts'
import { readConfig } from '../../src/config.ts'
import { StartError } from '../../src/errors.ts'
import { system } from '../../src/plan/viewer/actor.ts'
import { newDatabase, type TestDatabase } from '../harness.ts'
import { addMember } from '../members.ts'
import { newPreparedDatabase } from '../postgres.ts'

export const root = join(import.meta.dir, '..', '..')

export const example = join(root, 'examples', 'bookings', 'takeback.config.ts')

/** `npm test` bundles it, so that it starts sooner. */
export const commandLine = process.env.TAKEBACK_TEST_COMMAND_LINE ?? join(root, 'src', 'cli', 'main.ts')

/** No balancer has to be waited for here, and each connection costs PostgreSQL six milliseconds of processor time. */
const MODEST = { TAKEBACK_DRAIN: '0', TAKEBACK_POOL: '4' }

/** For tests of concurrency: as many connections as a real server has. */
export const FULL_POOL = { TAKEBACK_POOL: '10' }

export const LOGIN = { email: 'a@example.com', password: 'a long password' }

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'takeback-process-'))
}

/** For tests that need not start with an empty database: on PostgreSQL, creating Takeback's own tables takes long. */
export function databaseWithOwnTables(store: string, folder: string): Promise<TestDatabase> {
  return store === 'postgres' ? newPreparedDatabase() : newDatabase(store, folder)
}

/** Makes a database with an admin. Returns it with the arguments that name it. */
export async function prepared(store: string): Promise<{ database: TestDatabase; args: string[] }> {
  const database = await databaseWithOwnTables(store, newFolder())
  const args = ['--config', example, '--database', database.url]
  const app = await openApp(readConfig({ database: database.url }, {}), await loadModel(example))
  await addMember(app, 'admins', { body: LOGIN, actor: system })
  await app.close()
  return { database, args }
}

/** Returns headers with a token of the admin that `prepared` has made. */
export async function login(url: string): Promise<Record<string, string>> {
  const headers = { Accept: '*/*', 'Content-Type': 'application/json' }
  const response = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers,
    body: JSON.stringify(LOGIN),
  })
  const { token } = (await response.json()) as { token: string }
  return { ...headers, Authorization: `Bearer ${token}` }
}

/**
 * Starts the command line as a process. With `direct` there is no launcher in between, so that its pid is the server's
 * and it starts sooner; otherwise as a user starts it.
 */
export function takeback(
  args: readonly string[],
  {
    cwd = root,
    env = {},
    stdin = '',
    direct = true,
    shell,
  }: {
    cwd?: string
    env?: Record<string, string>
    stdin?: string
    direct?: boolean
    /** Shell commands to run first. */
    shell?: string
  } = {},
) {
  return Bun.spawn(
    [
      ...(shell === undefined ? [] : ['sh', '-c', `${shell}; exec "$@"`, 'sh']),
      ...(direct ? [process.execPath, commandLine] : ['node', join(root, 'bin', 'takeback.js')]),
      ...args,
    ],
    {
      cwd,
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...MODEST, ...env },
      stdin: new TextEncoder().encode(stdin),
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
}

/** Runs it to its end. Returns its output and exit code. */
export async function run(
  args: readonly string[],
  options: Parameters<typeof takeback>[1] = {},
): Promise<{ code: number; out: string; err: string }> {
  const child = takeback(args, options)
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { code, out, err }
}

/**
 * Runs a command in this process, which takes a fraction of the time: for commands whose process another test has
 * tried. Not for commands that ask at a terminal, and not concurrently.
 */
export async function runHere(args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  let out = ''
  const log = spyOn(console, 'log').mockImplementation((...said) => {
    out += `${said.join(' ')}\n`
  })
  try {
    await runCommand(args)
    return { code: 0, out, err: '' }
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return { code: 1, out, err: `${error.message}\n` }
  } finally {
    log.mockRestore()
  }
}

/** Starts a server and waits for its ready line. */
export async function serve(args: readonly string[], options: Parameters<typeof takeback>[1] = {}) {
  const child = takeback(['serve', '--port', '0', ...args], options)
  const reader = child.stdout.getReader()
  let out = ''
  while (!/http:\/\/127\.0\.0\.1:\d+/.test(out)) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`no ready line: ${out}${await child.stderr.text()}`)
    out += new TextDecoder().decode(value)
  }
  let err = ''
  const gatherErrors = (async () => {
    for await (const chunk of child.stderr) err += new TextDecoder().decode(chunk)
  })()
  const gather = (async () => {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      out += new TextDecoder().decode(value)
    }
  })()
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(out)?.[0] ?? ''
  return {
    url,
    child,
    said: () => out + err,
    async end(signal: NodeJS.Signals = 'SIGTERM') {
      child.kill(signal)
      await child.exited
      await gather
      await gatherErrors
      return child.exitCode
    },
  }
}

/** Builds `lib/` as `npm install` does: the package as Node and TypeScript see it. Only if a source has changed. */
export function buildLibrary(): void {
  const { exitCode, stderr } = Bun.spawnSync(['node', join(root, 'build', 'lib.js')])
  if (exitCode !== 0) throw new Error(stderr.toString())
}
