import type { JobType } from '../../declare/model.ts'
import { Failure } from '../../errors.ts'
import type { RecurringState } from '../../work/recurring-statements.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { refTo, SYSTEM } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'

/** The name of a job's recurring work and of its actor. */
export function jobWork(name: string): string {
  return `jobs/${name}`
}

interface JobState {
  readonly name: string
  readonly every: string
  readonly zone: string
  readonly status: 'never' | 'ok' | 'failed'
  readonly last: string | null
  /** `null` while it runs. */
  readonly next: string | null
  /** The instance that runs it now. */
  readonly holder: string | null
  readonly error: string | null
}

/** Returns all jobs, even those that no server has seen yet. */
export async function jobStates({ work, model }: Pick<Context, 'work' | 'model'>): Promise<JobState[]> {
  const { recurring } = await work.state()
  return model.code.jobs.map((job) => jobState(job, recurring[jobWork(job.name)]))
}

function jobState({ name, every, zone, next }: JobType, state: RecurringState | undefined): JobState {
  const { last = null, message: error = null, holder = null } = state ?? {}
  const due = state === undefined ? next(new Date()).toISOString() : state.next
  const status = last === null ? 'never' : error === null ? 'ok' : 'failed'
  return { name, every, zone, status, last, next: due, holder, error }
}

/** `POST /api/system/jobs/<name>/run/` */
async function runSoon(context: Context, { params }: Call): Promise<Answer> {
  const job = (await jobStates(context)).find(({ name }) => name === params?.name)
  if (job === undefined) throw new Failure('not_found')
  if (job.holder !== null) throw new Failure('busy')
  await context.work.bringForward(jobWork(job.name))
  return { status: 202, body: JSON.stringify({ name: job.name }) }
}

export const readJobs = serverEndpoint({
  name: 'listJobs',
  method: 'GET',
  path: '/api/system/jobs/',
  tag: SYSTEM,
  parameters: [],
  access: 'admins',
  describe: () => ({
    summary: 'List jobs',
    description: 'When each ran last, how that went, and when it runs next.',
    answers: [{ status: 200, description: 'The jobs.', headers: [], schema: refTo('Jobs') }],
    codes: ['unauthenticated', 'forbidden'],
  }),
  run: async (context) => ({ status: 200, body: JSON.stringify({ data: await jobStates(context) }) }),
})

export const postJobRun = serverEndpoint({
  name: 'runJob',
  method: 'POST',
  path: '/api/system/jobs/{name}/run/',
  tag: SYSTEM,
  parameters: ['job'],
  access: 'admins',
  answer: 'kept',
  describe: () => ({
    summary: 'Run a job now',
    description:
      'Makes it due: an instance runs it at once, in the background. The list of jobs says how it went.',
    answers: [
      {
        status: 202,
        description: 'It is due.',
        headers: [],
        schema: { type: 'object', properties: { name: { type: 'string' } }, additionalProperties: false },
      },
    ],
    codes: ['unauthenticated', 'forbidden', 'not_found', 'busy', 'disk_full'],
  }),
  run: runSoon,
})
