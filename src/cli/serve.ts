import { loadModel, type Running, startApp } from '../app.ts'
import { type Config, readConfig } from '../config.ts'
import { hasCode } from '../declare/model.ts'
import { StartError } from '../errors.ts'
import { type Log, logOf } from '../observe/log.ts'
import { Observer } from '../observe/observer.ts'
import { endProcess } from '../store/libc.ts'
import type { Command } from './arguments.ts'
import { DEV_DECLARATION, flagsOf, helpOption, serverOptions, storeOptions } from './options.ts'
import { welcome } from './welcome.ts'

export const serveCommand: Command = {
  name: 'serve',
  usage: 'takeback serve [--config FILE] [--database URL] [--host HOST] [--port N]',
  summary: 'Serves the declared Entity types over HTTP.',
  options: { ...storeOptions, ...serverOptions, ...helpOption },
  details:
    'TAKEBACK_SECRET signs the tokens. Without it, a secret is generated and stored beside the database.',
  async run(given) {
    if (given.words.length > 0)
      throw new StartError(`takeback serve does not take "${given.words[0]}": its flags begin with --.`)
    const config = readConfig(flagsOf(given), process.env)
    const observer = new Observer()
    const log = logOf(observer, config.log)
    // Without a listener, the server would end when the reader of its output ends.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
    const backups = config.backups && (await import('./backup-schedule.ts')).backupWork(config, observer)
    let code = 0
    const lost = (error: unknown) => {
      code = 1
      observer.emit({ kind: 'database_lost', error })
      // Long enough to send the 503 answers, too short for anything else.
      setTimeout(() => endProcess(1), 100)
    }
    const model = await loadModel(config.file)
    if (hasCode(model)) surviveCode(observer)
    const running = await startApp(config, model, observer, { onLost: lost, ...startOfDev() })
    if (backups !== undefined) running.context.work.add(backups)
    stopOnSignals({ running, config, log, codeOf: () => code })
    await welcome(running, config, log)
  },
}

/** "takeback dev" has shown the plan of this declaration, and somebody agreed to it, even if it is an older one. */
function startOfDev(): { readonly back?: boolean; readonly shown?: string } {
  const shown = process.env[DEV_DECLARATION] ?? ''
  return shown === '' ? {} : { back: true, shown }
}

/** A promise that nobody awaits, or a timer that throws, must not end the server. */
function surviveCode(observer: Observer): void {
  for (const event of ['unhandledRejection', 'uncaughtException'] as const)
    process.on(event, (error: unknown) => observer.emit({ kind: 'code_failed', error }))
}

const TWICE_MS = 1000
/** Longer than a load balancer takes to notice that an instance is no longer healthy. */
const DRAIN_MS = 5000

/** Ctrl-C stops at once. A service behind a load balancer drains, so that no request is lost. */
function drainFor(signal: NodeJS.Signals, { drainMs }: Config): number {
  return drainMs ?? (signal === 'SIGINT' || process.stdin.isTTY ? 0 : DRAIN_MS)
}

interface Stopping {
  readonly running: Running
  readonly config: Config
  readonly log: Log
  /** The exit code. */
  codeOf(): number
}

function stopOnSignals({ running, config, log, codeOf }: Stopping): void {
  const { observer } = running.context
  let since: number | undefined
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, async () => {
      // A later second signal means: do not wait. A second signal right away is the same one, sent by the terminal and
      // again by the parent process.
      if (since !== undefined && performance.now() - since > TWICE_MS) endProcess(1)
      if (since !== undefined) return
      since = performance.now()
      const drainMs = drainFor(signal, config)
      if (drainMs > 0) {
        observer.emit({ kind: 'stopping', ms: drainMs })
        await running.drain(drainMs)
      }
      await running.close()
      observer.emit({ kind: 'stopped' })
      await log.close()
      endProcess(codeOf())
    })
  if (process.env[DEV_DECLARATION] !== undefined) stopWithDev()
}

/** Stops the server when "takeback dev" ends, even if killed. It may have ended before this process listened. */
function stopWithDev(): void {
  const stop = () => process.kill(process.pid, 'SIGTERM')
  process.on('disconnect', stop)
  if (!process.connected) stop()
}
