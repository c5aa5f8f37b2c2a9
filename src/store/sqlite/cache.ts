import { closeSync, constants, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { StartError } from '../../errors.ts'
import { alignedBytes, dropCached } from '../libc.ts'

const BLOCK_BYTES = 1024 * 1024
const TRIES = 5
const PAUSE_MS = 40

/**
 * Makes sure that the next reads come from the disk. Linux marks pages that it could not write as clean: they stay in
 * its cache as if on disk, and are gone after a power cut. A sync here would succeed, and prove nothing.
 */
export function readFromDisk(path: string, lost: boolean): void {
  const log = `${path}-wal`
  // Every difference in the database itself is also in the log: nothing leaves the log before a sync of the database
  // has succeeded. So only the log must be right. Another process may be using the rest.
  for (const file of lost ? [path, log] : [log])
    if (existsSync(file)) withFile(file, constants.O_RDONLY, dropCached)
  if (existsSync(log) && differs(log))
    throw new StartError(
      `The database ${path} cannot be opened: a write to its disk has failed, but the system's cache still shows ${log} as if it had not. Nothing was changed: unmount and mount the file system, or restart the machine, then start again.`,
    )
}

/** Whether cache and disk differ for good: writes of another process make them differ for a moment. */
function differs(file: string): boolean {
  const first = firstDifference(file)
  for (let tries = 0; first !== undefined && tries < TRIES; tries++) {
    Bun.sleepSync(PAUSE_MS)
    if (firstDifference(file) !== first) return false
  }
  return first !== undefined
}

/** The first difference and its content; undefined if there is none, or if this system cannot read past its cache. */
function firstDifference(file: string): string | undefined {
  if (constants.O_DIRECT === undefined) return undefined
  const direct = alignedBytes(BLOCK_BYTES)
  const cached = new Uint8Array(BLOCK_BYTES)
  try {
    return withFile(file, constants.O_RDONLY | constants.O_DIRECT, (past) =>
      withFile(file, constants.O_RDONLY, (through) => {
        for (let offset = 0; offset < fstatSync(past).size; offset += BLOCK_BYTES) {
          const length = readSync(past, direct, 0, BLOCK_BYTES, offset)
          readSync(through, cached, 0, length, offset)
          const [onDisk, shown] = [direct.subarray(0, length), cached.subarray(0, length)]
          if (Buffer.compare(onDisk, shown) !== 0) return `${offset} ${Bun.hash(onDisk)} ${Bun.hash(shown)}`
        }
        return undefined
      }),
    )
  } catch (error) {
    // File systems without a disk of their own refuse such reads.
    if ((error as NodeJS.ErrnoException).code === 'EINVAL') return undefined
    throw error
  }
}

function withFile<T>(file: string, flags: number, work: (descriptor: number) => T): T {
  const descriptor = openSync(file, flags)
  try {
    return work(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
