import { isBusy } from './errors.ts'
import { BUSY_MS } from './pragmas.ts'

/**
 * The pause between two attempts to get a lock that another process holds, which is free only for a moment between two
 * of its commits. Measured with two servers that write all the time, on a disk whose sync takes 10 ms: one write in a
 * hundred waited for 400 ms and more with a pause of 10 ms, and for 100 ms with one of 2 ms.
 */
export const PAUSE_MS = 2

/** Retries while another process has the lock. It waits in the event loop, so that everything else goes on. */
export async function retryWhileBusy<T>(work: () => T, ms = BUSY_MS): Promise<T> {
  for (const until = performance.now() + ms; ; await Bun.sleep(PAUSE_MS))
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error
    }
}
