import type { Context } from '../api/context.ts'
import { jobWork } from '../api/system/jobs.ts'
import type { JobType } from '../declare/model.ts'
import type { Job } from '../work/job.ts'
import type { Recurring } from '../work/recurring.ts'
import { apiOf } from './api.ts'
import { CodeFailed } from './guard.ts'

/** The declared jobs, as recurring work. */
export function jobsOf(context: Context): Recurring[] {
  return context.model.code.jobs.map((job) => ({
    name: jobWork(job.name),
    next: job.next,
    run: (lease) => runJob(context, job, lease),
  }))
}

/** Runs a job. It writes through the lease: a frozen instance cannot write once another one has taken over. */
async function runJob(context: Context, job: JobType, { store, signal }: Job): Promise<void> {
  const actor = { kind: 'job', name: job.name } as const
  const caller = { actor, session: undefined, expired: false }
  const api = apiOf({ ...context, store }, { caller, signal, depth: 1 })
  try {
    await untilAborted(signal, () => job.run({ api, signal }))
  } catch (error) {
    throw signal.aborted ? error : new CodeFailed(jobWork(job.name), error)
  }
}

/** Stops waiting when the signal is aborted. The code may go on, but can no longer call the API. */
export async function untilAborted(signal: AbortSignal, run: () => unknown): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  const running = Promise.try(run)
  // Nobody may be left to handle the error.
  running.catch(() => {})
  aborted.catch(() => {})
  try {
    await Promise.race([running, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
