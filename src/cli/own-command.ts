import { join } from 'node:path'
import { isBinary } from '../binary.ts'

/** How this command line starts itself. */
export function ownCommand(args: readonly string[]): string[] {
  return isBinary()
    ? [process.execPath, ...args]
    : [process.execPath, join(import.meta.dir, 'main.ts'), ...args]
}
