import { dlopen, ptr } from 'bun:ffi'

/** From `fcntl.h`. */
const POSIX_FADV_DONTNEED = 4

const NAMES = {
  linux: ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'],
  darwin: ['libSystem.B.dylib'],
} as const

/**
 * Ends this process without closing anything. `process.exit` closes the connections to SQLite, and closing the last one
 * writes and syncs the database again.
 */
export function endProcess(code: number): never {
  for (const name of namesHere())
    try {
      dlopen(name, { _exit: { args: ['i32'], returns: 'void' } }).symbols._exit(code)
    } catch {
      // Tries the next library name.
    }
  if (code !== 0) process.kill(process.pid, 'SIGKILL')
  process.exit(code)
}

/** Drops the system's cache of a file, so that the next read comes from the disk. Returns whether that was possible. */
export function dropCached(descriptor: number): boolean {
  if (process.platform !== 'linux') return false
  for (const name of namesHere())
    try {
      const { symbols } = dlopen(name, {
        posix_fadvise: { args: ['i32', 'i64', 'i64', 'i32'], returns: 'i32' },
      })
      return symbols.posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) === 0
    } catch {
      // Tries the next library name.
    }
  return false
}

/** Memory aligned to a multiple of `alignment`, as reads past the cache require. */
export function alignedBytes(size: number, alignment = 4096): Uint8Array {
  const bytes = new Uint8Array(size + alignment)
  const start = (alignment - (Number(ptr(bytes)) % alignment)) % alignment
  return bytes.subarray(start, start + size)
}

function namesHere(): readonly string[] {
  return process.platform === 'linux' || process.platform === 'darwin' ? NAMES[process.platform] : []
}
