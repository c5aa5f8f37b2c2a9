import { existsSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dir, '..', '..', 'shared', 'vectors')

/** Returns public test data beside the project; undefined, with a message, if it is missing. */
export function vectors(name: string): string | undefined {
  const path = join(folder, name)
  if (existsSync(path)) return path
  console.warn(`skipped: the test vectors ${name} are not there (${path})`)
  return undefined
}
