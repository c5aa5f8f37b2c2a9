import type { JsonSchema } from '../declare/fields/field.ts'
import { object, refTo, SERVICE } from './description.ts'
import { serverEndpoint } from './endpoint.ts'

const checkSchema: JsonSchema = object(
  {
    status: { type: 'string', enum: ['ok', 'failed'] },
    since: { type: 'string', format: 'date-time', description: 'Since when it is so.' },
    last: { type: 'string', format: 'date-time', description: 'When it was last looked at.' },
    message: { type: ['string', 'null'], description: 'What went wrong.' },
  },
  ['status', 'since', 'last', 'message'],
)

const healthDetailsSchema: JsonSchema = object(
  {
    status: { type: 'string', enum: ['ok', 'failed', 'stopping'] },
    version: { type: 'string', description: 'Of Takeback.' },
    format: { type: 'integer', description: 'Of the database.' },
    checks: object({ database: checkSchema, retention: checkSchema }, ['database']),
    store: {
      type: ['object', 'null'],
      description: 'Sizes and connections of the database; `null` where it does not tell.',
      properties: { kind: { type: 'string' } },
      additionalProperties: true,
    },
    feed: {
      ...object({ lag_ms: { type: 'integer', minimum: 0 } }, ['lag_ms']),
      type: ['object', 'null'],
      description:
        'How old the oldest committed change is that those who follow the journal cannot read yet; `null` where the database does not tell.',
    },
  },
  ['status', 'version', 'format', 'checks', 'store', 'feed'],
)

/** For balancers. */
export const readHealth = serverEndpoint({
  name: 'getHealth',
  method: 'GET',
  path: '/api/health',
  tag: SERVICE,
  parameters: [],
  access: 'everyone',
  unlimited: true,
  schemas: () => ({
    Health: object({ status: { const: 'ok' } }, ['status']),
    HealthDetails: healthDetailsSchema,
  }),
  describe: () => ({
    summary: 'Whether it is well',
    description: 'For balancers: 503 where requests should go to another server.',
    answers: [{ status: 200, description: 'It is well.', headers: [], schema: refTo('Health') }],
    codes: ['stopping'],
  }),
  async run({ health }, { query }) {
    query.refuseAll()
    await health.check()
    return { status: 200, body: '{"status":"ok"}' }
  },
})

/** How the server is, for admins. */
export const readHealthDetails = serverEndpoint({
  name: 'getHealthDetails',
  method: 'GET',
  path: '/api/health/details',
  tag: SERVICE,
  parameters: [],
  access: 'admins',
  describe: () => ({
    summary: 'How it is, for admins',
    description:
      'Every part with its state, since when it is so and what went wrong; sizes and connections of the database.',
    answers: [{ status: 200, description: 'How it is.', headers: [], schema: refTo('HealthDetails') }],
    codes: ['unauthenticated', 'forbidden'],
  }),
  async run({ health, feed }, { query }) {
    query.refuseAll()
    const details = await health.details()
    const followed = await feed.lag().then(
      (lag) => ({ lag_ms: lag }),
      () => null,
    )
    return { status: 200, body: JSON.stringify({ ...details, feed: followed }) }
  },
})
