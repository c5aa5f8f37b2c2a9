import { budget } from '../../budget.ts'
import { actions } from '../../declare/define.ts'
import type { JsonSchema } from '../../declare/fields/field.ts'
import type { Model } from '../../declare/model.ts'
import { keyLimits } from '../../plan/viewer/key-scope.ts'
import { closedObject, refTo } from '../description.ts'

const time = { type: 'string', format: 'date-time' } as const
const optionalTime: JsonSchema = { type: ['string', 'null'], format: 'date-time' }
const number: JsonSchema = { type: 'integer', minimum: 0 }

function rightsSchema({ entities }: Model): JsonSchema {
  const may: JsonSchema = {
    type: 'array',
    items: { type: 'string', enum: [...actions] },
    minItems: 1,
  }
  return {
    ...closedObject(
      {
        entities: {
          ...closedObject(Object.fromEntries([...entities.keys()].map((name) => [name, may])), []),
          minProperties: 1,
          description: 'What the key may do, by Entity type. Other types do not exist for it. Default: all.',
        },
        read_only: { type: 'boolean', description: 'Whether it can only read.' },
      },
      [],
    ),
    description: 'The rights of the key. The rules of its user apply as well.',
  }
}

const limitsSchema: JsonSchema = {
  ...closedObject(
    Object.fromEntries(
      keyLimits.map((name) => [name, { type: 'integer', minimum: 0, maximum: budget.keyLimit }]),
    ),
    [],
  ),
  description:
    'The most that the key may change. Each changed Entity counts, including those that a delete cascades to.',
}

function termSchemas(): Record<string, JsonSchema> {
  return {
    name: { type: 'string', minLength: 1, maxLength: budget.keyNameCharacters },
    expires_at: optionalTime,
    can: refTo('KeyRights'),
    limits: limitsSchema,
    agent: {
      type: 'boolean',
      description:
        'Whether it can only do what can be taken back, and must show every write before it is made.',
    },
  }
}

const doneSchema: JsonSchema = {
  ...closedObject(
    {
      operations: number,
      changes: number,
      deletes: number,
      last_operation: { type: ['string', 'null'], format: 'uuid' },
      last_at: optionalTime,
    },
    ['operations', 'changes', 'deletes', 'last_operation', 'last_at'],
  ),
  description: 'What it has done, as far as the journal goes back.',
}

/** The schemas of keys, in requests and in answers. */
export function keySchemas(model: Model): Record<string, JsonSchema> {
  const terms = termSchemas()
  const user: JsonSchema = { type: 'string', description: 'The user in whose name it acts, as `users/3`.' }
  const password: JsonSchema = {
    type: 'string',
    format: 'password',
    description: 'Your own. Required if the login is not recent.',
  }
  const shown = {
    id: { type: 'integer', minimum: 1 },
    actor: { type: 'string', description: 'How the journal names it: `keys/7`.' },
    user,
    ...terms,
    created_at: time,
    last_used_at: { ...optionalTime, description: `Up to ${budget.keyUsedMinutes} minutes late.` },
    ended_at: optionalTime,
  } satisfies Record<string, JsonSchema>
  const required = Object.keys(shown)
  const text: JsonSchema = { type: 'string', description: 'The key itself. It is never shown again.' }
  return {
    KeyRights: rightsSchema(model),
    NewKey: closedObject({ ...terms, user, password }, ['name']),
    KeyChange: closedObject({ ...terms, password }, []),
    Key: closedObject(shown, required),
    KeyMade: closedObject({ ...shown, key: text }, [...required, 'key']),
    KeyInFull: closedObject({ ...shown, done: doneSchema }, [...required, 'done']),
    Keys: closedObject({ data: { type: 'array', items: refTo('Key') }, next: { type: ['string', 'null'] } }, [
      'data',
      'next',
    ]),
  }
}
