import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../harness.ts'
import { newFolder } from './process.ts'

const END = '\x1e'

/** Reads commands from a pipe, so that the terminal is free for the questions of commands. */
const DRIVER = `while IFS= read -r -d '' command <&9; do eval "$command"; printf '${END}%s${END}' "$?"; done`

const QUIET = { TERM: 'dumb', NO_COLOR: '1', npm_config_loglevel: 'error' }

/** No balancer has to be waited for here. */
const NO_DRAIN = { TAKEBACK_DRAIN: '0' }

/** A user at a terminal who types what a page says. One shell keeps variables, functions and the folder. */
export class Typist {
  readonly #control = newFolder()
  readonly #terminal: Bun.Terminal
  readonly #pipe: number
  readonly #servers: { stop(): Promise<void> }[] = []
  readonly #shell: Bun.Subprocess
  #seen = ''

  constructor(folder: string, environment: Record<string, string> = {}) {
    const pipe = join(this.#control, 'commands')
    Bun.spawnSync(['mkfifo', pipe])
    this.#terminal = new Bun.Terminal({
      cols: 1000,
      rows: 50,
      data: (_, data) => {
        this.#seen += new TextDecoder().decode(data)
        if (this.#seen.endsWith('[y/N] ')) this.#terminal.write('y\n')
      },
    })
    this.#shell = Bun.spawn(['bash', '--noprofile', '--norc', '-c', `exec 9<"${pipe}"; ${DRIVER}`], {
      cwd: folder,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: process.env.HOME ?? '',
        ...QUIET,
        ...NO_DRAIN,
        ...environment,
      },
      terminal: this.#terminal,
    })
    this.#pipe = openSync(pipe, 'w')
  }

  /** Types a command and waits for its end. Answers questions with y. */
  async type(command: string): Promise<{ code: number; output: string }> {
    this.#seen = ''
    writeSync(this.#pipe, `${command}\0`)
    const ended = new RegExp(`${END}(\\d+)${END}`)
    await eventually(() => ended.test(this.#seen))
    const [, code = ''] = ended.exec(this.#seen) ?? []
    const output = this.#seen.slice(0, this.#seen.indexOf(END)).replace(/\r+\n/g, '\n')
    return { code: Number(code), output }
  }

  /**
   * Types a command that runs until it is stopped. Returns its address and output once it prints `until`, or a URL that
   * matches a pattern.
   */
  async start(command: string, until: string | RegExp = 'ready at'): Promise<{ url: string; said: string }> {
    const [folder, variables] = [join(this.#control, 'folder'), join(this.#control, 'variables')]
    await this.type(`pwd > ${folder}; env -0 > ${variables}`)
    const entries = readFileSync(variables, 'utf8')
      .split('\0')
      .filter((one) => one.includes('='))
    const child = spawn('bash', ['-c', command], {
      cwd: readFileSync(folder, 'utf8').trim(),
      env: Object.fromEntries(
        entries.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]),
      ),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data))
    const exited = new Promise<void>((resolve) => child.on('exit', () => resolve()))
    // npm and npx do not pass on a signal, so it goes to all of their child processes.
    const stop = async () => {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      await exited
    }
    this.#servers.push({ stop })
    const ready = typeof until === 'string' ? /ready at (http:\/\/[\d.]+:\d+)/ : until
    await eventually(() => {
      if (child.exitCode !== null) throw new Error(`${command} has ended: ${said}`)
      return ready.test(said) && (typeof until !== 'string' || said.includes(until))
    })
    return { url: ready.exec(said)?.[1] ?? '', said }
  }

  /** Like Ctrl-C in the other terminal. */
  async stopServers(): Promise<void> {
    for (const server of this.#servers.splice(0)) await server.stop()
  }

  async close(): Promise<void> {
    await this.stopServers()
    closeSync(this.#pipe)
    await this.#shell.exited
    this.#terminal.close()
  }
}
