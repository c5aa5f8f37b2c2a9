import { budget } from '../../budget.ts'
import type { JsonSchema } from '../../declare/fields/field.ts'
import { closedObject } from '../description.ts'
import { actorSchema, version } from '../past/past-schemas.ts'

const text: JsonSchema = { type: 'string' }
const id: JsonSchema = { type: 'integer', minimum: 1 }
const kind = (name: string): JsonSchema => ({ type: 'string', enum: [name] })
const entity: JsonSchema = { type: 'string', description: 'The Entity type.' }
const operation: JsonSchema = { type: 'string', format: 'uuid', description: 'The operation that did it.' }

const upsert = closedObject(
  {
    type: kind('upsert'),
    entity,
    id,
    version,
    operation,
    at: { type: 'string', format: 'date-time' },
    actor: {
      ...actorSchema,
      description: 'Who did it. `null` if you may not see the history of the Entity, unless it was you.',
    },
    data: { type: 'object', additionalProperties: true, description: 'The Entity as you see it.' },
  },
  ['type', 'entity', 'id', 'version', 'operation', 'at', 'actor', 'data'],
)
const remove = closedObject({ type: kind('remove'), entity, id, operation }, [
  'type',
  'entity',
  'id',
  'operation',
])
const reset = closedObject({ type: kind('reset'), entity }, ['type', 'entity'])

/** Of the feed of changes. */
export const changeFeedSchemas: Readonly<Record<string, JsonSchema>> = {
  Changes: closedObject(
    {
      data: { type: 'array', items: { anyOf: [upsert, remove, reset] } },
      next: { ...text, description: 'The position after these changes: the next `since`.' },
      more: { type: 'boolean', description: 'Whether there are more changes right now.' },
    },
    ['data', 'next', 'more'],
  ),
}

/** With commas, or as a list. */
const texts: JsonSchema = { anyOf: [text, { type: 'array', items: text }] }
const followed = closedObject(
  {
    entity: { ...texts, description: 'Entity types. Default: all that you may read.' },
    filter: { ...text, description: 'A CEL filter, with one Entity type.' },
    fields: { ...texts, description: 'The dot paths to return, with one Entity type. Default: all.' },
    since: { ...text, description: 'A position: the `Takeback-Position` of the list. Default: now.' },
  },
  [],
)

/** Of the stream of several lists. */
export const followListsSchemas: Readonly<Record<string, JsonSchema>> = {
  FollowLists: closedObject(
    {
      lists: {
        type: 'array',
        minItems: 1,
        maxItems: budget.streamLists,
        items: followed,
      },
    },
    ['lists'],
  ),
}

export const exampleChanges = {
  data: [
    {
      type: 'upsert',
      entity: 'bookings',
      id: 7,
      version: 2,
      operation: '01973a2e-7c40-7000-8000-5f1d2c3b4a59',
      at: '2026-06-02T17:00:00.000Z',
      actor: 'users/3',
      data: { id: 7, title: 'Sea view', version: 2 },
    },
    { type: 'remove', entity: 'bookings', id: 5, operation: '01973a2e-7c40-7000-8000-5f1d2c3b4a59' },
  ],
  next: 'a41c09d27e55-1204-2k9x0fz3',
  more: false,
}
