import { budget } from '../../budget.ts'
import type { JsonSchema } from '../../declare/fields/field.ts'
import { closedObject } from '../description.ts'

const text: JsonSchema = { type: 'string' }
const time: JsonSchema = { type: 'string', format: 'date-time' }
export const version: JsonSchema = { type: 'integer', minimum: 1 }
const kind: JsonSchema = {
  type: 'string',
  enum: ['create', 'update', 'delete', 'restore', 'purge', 'migrate'],
  description: '`migrate`: a changed declaration filled in or converted the value. It makes no new version.',
}
export const actorSchema: JsonSchema = {
  type: ['string', 'null'],
  description:
    'Who did it: a user such as `users/3`, `system` (the command line), `keys/7`, `jobs/nightly`, `reactions/orders.update`, `admins/1 as users/5`, or `null` (not signed in).',
}
const changed: JsonSchema = {
  type: ['object', 'null'],
  additionalProperties: closedObject({ from: {}, to: {} }, ['from', 'to']),
  description: 'Old and new values, by dot path. `null` if they are no longer known, or hidden from you.',
}
const next: JsonSchema = {
  type: ['string', 'null'],
  description: 'The `cursor` of the next page; `null` on the last page.',
}

const id: JsonSchema = { type: 'integer', minimum: 1 }
const ofEntity = (schema: JsonSchema): JsonSchema => ({
  ...schema,
  type: ['integer', 'null'],
  description: '`null` if a migration changed the whole type.',
})
const secrets: JsonSchema = {
  type: 'array',
  items: text,
  description: 'Dot paths of secrets that are set back to an earlier value. The values are never shown.',
}
const changedSecrets: JsonSchema = {
  type: 'array',
  items: text,
  description:
    'Dot paths of secrets that were changed, if there are any. The values are never shown, and those of a create are not named.',
}
const unmapped: JsonSchema = {
  type: 'array',
  items: text,
  description: 'Dot paths of the old state that are no longer declared.',
}
const head = {
  id: text,
  at: time,
  actor: actorSchema,
  changes: { type: 'integer', minimum: 1, description: 'The number of Entities that it changed.' },
}
/** Keys that are present only if they have a value. */
const optionalFacts = {
  cause: { ...text, description: 'The operation that caused this one.' },
  run: { ...text, description: 'The `Takeback-Run` of the request.' },
  reason: {
    ...text,
    description: 'The `Takeback-Reason` of the request. Purging an Entity that it changed erases it.',
  },
  undoes: {
    type: 'array',
    items: text,
    description: 'Operations that this one took back, fully or partly. At most 100.',
  },
  undone_by: {
    type: 'array',
    items: text,
    description: 'Operations that took this one back, fully or partly. At most 100.',
  },
} as const satisfies Record<string, JsonSchema>
const summary: JsonSchema = {
  type: 'object',
  additionalProperties: { type: 'object', additionalProperties: { type: 'integer' } },
  description: 'The number of Entities of each type, by kind of change.',
}
const toldSchema = (properties: Record<string, JsonSchema>) =>
  closedObject({ ...properties, ...optionalFacts }, Object.keys(properties))
const all = (properties: Record<string, JsonSchema>) => closedObject(properties, Object.keys(properties))

const undoOptions: Record<string, JsonSchema> = {
  dry_run: { type: 'boolean', description: 'Shows what would change, and writes nothing.' },
  skip_conflicts: { type: 'boolean', description: 'Skips conflicts and takes back the rest.' },
  with_effects: {
    type: 'boolean',
    description: 'Also takes back what reactions wrote because of it. Only for admins.',
  },
  with: { type: 'string', description: '`dependents`, `targets`, or both, separated by a comma.' },
  plan: { type: 'string', description: 'The `plan` of a preview. Does exactly that, or nothing.' },
  cursor: { type: 'string', description: 'The next page of a preview.' },
}

/** Without `skip_conflicts` and `with_effects`: there is only one change to take back. */
const { skip_conflicts: _, with_effects: __, ...undoOptionsOfOne } = undoOptions

