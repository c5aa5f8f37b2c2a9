import { accessSync, constants, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** The folder in which Linux keeps files in memory, and how much must be free there. */
const MEMORY = '/dev/shm'
const ROOM = 4 * 2 ** 30

/** Returns a folder for temporary files: in memory, if there is room, because writes are faster there. */
export function memoryFolder(): string {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize > ROOM ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}
