import type { JsonSchema } from '../declare/fields/field.ts'
import { object } from './description.ts'

const text: JsonSchema = { type: 'string' }
const time: JsonSchema = { type: 'string', format: 'date-time' }
export const version: JsonSchema = { type: 'integer', minimum: 1 }
const kind: JsonSchema = {
  type: 'string',
  enum: ['create', 'update', 'delete', 'restore', 'purge', 'migrate'],
  description: '`migrate`: a changed declaration gave a default or converted the value. It makes no version.',
}
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

const id: JsonSchema = { type: 'integer', minimum: 1 }
const ofEntity = (schema: JsonSchema): JsonSchema => ({
  ...schema,
  type: ['integer', 'null'],
  description: '`null` where a migration changed the whole type.',
})
const secrets: JsonSchema = {
  type: 'array',
  items: text,
  description: 'Dot paths of secrets that get a former value back. The values are never shown.',
}
const unmapped: JsonSchema = {
  type: 'array',
  items: text,
  description: 'Dot paths of the former state that have no place in the declaration any more.',
}
const head = {
  id: text,
  at: time,
  actor,
  changes: { type: 'integer', minimum: 1, description: 'How many Entities it changed.' },
}
/** Only where there is something to tell. */
const told = {
  run: { ...text, description: 'The `Takeback-Run` of the request.' },
  reason: {
    ...text,
    description: 'The `Takeback-Reason` of the request. A purge of what it changed erases it.',
  },
  undoes: {
    type: 'array',
    items: text,
    description: 'Operations that it took back, wholly or in part; the first hundred.',
  },
  undone_by: {
    type: 'array',
    items: text,
    description: 'Operations that took it back, wholly or in part; the first hundred.',
  },
} as const satisfies Record<string, JsonSchema>
const summary: JsonSchema = {
  type: 'object',
  additionalProperties: { type: 'object', additionalProperties: { type: 'integer' } },
  description: 'How many Entities of each type, by kind of change.',
}
const toldOf = (properties: Record<string, JsonSchema>) =>
  object({ ...properties, ...told }, Object.keys(properties))
const all = (properties: Record<string, JsonSchema>) => object(properties, Object.keys(properties))

const asked: Record<string, JsonSchema> = {
  dry_run: { type: 'boolean', description: 'Shows what would be done, and does nothing.' },
  skip_conflicts: { type: 'boolean', description: 'Takes back the rest where something is in the way.' },
  with: { type: 'string', description: '`dependents`, `targets`, or both with a comma between them.' },
  plan: { type: 'string', description: 'From a preview: exactly that is done, or nothing.' },
  cursor: { type: 'string', description: 'The next page of a preview.' },
}

/** Of one Entity there is one change to take back: nothing of it can be skipped. */
const { skip_conflicts: _, ...askedOfOne } = asked

/** Of a history. */
export const changeSchemas: Readonly<Record<string, JsonSchema>> = {
  Change: toldOf({ version, kind, at: time, actor, operation: text, changed }),
  History: pageOf('Change'),
}

/** Of operations. */
export const operationSchemas: Readonly<Record<string, JsonSchema>> = {
  Operation: toldOf({ ...head, summary }),
  Operations: pageOf('Operation'),
  OperationChange: all({ entity: text, id: ofEntity(id), version: ofEntity(version), kind, changed }),
  OperationInFull: toldOf({ ...head, summary, data: listOf('OperationChange'), next }),
}

/** Of whatever takes something back, and of previews. */
export const undoSchemas: Readonly<Record<string, JsonSchema>> = {
  Undo: object(asked, []),
  UndoLast: object(askedOfOne, []),
  UndoMany: {
    ...object({ actor: text, since: time, until: time, entity: text, run: text, ...asked }, []),
    minProperties: 1,
    description: 'All that is given must hold.',
  },
  Reversal: object({ entity: text, id, kind, changed, secrets, unmapped }, [
    'entity',
    'id',
    'kind',
    'changed',
  ]),
  Removed: all({
    operation: { type: 'null' },
    total: { type: 'integer', minimum: 0, description: 'How many Entities would be changed.' },
    changes: { ...listOf('Reversal'), description: 'The first hundred of them.' },
  }),
  Undone: object(
    {
      operation: { type: ['string', 'null'], description: 'The new operation.' },
      undone: { type: 'integer', minimum: 0, description: 'How many operations matched.' },
      total: { type: 'integer', minimum: 0, description: 'How many Entities are changed.' },
      changes: { ...listOf('Reversal'), description: 'The first hundred of them.' },
      skipped: {
        type: 'object',
        additionalProperties: { type: 'array', items: text },
        description: 'What was left alone, and why.',
      },
      plan: { type: 'string', description: 'Of a preview: what `plan` takes.' },
      next: { ...next, description: 'Of a preview: the `cursor` of the next page.' },
    },
    ['operation', 'undone', 'total', 'changes', 'skipped'],
  ),
}

function listOf(schema: string): JsonSchema {
  return { type: 'array', items: { $ref: `#/components/schemas/${schema}` } }
}

function pageOf(schema: string): JsonSchema {
  return object({ data: listOf(schema), next }, ['data', 'next'])
}
