import type { Context } from '../src/api/context.ts'
import { Retention } from '../src/api/past/retention.ts'
import type { Store } from '../src/store/store.ts'
import type { Job } from '../src/work/job.ts'

/** Returns a job that nobody else can take over. */
export function jobOn(store: Store): Job {
  return {
    store,
    signal: new AbortController().signal,
    lost: new AbortController().signal,
    pause: async () => {},
  }
}

/** Clears out what is old by that time. Returns how many Entities were purged. */
export function clearOut(context: Context, now?: number): Promise<number> {
  return new Retention(context).pass(jobOn(context.store), now)
}
