import { accessSync, constants, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** Where Linux keeps files in memory, and how much must be free there. */
const MEMORY = '/dev/shm'
const ROOM = 4 * 2 ** 30

/** A folder for what does not have to survive: in memory, if there is room, since nobody waits for a disk there. */
export function memoryFolder(): string {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize > ROOM ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}
