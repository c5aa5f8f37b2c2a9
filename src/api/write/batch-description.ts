import type { JsonSchema } from '../../declare/fields/field.ts'
import { type EntityType, walk } from '../../declare/model.ts'
import { type AboutServer, type Description, manyOf, refTo } from '../description.ts'

const writes = ['create', 'update', 'delete', 'restore', 'purge'] as const

export function describeBatch(about: AboutServer): Description {
  return {
    summary: 'Make many writes as one operation',
    description:
      'Runs all parts in order, or none. Each part works like a request of its own. To use a value from the answer of an earlier part, write `$0.id` as a value in a `body` or as the id in a `path`. For the literal text `$0.id`, write `$$0.id`. If a part fails, the answer has its status and code; keys in `errors` start with the position of the part: `2.customer.id`, `2.path`, `2`.',
    open: [...about.model.entities.values()].some((type) =>
      writes.some((action) => about.isPublic(type, action)),
    ),
    body: { schema: refTo('Batch'), example: batchExample(about) },
    answers: [
      {
        status: 200,
        description: 'The answers of all parts, in order.',
        headers: ['Takeback-Operation', 'Idempotent-Replay'],
        schema: refTo('BatchAnswer'),
      },
    ],
    codes: [
      'unauthenticated',
      'forbidden',
      'recent_login_required',
      'not_found',
      'in_use',
      'last_admin',
      'target_deleted',
      'not_deleted',
      'changed_meanwhile',
      'busy',
      'version_gone',
      'stale',
      'disk_full',
    ],
  }
}

/** An example that creates an Entity and deletes it. Prefers a type without required references. */
function batchExample({ model, sample }: AboutServer): object[] {
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
        '`/api/<entity>/` for POST, `/api/<entity>/<id>/` for the other methods. DELETE also takes `?restore=1` and `?purge=1`. PUT to `/api/<entity>/?match=…` replaces or creates.',
    },
    body: { type: 'object', additionalProperties: true, description: 'The body of that request.' },
    if_match: { type: ['string', 'null'], description: 'The value of an `If-Match` header.' },
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
      description: 'The body of that answer; `null` if it has none.',
    },
    etag: text,
    location: text,
  },
  required: ['status', 'body'],
  additionalProperties: false,
}

export const batchSchemas: Readonly<Record<string, JsonSchema>> = {
  Batch: { ...manyOf(part), description: 'Writes that all happen, or none.' },
  BatchAnswer: {
    type: 'object',
    properties: { results: manyOf(result) },
    required: ['results'],
    additionalProperties: false,
  },
}
