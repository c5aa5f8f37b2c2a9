import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Database } from './store.ts'

const root = join(import.meta.dir, '..')

/** Returns the path of a file of the project. */
export const rootOf = (file: string) => join(root, file)

/** The default declaration. */
export const CONFIG = 'bench/takeback.config.ts'
const READY_MS = 20_000
const STOP_MS = 15_000

/** The folder for all files of a run. It is removed at the end, and all child processes are killed. */
export const folder = mkdtempSync(join(tmpdir(), 'takeback-bench-'))
const running = new Set<Bun.Subprocess>()

export function cleanUp(): void {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

/** With two cores, servers get one and the load gets the other, so that neither slows the other down. */
export const pinned =
  process.platform === 'linux' &&
  availableParallelism() >= 2 &&
  ['0', '1'].every((core) => spawnSync('taskset', ['-c', core, 'true']).status === 0)

export function onCore(core: 'load' | 'server', command: readonly string[]): string[] {
  return pinned ? ['taskset', '-c', core === 'load' ? '0' : '1', ...command] : [...command]
}

/** Runs a command, for at most `seconds`, and returns its output. */
export async function run(
  command: readonly string[],
  seconds: number,
  input = '',
  from = root,
): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: from,
    stdin: new Blob([input]),
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: seconds * 1000,
  })
  running.add(child)
  const [output, complaint] = await Promise.all([child.stdout.text(), child.stderr.text()])
  const code = await child.exited
  running.delete(child)
  if (code !== 0) throw new Error(`"${command.join(' ')}" ended with ${code}: ${complaint || output}`)
  return output
}

export interface Server {
  readonly url: string
  readonly pid: number
  /** How long the process took until it was ready. */
  readonly startedMs: number
  /** Empties the log, so that it is not written to the disk, where it would slow down every fsync. */
  cutLog(): void
  stop(): Promise<void>
}

/** Returns the command with which `npm start` starts the Takeback in a folder. */
function commandOf(from: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
  const [, file = ''] = /^bun (\S+) serve /.exec(scripts.start) ?? []
  return [process.execPath, file]
}

/** `from` is the folder of the Takeback to start. */
export function startTakeback(
  database: Database,
  free = false,
  config = CONFIG,
  from = root,
): Promise<Server> {
  const command = [...commandOf(from), 'serve', ...storeFlags(database, config)]
  const whole = [...command, '--host', '127.0.0.1', '--port', '0', '--log', 'json']
  return start(free ? whole : onCore('server', whole), from)
}

export function startLimit({ url }: Database): Promise<Server> {
  return start(onCore('server', [process.execPath, 'bench/limit.ts', url]))
}

/** `file` is the file of the page. */
export function startPage({ url }: Database, file: string): Promise<Server> {
  return start(onCore('server', [process.execPath, 'bench/page.ts', url, file]))
}

export function startWithoutJournal({ url }: Database): Promise<Server> {
  return start(onCore('server', [process.execPath, 'bench/without-journal.ts', url]))
}

export function storeFlags({ url }: Database, config: string): string[] {
  return ['--config', config, '--database', url]
}

let count = 0

async function start(command: readonly string[], from = root): Promise<Server> {
  const log = join(folder, `${++count}.log`)
  const output = openSync(log, 'a')
  const began = performance.now()
  const child = Bun.spawn([...command], { cwd: from, stdin: 'ignore', stdout: output, stderr: output })
  closeSync(output)
  running.add(child)
  const url = await ready(child, log)
  return {
    url,
    pid: child.pid,
    startedMs: performance.now() - began,
    cutLog: () => truncateSync(log),
    async stop() {
      child.kill('SIGTERM')
      const ended = await Promise.race([child.exited, Bun.sleep(STOP_MS)])
      if (ended === undefined) child.kill('SIGKILL')
      await child.exited
      running.delete(child)
    },
  }
}

async function ready(child: Bun.Subprocess, log: string): Promise<string> {
  const until = performance.now() + READY_MS
  while (performance.now() < until) {
    const said = readFileSync(log, 'utf8')
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? []
    if (url !== undefined) return url
    if (child.exitCode !== null) throw new Error(`A server ended with ${child.exitCode}: ${said}`)
    await Bun.sleep(1)
  }
  throw new Error(`A server was not ready in ${READY_MS / 1000} seconds: ${readFileSync(log, 'utf8')}`)
}

/** Returns the resident memory in megabytes: now, and its peak if the system tells it. */
export function memoryOf(pid: number): { now: number; peak: number } {
  if (process.platform === 'linux') {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
    return { now: of('VmRSS'), peak: of('VmHWM') }
  }
  const now = Number(spawnSync('ps', ['-o', 'rss=', '-p', String(pid)]).stdout.toString()) / 1024
  return { now, peak: now }
}

/** Returns the processor time of a process in milliseconds; NaN if the system does not tell it. */
export function processorTimeOf(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  // The name of the process, in brackets, may contain anything. Times are in hundredths of a second.
  const [user, system] =
    readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ').slice(11, 13) ?? []
  return (Number(user) + Number(system)) * 10
}
