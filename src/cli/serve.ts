import { type Running, startApp } from '../app.ts'
import { readConfig } from '../config.ts'
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
    let running: Running | undefined
    const lost = (error: unknown) => {
      running?.log.error(
        'The database could not be written to. Takeback stops here: what is on disk is read anew at the next start',
        error,
      )
      running?.log.flush()
      // Long enough for the answers that say so, too short for anything else.
      setTimeout(() => process.exit(1), 100)
    }
    running = await startApp(config, lost)
    await welcome(running, config)
    stopOn(['SIGTERM', 'SIGINT'], running)
  },
}

function stopOn(signals: readonly NodeJS.Signals[], running: Running): void {
  let stopping = false
  for (const signal of signals)
    process.on(signal, async () => {
      // Who asks twice does not want to wait.
      if (stopping) process.exit(1)
      stopping = true
      await running.close()
      process.exit(0)
    })
}
