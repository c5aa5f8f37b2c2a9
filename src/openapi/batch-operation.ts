import type { JsonSchema } from '../declare/fields/field.ts'
import type { Model } from '../declare/model.ts'
import { audienceOf } from './access.ts'
import { manyOf, refTo } from './compose.ts'
import type { Operation } from './operation.ts'
import { share, writing } from './parameters.ts'
import { OPERATIONS } from './past-operations.ts'

const writes = ['create', 'update', 'delete', 'restore', 'purge'] as const

/** Many writes of any kind, as one operation. */
export function batchOperation({ entities }: Model): Operation {
  const [first = ''] = entities.keys()
  const path = `/api/${first}/`
  return {
    method: 'POST',
    path: '/api/batch/',
    id: 'batch',
    tag: OPERATIONS,
    summary: 'Write many things as one operation',
    description:
      'All parts or none, in their order, each as a call of its own would. A text in a `body` that is exactly `$0.id`, and such an id in a `path`, stands for that value of the answer of an earlier part; `$$0.id` is the text `$0.id`. The first failure is answered with its own status and code; its `errors` are keyed by the place of its part, then by the dot path of its body: `2.customer.id`, `2.path`, `2`.',
    open: [...entities.values()].some((type) =>
      writes.some((action) => audienceOf(type, action) === 'everyone'),
    ),
    parameters: share(...writing),
    body: {
      schema: refTo('Batch'),
      example: [
        { method: 'PATCH', path: `${path}7/`, body: {}, if_match: '"3"' },
        { method: 'DELETE', path: `${path}8/` },
        { method: 'DELETE', path: `${path}9/?restore=1` },
      ],
    },
    answers: [
      {
        status: 200,
        description: 'The answers of all parts, in their order.',
        headers: ['Takeback-Operation', 'Idempotent-Replay'],
        schema: refTo('BatchAnswer'),
      },
    ],
    codes: [
      'unauthenticated',
      'forbidden',
      'not_found',
      'in_use',
      'last_admin',
      'target_deleted',
      'not_deleted',
      'busy',
      'stale',
      'disk_full',
    ],
  }
}

const text: JsonSchema = { type: 'string' }

const part: JsonSchema = {
  type: 'object',
  properties: {
    method: { type: 'string', enum: ['POST', 'PATCH', 'PUT', 'DELETE'] },
    path: {
      ...text,
      description:
        '`/api/<entity>/` for POST, `/api/<entity>/<id>/` for the others; DELETE takes `?restore=1` and `?purge=1`.',
    },
    body: { type: 'object', additionalProperties: true, description: 'As that call takes it.' },
    if_match: { type: ['string', 'null'], description: 'As the header `If-Match` has it.' },
  },
  required: ['method', 'path'],
  additionalProperties: false,
}

const result: JsonSchema = {
  type: 'object',
  properties: {
    status: { type: 'integer' },
    body: {
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'As that call answers; `null` where it has none.',
    },
    etag: text,
    location: text,
  },
  required: ['status', 'body'],
  additionalProperties: false,
}

export const batchSchemas: Readonly<Record<string, JsonSchema>> = {
  Batch: { ...manyOf(part), description: 'Writes that are made together, or not at all.' },
  BatchAnswer: {
    type: 'object',
    properties: { results: manyOf(result) },
    required: ['results'],
    additionalProperties: false,
  },
}
