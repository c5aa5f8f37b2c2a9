import type { JsonSchema } from '../declare/fields/field.ts'
import { type EntityType, walk } from '../declare/model.ts'
import { type AboutServer, type Description, manyOf, refTo } from './description.ts'

const writes = ['create', 'update', 'delete', 'restore', 'purge'] as const

export function describeBatch(about: AboutServer): Description {
  return {
    summary: 'Write many things as one operation',
    description:
      'All parts or none, in their order, each as a call of its own would. A text in a `body` that is exactly `$0.id`, and such an id in a `path`, stands for that value of the answer of an earlier part; `$$0.id` is the text `$0.id`. The first failure is answered with its own status and code; its `errors` are keyed by the place of its part, then by the dot path of its body: `2.customer.id`, `2.path`, `2`.',
    open: [...about.model.entities.values()].some((type) =>
      writes.some((action) => about.isPublic(type, action)),
    ),
    body: { schema: refTo('Batch'), example: exampleOf(about) },
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

/** Makes one, and deletes it: of a type that needs nothing else to be there, if there is one. */
function exampleOf({ model, sample }: AboutServer): object[] {
  const types = [...model.entities.values()]
  const needs = ({ fields, login }: EntityType) =>
    login !== undefined || [...walk(fields)].some((field) => field.kind === 'reference' && !field.optional)
  const type = types.find((one) => !needs(one)) ?? types[0]
  if (type === undefined) return []
  const path = `/api/${type.name}/`
  return [
    { method: 'POST', path, body: sample(type) },
    { method: 'DELETE', path: `${path}$0.id/`, if_match: '"1"' },
  ]
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
