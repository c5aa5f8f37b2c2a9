import type { JsonSchema } from '../declare/fields/field.ts'

const text: JsonSchema = { type: 'string' }
const time: JsonSchema = { type: 'string', format: 'date-time' }
const version: JsonSchema = { type: 'integer', minimum: 1 }
const kind: JsonSchema = { enum: ['create', 'update', 'delete', 'restore', 'purge'] }
const actor: JsonSchema = {
  type: ['string', 'null'],
  description: 'Who did it, such as `users/3`; `system` for the command line, `null` for nobody.',
}
const changed: JsonSchema = {
  type: ['object', 'null'],
  additionalProperties: object({ from: {}, to: {} }, ['from', 'to']),
  description: 'What changed, by dot path. `null` where that is not known any more.',
}
const next: JsonSchema = {
  type: ['string', 'null'],
  description: 'The `cursor` of the next page; `null` on the last one.',
}

/** What the calls answer that look into the past. */
export const pastSchemas: Readonly<Record<string, JsonSchema>> = {
  Change: object({ version, kind, at: time, actor, operation: text, changed }, [
    'version',
    'kind',
    'at',
    'actor',
    'operation',
    'changed',
  ]),
  History: pageOf('Change'),
}

function pageOf(schema: string): JsonSchema {
  return object({ data: { type: 'array', items: { $ref: `#/components/schemas/${schema}` } }, next }, [
    'data',
    'next',
  ])
}

function object(properties: Record<string, JsonSchema>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required, additionalProperties: false }
}
