import { existsSync, type FSWatcher, readFileSync, watch } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { readConfig } from '../config.ts'
import { StartError } from '../errors.ts'
import { isMemory } from '../store/location.ts'
import type { Command } from './arguments.ts'
import { confirm } from './confirm.ts'
import { DEV_DECLARATION, flagsOf, helpOption, serverOptions, storeOptions } from './options.ts'
import { ownCommand } from './own-command.ts'

export const devCommand: Command = {
  name: 'dev',
  usage: 'takeback dev [--yes] [--config FILE] [--database URL] [--port N]',
  summary: 'Serves, and restarts whenever the config or a file that it imports changes.',
  options: {
    yes: { value: undefined, help: 'do not ask before changes that do more than add' },
    ...storeOptions,
    ...serverOptions,
    ...helpOption,
  },
  details:
    'Takes the flags of "takeback serve". Before each start it prints what the declaration changes in the database.',
  async run(given) {
    if (given.words.length > 0)
      throw new StartError(`takeback dev does not take "${given.words[0]}": its flags begin with --.`)
    const flags = flagsOf(given)
    const { file, database } = readConfig(flags, process.env)
    const args = Object.entries(flags).flatMap(([name, value]) =>
      value === '' ? [`--${name}`] : [`--${name}`, String(value)],
    )
    const session = new DevSession({
      file,
      args,
      plans: !isMemory(database),
      yes: given.text('yes') !== undefined,
    })
    await session.run()
  },
}

interface DevSettings {
  /** The config file. */
  readonly file: string
  /** The arguments of `takeback serve`. */
  readonly args: readonly string[]
  /** Whether the database outlives a start, so that a migration can be planned. */
  readonly plans: boolean
  readonly yes: boolean
}

/** How long to wait after a change: editors write a file in several steps. */
const SETTLE_MS = 50
const STOP_MS = 3000

/** A server in a separate process, which is replaced when a file changes, so that no old module stays loaded. */
class DevSession {
  readonly #settings: DevSettings
  #server: Bun.Subprocess | undefined
  #watchers: FSWatcher[] = []

  constructor(settings: DevSettings) {
    this.#settings = settings
  }

  /** Runs until a signal arrives. */
  async run(): Promise<void> {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, async () => {
        await this.#stop()
        process.exit(0)
      })
    for (;;) {
      const changed = this.#watch()
      const wanted = await this.#wanted(changed)
      if (!changed.aborted) {
        if (wanted === undefined) this.#sayWhatServes()
        else await this.#replace(wanted)
      }
      await untilChanged(changed)
      console.log('\nThe declaration has changed.')
      // The same change may touch more files.
      await Bun.sleep(SETTLE_MS)
    }
  }

  /** The digest of the declaration to start with, from the plan. Undefined if the server stays as it is. */
  async #wanted(changed: AbortSignal): Promise<string | undefined> {
    const { plans, yes, file, args } = this.#settings
    const plan = plans ? await planNow(storeArgs(args)) : await planInMemory(file)
    if (changed.aborted) return undefined
    if (typeof plan === 'string') {
      console.error(plan)
      return undefined
    }
    for (const { effect, path, what } of plan.lines) console.log(`  ${effect.padEnd(7)}  ${path} ${what}`)
    if (plan.refused > 0) {
      console.error('The database cannot be migrated while a change is refused. Correct the declaration.')
      return undefined
    }
    const asks = plan.older || plan.lines.some((line) => !isAddition(line))
    if (asks && !yes && !(await this.#confirmed(changed))) return undefined
    return plan.declaration
  }

  /** Asks for confirmation. The question is cancelled if the declaration changes again. */
  async #confirmed(changed: AbortSignal): Promise<boolean> {
    try {
      return await confirm('This does more than add. Change the database?', changed)
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      console.error('This does more than add, and there is no terminal to ask on: start with --yes.')
      return false
    }
  }

  #sayWhatServes(): void {
    console.log(
      this.#server === undefined
        ? 'Nothing was changed. No server is running: it starts when the declaration changes.'
        : 'Nothing was changed. The server keeps running with the previous declaration.',
    )
  }

  async #replace(declaration: string): Promise<void> {
    await this.#stop()
    const server = Bun.spawn(ownCommand(['serve', ...this.#settings.args]), {
      stdio: ['ignore', 'inherit', 'inherit'],
      // There is no load balancer to wait for.
      env: { ...process.env, TAKEBACK_DRAIN: '0', [DEV_DECLARATION]: declaration },
      // Nothing is sent. The channel closes when this process ends, however it ends, and then the server stops.
      ipc() {},
    })
    this.#server = server
    server.exited.then(() => {
      if (this.#server !== server) return
      this.#server = undefined
      console.log('The server has stopped. It restarts when the declaration changes.')
    })
  }

  async #stop(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    server.kill('SIGTERM')
    await Promise.race([server.exited, Bun.sleep(STOP_MS)])
    server.kill('SIGKILL')
    await server.exited
  }

  /** Aborted when a file of the declaration changes. Folders are watched, since editors replace files. */
  #watch(): AbortSignal {
    for (const watcher of this.#watchers) watcher.close()
    const changed = new AbortController()
    const names = Map.groupBy(importsFrom(this.#settings.file), (file) => dirname(file))
    const there = [...names].filter(([folder]) => existsSync(folder))
    this.#watchers = there.map(([folder, files]) => {
      const own = new Set(files.map((file) => basename(file)))
      return watch(folder, (_, name) => {
        if (name === null || own.has(name)) changed.abort()
      })
    })
    return changed.signal
  }
}