const change = { version, kind, at: time, actor: actorSchema, operation: text, changed }
const operationChange = { entity: text, id: ofEntity(id), version: ofEntity(version), kind, changed }

/** The schemas of histories. */
export const changeSchemas: Readonly<Record<string, JsonSchema>> = {
  Change: closedObject({ ...change, secrets: changedSecrets, ...optionalFacts }, Object.keys(change)),
  History: pageSchema('Change'),
}

/** The schemas of operations. */
export const operationSchemas: Readonly<Record<string, JsonSchema>> = {
  Operation: toldSchema({ ...head, summary }),
  Operations: pageSchema('Operation'),
  OperationChange: closedObject(
    { ...operationChange, secrets: changedSecrets },
    Object.keys(operationChange),
  ),
  OperationInFull: toldSchema({ ...head, summary, data: listOf('OperationChange'), next }),
}

const idOrNone: JsonSchema = {
  ...id,
  type: ['integer', 'null'],
  description: '`null` in the preview of a create: what is not made yet has no id.',
}
const planned: Record<string, JsonSchema> = {
  plan: { type: 'string', description: 'Only in a preview: send it as `plan` to do exactly this.' },
  next: { ...next, description: 'Only in a preview: the `cursor` of the next page.' },
}

const named: JsonSchema = {
  type: 'array',
  items: text,
  minItems: 1,
  maxItems: budget.namedOperations,
  description: 'The ids of operations, in place of a filter.',
}

/** The schemas of undo, redo, changes by a filter, and previews. */
export const undoSchemas: Readonly<Record<string, JsonSchema>> = {
  Undo: closedObject(undoOptions, []),
  UndoLast: closedObject(undoOptionsOfOne, []),
  UndoMany: {
    ...closedObject(
      { operations: named, actor: text, since: time, until: time, entity: text, run: text, ...undoOptions },
      [],
    ),
    minProperties: 1,
    description: 'Takes back the operations that match all of these, or the `operations` that are named.',
  },
  Reversal: closedObject({ entity: text, id: idOrNone, kind, changed, secrets, unmapped }, [
    'entity',
    'id',
    'kind',
    'changed',
  ]),
  Planned: {
    ...all({
      operation: { type: 'null' },
      total: { type: 'integer', minimum: 0, description: 'The number of Entities that would change.' },
      changes: { ...listOf('Reversal'), description: 'A page of up to 100 changes.' },
      ...planned,
    }),
    description: 'What a write would do. Nothing was written.',
  },
  ChangedMany: closedObject(
    {
      operation: { type: ['string', 'null'], description: 'The operation; `null` if nothing changed.' },
      matched: {
        type: 'integer',
        minimum: 0,
        description: 'The number of Entities that the filter matches.',
      },
      total: {
        type: 'integer',
        minimum: 0,
        description: 'The number of Entities that change, including those that a delete cascades to.',
      },
      changes: { ...listOf('Reversal'), description: 'The first 100 changes.' },
      ...planned,
    },
    ['operation', 'matched', 'total', 'changes'],
  ),
  Undone: closedObject(
    {
      operation: { type: ['string', 'null'], description: 'The new operation.' },
      undone: { type: 'integer', minimum: 0, description: 'The number of operations that matched.' },
      total: { type: 'integer', minimum: 0, description: 'The number of Entities that change.' },
      changes: { ...listOf('Reversal'), description: 'The first 100 changes.' },
      skipped: {
        type: 'object',
        additionalProperties: { type: 'array', items: text },
        description: 'What was skipped, and why.',
      },
      effects: {
        type: 'array',
        items: all({
          operation: text,
          at: time,
          actor: { type: ['string', 'null'] },
          changes: { type: 'integer', minimum: 1 },
        }),
        description:
          'Only for admins: the operations that reactions made because of it. At most 100, newest first.',
      },
      ...planned,
    },
    ['operation', 'undone', 'total', 'changes', 'skipped'],
  ),
}

function listOf(schema: string): JsonSchema {
  return { type: 'array', items: { $ref: `#/components/schemas/${schema}` } }
}

function pageSchema(schema: string): JsonSchema {
  return closedObject({ data: listOf(schema), next }, ['data', 'next'])
}
