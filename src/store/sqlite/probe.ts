import type { Database } from 'bun:sqlite'
import { constants, statSync } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { budget } from '../../budget.ts'
import { MEMORY } from '../location.ts'
import { isBusy } from './errors.ts'

/**
 * Throws if the file cannot be written: it is gone, or its file system is read-only, full, or does not answer. Runs
 * outside of this thread, so that a hanging file system does not stop the server.
 */
export async function probeFile(path: string, leastFree: number = budget.freeBytes): Promise<void> {
  if (path === MEMORY) return
  const late = new Error(`the file system of ${path} does not answer`)
  const probing = Promise.all([access(path, constants.R_OK | constants.W_OK), freeBytes(path)])
  probing.catch(() => {})
  const [, free] = await Promise.race([probing, Bun.sleep(budget.probeMs).then(() => Promise.reject(late))])
  if (free < leastFree) throw new Error(`the disk is full: ${free} bytes are free`)
}

async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(path))
  return bavail * bsize
}

/** Begins a write and rolls it back. If another process is writing at the moment, writes are possible. */
export function probeLock(database: Database): void {
  if (database.inTransaction) return
  try {
    database.run('BEGIN IMMEDIATE')
    database.run('ROLLBACK')
  } catch (error) {
    if (!isBusy(error)) throw error
  }
}

/** Sizes of the files, for admins. */
export async function figuresOf(path: string): Promise<Record<string, number>> {
  if (path === MEMORY) return {}
  const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0
  return { size_bytes: sizeOf(path), log_bytes: sizeOf(`${path}-wal`), free_bytes: await freeBytes(path) }
}
