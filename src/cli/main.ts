import { StartError } from '../errors.ts'
import { endProcess } from '../store/libc.ts'
import { runCommand } from './run.ts'

// Set to 0 only at the end: a config file that never finishes loading would otherwise exit with 0.
process.exitCode = 1

/** Runs a command. Throws if its output could not be written; a server serves, whether or not somebody reads it. */
async function runWatched(args: readonly string[]): Promise<void> {
  const isServer = ['serve', 'dev'].includes(args[0] ?? '')
  const failed = isServer ? undefined : (await import('./output.ts')).watchOutput()
  await runCommand(args)
  const reason = failed?.()
  if (reason !== undefined) throw new StartError(`The output could not be written: ${reason}.`)
}

runWatched(process.argv.slice(2)).then(
  () => {
    process.exitCode = 0
  },
  (error: unknown) => {
    console.error(error instanceof StartError ? error.message : error)
    endProcess(1)
  },
)
