import type { JsonSchema } from '../../declare/fields/field.ts'
import { closedObject } from '../description.ts'

const text: JsonSchema = { type: 'string' }
const textOrNull: JsonSchema = { type: ['string', 'null'] }
const time: JsonSchema = { type: 'string', format: 'date-time' }
const timeOrNull: JsonSchema = { type: ['string', 'null'], format: 'date-time' }
const count: JsonSchema = { type: 'integer', minimum: 0 }

function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}

/** An object that always has all of its keys. */
function whole(properties: Record<string, JsonSchema>): JsonSchema {
  return closedObject(properties, Object.keys(properties))
}

const task = whole({
  id: count,
  queue: text,
  kind: { type: 'string', enum: ['reaction', 'webhook', 'mail', 'other'] },
  name: { ...textOrNull, description: 'Of the reaction, the webhook or the mail.' },
  state: { type: 'string', enum: ['waiting', 'running', 'aside'] },
  attempts: count,
  error: { ...textOrNull, description: 'What went wrong the last time.' },
  at: { ...time, description: 'When it was enqueued.' },
  next_at: {
    ...timeOrNull,
    description: 'When it is tried next; `null` if it is running, was set aside, or waits for another.',
  },
  aside_at: timeOrNull,
  holder: { ...textOrNull, description: 'The instance that works on it.' },
  entity: { ...textOrNull, description: 'The Entity that it is about: `orders/5`.' },
  operation: { ...textOrNull, description: 'The operation that caused it.' },
})

const job = whole({
  name: text,
  every: text,
  zone: text,
  status: { type: 'string', enum: ['never', 'ok', 'failed'] },
  last: timeOrNull,
  next: { ...timeOrNull, description: '`null` while it runs.' },
  holder: { ...textOrNull, description: 'The instance that runs it now.' },
  error: textOrNull,
})

const webhook = whole({
  name: text,
  to: { type: 'string', description: 'The origin of its URL.' },
  waiting: count,
  aside: count,
  deliveries: listOf(
    whole({
      at: time,
      operation: text,
      attempt: count,
      status: { type: ['integer', 'null'] },
      error: textOrNull,
      ms: count,
    }),
  ),
})

const amount: JsonSchema = { type: 'number', minimum: 0 }
const durations = { count, errors: count, p50_ms: amount, p95_ms: amount, max_ms: amount }

const queue = whole({ waiting: count, running: count, aside: count, oldest: timeOrNull })

export const systemSchemas: Readonly<Record<string, JsonSchema>> = {
  Tasks: whole({
    queues: { type: 'object', additionalProperties: queue },
    data: listOf(task),
    next: textOrNull,
  }),
  Retried: whole({ retried: count }),
  Jobs: whole({ data: listOf(job) }),
  Webhooks: whole({ data: listOf(webhook) }),
  RequestFigures: whole({
    instance: text,
    since: time,
    endpoints: listOf(whole({ method: text, path: text, ...durations })),
    minutes: listOf(whole({ at: time, ...durations })),
    slow: listOf(whole({ at: time, ms: amount, statement: text, count })),
  }),
  Migrations: whole({
    format: count,
    generation: { ...count, description: 'How often the structure of the database was changed.' },
    applied: listOf(
      whole({
        at: time,
        operation: text,
        entity: text,
        path: text,
        change: {
          type: 'object',
          properties: { kind: { type: 'string', enum: ['add', 'fill', 'aside', 'convert'] } },
          required: ['kind'],
          additionalProperties: true,
        },
      }),
    ),
    aside: listOf(whole({ path: text, what: text })),
    plan: listOf(
      whole({ path: text, what: text, effect: { type: 'string', enum: ['safe', 'aside', 'refused'] } }),
    ),
  }),
}
