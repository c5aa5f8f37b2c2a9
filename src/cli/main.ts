import { StartError } from '../errors.ts'
import { endProcess } from '../store/libc.ts'
import { runCommand } from './run.ts'

// Set to 0 only at the end: a config file that never finishes loading would otherwise exit with 0.
process.exitCode = 1

runCommand(process.argv.slice(2)).then(
  () => {
    process.exitCode = 0
  },
  (error: unknown) => {
    console.error(error instanceof StartError ? error.message : error)
    endProcess(1)
  },
)
