import { statSync } from 'node:fs'
import { isMemory, type Location } from './location.ts'
import { isExposed } from './sqlite/secret.ts'

/** Database files that other users can open. Files that Takeback makes are for their owner only. */
export function exposedFiles(location: Location): string[] {
  if (location.kind !== 'sqlite' || isMemory(location)) return []
  const { path } = location
  return [path, `${path}-wal`, `${path}-shm`].filter((file) => {
    const found = statSync(file, { throwIfNoEntry: false })
    return found !== undefined && isExposed(found.mode)
  })
}
