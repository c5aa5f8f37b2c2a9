import { statSync } from 'node:fs'
import { isMemory, type Location } from './location.ts'
import { isExposed } from './sqlite/secret.ts'

/** A warning where others than its owner can open a database file: those that Takeback makes are for the owner alone. */
export function exposureOf(location: Location): string | undefined {
  if (location.kind !== 'sqlite' || isMemory(location)) return undefined
  const { path } = location
  const files = [path, `${path}-wal`, `${path}-shm`].filter((file) => {
    const found = statSync(file, { throwIfNoEntry: false })
    return found !== undefined && isExposed(found.mode)
  })
  return files.length === 0
    ? undefined
    : `Others on this machine can open the database: run "chmod 600 ${files.join(' ')}"`
}
