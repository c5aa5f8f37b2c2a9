import { join } from 'node:path'
import { commandOf } from '../packaging.ts'

/** Returns the command that starts this command line again. */
export function ownCommand(args: readonly string[]): string[] {
  return [...commandOf(join(import.meta.dir, 'main.ts')), ...args]
}
