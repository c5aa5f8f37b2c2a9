import { isBusy } from './errors.ts'
import { BUSY_MS } from './pragmas.ts'

/** Between two tries to get a lock that another process has. */
export const PAUSE_MS = 10

/** Tries again while another process has the lock. It waits in the event loop, so that everything else goes on. */
export async function patiently<T>(work: () => T, ms = BUSY_MS): Promise<T> {
  for (const until = performance.now() + ms; ; await Bun.sleep(PAUSE_MS))
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error
    }
}
