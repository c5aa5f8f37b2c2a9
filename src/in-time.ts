/**
 * Waits for a promise, but at most `ms` milliseconds. Returns whether it was in time. No timer is left: it would keep a
 * command from ending.
 */
export async function isInTime(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>()
  const timer = setTimeout(() => resolve(false), ms)
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
