import { join } from 'node:path'
import { commandOf } from '../packaging.ts'

/** How this command line starts itself. */
export function ownCommand(args: readonly string[]): string[] {
  return [...commandOf(join(import.meta.dir, 'main.ts')), ...args]
}
