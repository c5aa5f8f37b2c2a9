import { dlopen, ptr } from 'bun:ffi'

/** From `fcntl.h`. */
const POSIX_FADV_DONTNEED = 4

const NAMES = {
  linux: ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'],
  darwin: ['libSystem.B.dylib'],
} as const

/**
 * Ends this process without closing anything. `process.exit` closes the connections to SQLite, and the last one to close
 * writes and syncs the database once more.
 */
export function endProcess(code: number): never {
  for (const name of namesHere())
    try {
      dlopen(name, { _exit: { args: ['i32'], returns: 'void' } }).symbols._exit(code)
    } catch {
      // Another name, then.
    }
  if (code !== 0) process.kill(process.pid, 'SIGKILL')
  process.exit(code)
}

/** Drops what the system has cached of a file, so that the next read comes from the disk. Whether it could be asked to. */
export function dropCached(descriptor: number): boolean {
  if (process.platform !== 'linux') return false
  for (const name of namesHere())
    try {
      const { symbols } = dlopen(name, {
        posix_fadvise: { args: ['i32', 'i64', 'i64', 'i32'], returns: 'i32' },
      })
      return symbols.posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) === 0
    } catch {
      // Another name, then.
    }
  return false
}

/** Memory that begins at a multiple of `alignment`, as reads past the cache want it. */
export function alignedBytes(size: number, alignment = 4096): Uint8Array {
  const bytes = new Uint8Array(size + alignment)
  const start = (alignment - (Number(ptr(bytes)) % alignment)) % alignment
  return bytes.subarray(start, start + size)
}

function namesHere(): readonly string[] {
  return process.platform === 'linux' || process.platform === 'darwin' ? NAMES[process.platform] : []
}
