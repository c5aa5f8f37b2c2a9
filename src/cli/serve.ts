import { loadModel, type Running, startApp } from '../app.ts'
import { readConfig } from '../config.ts'
import { Log } from '../http/log.ts'
import type { Command } from './arguments.ts'
import { flagsOf, helpOption, serverOptions, storeOptions } from './options.ts'
import { welcome } from './welcome.ts'

export const serve: Command = {
  name: 'serve',
  usage: 'takeback serve [--config FILE] [--database URL] [--host HOST] [--port N]',
  summary: 'Serves the declared Entity types over HTTP.',
  options: { ...storeOptions, ...serverOptions, ...helpOption },
  details: 'TAKEBACK_SECRET signs the tokens; without it one is made and kept beside the database.',
  async run(given) {
    const config = readConfig(flagsOf(given), process.env)
    const log = new Log(config.log)
    const lost = (error: unknown) => {
      log.error(
        'The database could not be written to: Takeback stops, and reads what is on disk at the next start',
        error,
      )
      log.flush()
      // Long enough for the answers that say so, too short for anything else.
      setTimeout(() => process.exit(1), 100)
    }
    const running = await startApp(config, await loadModel(config.file), log, lost)
    stopOn(['SIGTERM', 'SIGINT'], running, log)
    await welcome(running, config, log)
  },
}

function stopOn(signals: readonly NodeJS.Signals[], running: Running, log: Log): void {
  let stopping = false
  for (const signal of signals)
    process.on(signal, async () => {
      // Who asks twice does not want to wait.
      if (stopping) process.exit(1)
      stopping = true
      await running.close()
      await log.close()
      process.exit(0)
    })
}
