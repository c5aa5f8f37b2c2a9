import { isStorable } from '../../declare/fields/text.ts'
import { isRecord } from '../../declare/record.ts'
import { addError, type Errors, Failure, invalid } from '../../errors.ts'
import type { TaskState } from '../../work/task-statements.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { refTo, SYSTEM } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { idPage, openIdCursor, parseId } from '../id.ts'
import { limitOf } from '../read/list.ts'
import { systemSchemas } from './system-schemas.ts'

const STATES = ['waiting', 'running', 'aside'] as const

/** `GET /api/system/tasks/` */
async function listTasks(
  { work }: Context,
  { query }: Call<'queue' | 'state' | 'limit' | 'cursor'>,
): Promise<Answer> {
  const errors: Errors = new Map()
  const given = query.take(errors)
  const limit = limitOf(given.limit, errors)
  const state = STATES.find((one) => one === given.state)
  if (given.state !== undefined && state === undefined)
    addError(errors, 'state', `must be one of ${STATES.join(', ')}`)
  if (given.queue !== undefined && !isStorable(given.queue))
    addError(errors, 'queue', 'is not the name of a queue')
  const before = openIdCursor(given.cursor, errors)
  if (errors.size > 0) throw invalid(errors)
  const [found, { queues }] = await Promise.all([
    work.tasks({ queue: given.queue, state, before, most: limit + 1 }),
    work.state(),
  ])
  const { shown, next } = idPage(found, limit)
  return { status: 200, body: JSON.stringify({ queues, data: shown.map(shownTask), next }) }
}

const WEBHOOK = 'webhook '

/** Describes a task. Its payload names Entities and operations, and has no values. */
function shownTask({ payload, queue, next, aside, ...task }: TaskState): object {
  const { reaction, mail, entity, id, operation } = isRecord(payload) ? payload : {}
  const isWebhook = queue.startsWith(WEBHOOK)
  const name = isWebhook ? queue.slice(WEBHOOK.length) : (reaction ?? mail)
  return {
    id: task.id,
    queue,
    kind: isWebhook ? 'webhook' : reaction !== undefined ? 'reaction' : mail !== undefined ? 'mail' : 'other',
    name: typeof name === 'string' ? name : null,
    state: task.state,
    attempts: task.attempts,
    error: task.error,
    at: task.at,
    next_at: next,
    aside_at: aside,
    holder: task.holder,
    entity: typeof entity === 'string' && typeof id === 'number' && id > 0 ? `${entity}/${id}` : null,
    operation: typeof operation === 'string' ? operation : null,
  }
}

/** `POST /api/system/tasks/<id>/retry/` */
async function retryTask({ work }: Context, call: Call): Promise<Answer> {
  const [task] = await work.tasks({ task: parseId(call.id), most: 1 })
  if (task === undefined) throw new Failure('not_found')
  return { status: 200, body: JSON.stringify({ retried: await work.retry(task) }) }
}

export const readTasks = serverEndpoint({
  name: 'listTasks',
  method: 'GET',
  path: '/api/system/tasks/',
  tag: SYSTEM,
  parameters: ['task_state', 'queue', 'limit', 'cursor'],
  access: 'admins',
  schemas: () => systemSchemas,
  describe: () => ({
    summary: 'List background tasks',
    description:
      'Reactions, webhooks and mails that are not done yet, the newest first: what they are about, how often they were tried, and what went wrong. A task that has failed for about a day is set aside.',
    answers: [{ status: 200, description: 'A page of tasks.', headers: [], schema: refTo('Tasks') }],
    codes: ['unauthenticated', 'forbidden'],
  }),
  run: listTasks,
})

export const postRetry = serverEndpoint({
  name: 'retryTask',
  method: 'POST',
  path: '/api/system/tasks/{id}/retry/',
  tag: SYSTEM,
  parameters: ['task'],
  access: 'admins',
  answer: 'kept',
  describe: () => ({
    summary: 'Try a task again',
    description:
      'Makes it due now. One that was set aside is enqueued again, with another number, after all others. `retried` is 0 if it is running, or waits for another task.',
    answers: [{ status: 200, description: 'How many are tried.', headers: [], schema: refTo('Retried') }],
    codes: ['unauthenticated', 'forbidden', 'not_found', 'disk_full'],
  }),
  run: retryTask,
})