function untilChanged(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
}

interface PrintedPlan {
  readonly refused: number
  readonly older: boolean
  /** The digest of the declaration. The server starts with this declaration only. */
  readonly declaration: string
  readonly lines: readonly PrintedLine[]
}

interface PrintedLine {
  readonly effect: string
  readonly path: string
  readonly what: string
}

/** Plans in a separate process, since this one has loaded nothing. Returns a text if the declaration is wrong. */
async function planNow(args: readonly string[]): Promise<PrintedPlan | string> {
  const { out, err } = await runToEnd(['migrate', '--json', ...args])
  return out.startsWith('{') ? (JSON.parse(out) as PrintedPlan) : err.trim() || out.trim()
}

/** A database in memory is new each time, so there are only mistakes to find. */
async function planInMemory(file: string): Promise<PrintedPlan | string> {
  const { code, err } = await runToEnd(['types', '--config', file])
  return code === 0 ? { refused: 0, older: false, declaration: '', lines: [] } : err.trim()
}

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function runToEnd(args: readonly string[]): Promise<Ended> {
  const child = Bun.spawn(ownCommand(args), { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { code, out, err }
}

/** Whether a change only adds something, or shows what was already kept aside. */
function isAddition({ effect, what }: PrintedLine): boolean {
  return effect === 'safe' ? /^is (a )?new/.test(what) : what === 'is kept aside'
}

/** Returns the flags that "takeback migrate" takes. */
function storeArgs(args: readonly string[]): string[] {
  return args.flatMap((arg, at) => {
    const name = arg.replace(/^--/, '')
    return arg.startsWith('--') && name in storeOptions ? [arg, args[at + 1] ?? ''] : []
  })
}

/** Returns the file and everything that it imports, without packages. */
export function importsFrom(entry: string): string[] {
  const found = new Set([entry])
  for (const file of found) {
    const folder = dirname(file)
    for (const path of importsIn(file)) {
      if (!path.startsWith('.') && !path.startsWith('/')) continue
      try {
        found.add(Bun.resolveSync(path, folder))
      } catch {
        // The file does not exist yet. Watching its folder shows when it is created.
        found.add(join(folder, path))
      }
    }
  }
  return [...found]
}

function importsIn(file: string): string[] {
  if (!/\.[cm]?[jt]sx?$/.test(file)) return []
  try {
    return new Bun.Transpiler({ loader: 'tsx' })
      .scanImports(readFileSync(file, 'utf8'))
      .map(({ path }) => path)
  } catch {
    return []
  }
}
