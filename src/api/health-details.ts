import type { JsonSchema } from '../declare/fields/field.ts'
import { closedObject, refTo, SERVICE } from './description.ts'
import { serverEndpoint } from './endpoint.ts'

const checkSchema: JsonSchema = closedObject(
  {
    status: { type: 'string', enum: ['ok', 'failed'] },
    since: { type: 'string', format: 'date-time', description: 'The start of this status.' },
    last: { type: 'string', format: 'date-time', description: 'The time of the last check.' },
    message: { type: ['string', 'null'], description: 'What went wrong.' },
  },
  ['status', 'since', 'last', 'message'],
)

const moment = (description: string): JsonSchema => ({
  type: ['string', 'null'],
  format: 'date-time',
  description,
})

const workSchema: JsonSchema = closedObject(
  {
    status: { type: 'string', enum: ['ok', 'failed'] },
    since: moment('The start of this status; `null` before the first run.'),
    last: moment('The start of the last run.'),
    message: { type: ['string', 'null'], description: 'What went wrong.' },
    next: moment('The time of the next run; `null` during a run.'),
    holder: { type: ['string', 'null'], description: 'The instance that runs it now.' },
  },
  ['status', 'since', 'last', 'message', 'next', 'holder'],
)

const queueSchema: JsonSchema = closedObject(
  {
    waiting: { type: 'integer', minimum: 0 },
    running: { type: 'integer', minimum: 0 },
    aside: { type: 'integer', minimum: 0, description: 'Tasks that failed too often and are not retried.' },
    oldest: moment('When the oldest unfinished task was enqueued.'),
  },
  ['waiting', 'running', 'aside', 'oldest'],
)

const asideSchema: JsonSchema = closedObject(
  {
    id: { type: 'integer' },
    queue: { type: 'string' },
    key: { type: ['string', 'null'] },
    since: { type: 'string', format: 'date-time' },
    attempts: { type: 'integer' },
    message: { type: ['string', 'null'], description: 'What went wrong the last time.' },
  },
  ['id', 'queue', 'key', 'since', 'attempts', 'message'],
)

const deliverySchema: JsonSchema = {
  ...closedObject(
    {
      at: { type: 'string', format: 'date-time' },
      operation: { type: 'string', description: 'The `webhook-id`.' },
      attempt: { type: 'integer', minimum: 1 },
      status: { type: ['integer', 'null'], description: 'Of the answer; `null` if there was none.' },
      error: { type: ['string', 'null'], description: 'What went wrong; `null` after a success.' },
      ms: { type: 'integer', minimum: 0 },
    },
    ['at', 'operation', 'attempt', 'status', 'error', 'ms'],
  ),
  type: ['object', 'null'],
}

const webhookSchema: JsonSchema = closedObject(
  {
    to: { type: 'string', description: 'The origin of its URL.' },
    waiting: {
      type: 'integer',
      minimum: 0,
      description: 'Operations to be sent, as far as they were counted.',
    },
    aside: {
      type: 'integer',
      minimum: 0,
      description: 'Operations that failed too often and are not retried.',
    },
    last: { ...deliverySchema, description: 'The last request; `null` before the first.' },
  },
  ['to', 'waiting', 'aside', 'last'],
)

const healthDetailsSchema: JsonSchema = closedObject(
  {
    status: { type: 'string', enum: ['ok', 'failed', 'stopping'] },
    version: { type: 'string', description: 'The version of Takeback.' },
    format: { type: 'integer', description: 'The format of the database.' },
    checks: {
      ...closedObject({ database: checkSchema }, ['database']),
      additionalProperties: workSchema,
      description: 'The database, and the background work of the server by name.',
    },
    queues: {
      type: 'object',
      additionalProperties: queueSchema,
      description: 'Background tasks, by the name of their queue.',
    },
    aside: {
      type: 'array',
      items: asideSchema,
      description: 'Tasks that failed too often and are not retried, the latest first.',
    },
    store: {
      type: ['object', 'null'],
      description: 'Sizes and connections of the database; `null` if they are not available.',
      properties: { kind: { type: 'string' } },
      additionalProperties: true,
    },
    feed: {
      ...closedObject({ lag_ms: { type: 'integer', minimum: 0 } }, ['lag_ms']),
      type: ['object', 'null'],
      description:
        'The age of the oldest committed change that followers of the journal cannot read yet; `null` if it is not available.',
    },
    webhooks: {
      type: ['object', 'null'],
      additionalProperties: webhookSchema,
      description: 'The declared webhooks, by name; `null` if they are not available.',
    },
  },
  ['status', 'version', 'format', 'checks', 'queues', 'aside', 'store', 'feed', 'webhooks'],
)

/** For load balancers. */
export const readHealth = serverEndpoint({
  name: 'getHealth',
  method: 'GET',
  path: '/api/health',
  tag: SERVICE,
  parameters: [],
  access: 'everyone',
  unlimited: true,
  schemas: () => ({
    Health: closedObject({ status: { const: 'ok' } }, ['status']),
    HealthDetails: healthDetailsSchema,
  }),
  describe: () => ({
    summary: 'Health check',
    description: 'For load balancers: answers 503 if requests should go to another server.',
    answers: [{ status: 200, description: 'Healthy.', headers: [], schema: refTo('Health') }],
    codes: ['stopping'],
  }),
  async run({ health }) {
    await health.check()
    return { status: 200, body: '{"status":"ok"}' }
  },
})

/** For admins. */
export const readHealthDetails = serverEndpoint({
  name: 'getHealthDetails',
  method: 'GET',
  path: '/api/health/details',
  tag: SERVICE,
  parameters: [],
  access: 'admins',
  describe: () => ({
    summary: 'Health details',
    description:
      'For admins: the status of each part, since when, and what went wrong; sizes and connections of the database.',
    answers: [{ status: 200, description: 'The details.', headers: [], schema: refTo('HealthDetails') }],
    codes: ['unauthenticated', 'forbidden'],
  }),
  async run({ health, feed, webhooks }, { query }) {
    query.refuseAll()
    const details = await health.details()
    const followed = await feed.lag().then(
      (lag) => ({ lag_ms: lag }),
      () => null,
    )
    const state = await webhooks.state().catch(() => null)
    return { status: 200, body: JSON.stringify({ ...details, feed: followed, webhooks: state }) }
  },
})
