import { shared } from '../../api/parameters.ts'
import { readHistory } from '../../api/past/history.ts'
import { listOperations, readOperation } from '../../api/past/operations.ts'
import { equalities } from '../../api/query.ts'
import { listEntities } from '../../api/read/list.ts'
import { readEntity } from '../../api/read/read.ts'
import { summariseEntities } from '../../api/read/summary.ts'
import { budget } from '../../budget.ts'
import type { JsonSchema } from '../../declare/fields/field.ts'
import { isRecord } from '../../declare/record.ts'
import { type Arguments, asQuery, type Takes } from './arguments.ts'
import { describeAll, describeType } from './describe.ts'
import { planNamed } from './entity-type.ts'
import { pageResult, readResult, type ToolResult, toolResult } from './result.ts'
import type { ToolUse } from './tool-call.ts'
import { undoChanges, writeParts } from './write.ts'

/** A tool, as clients see it, and its code. Its schemas are made once. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly takes: Takes
  /** Whether it changes anything. */
  readonly writes: boolean
  run(use: ToolUse, given: Arguments): Promise<ToolResult>
}

/** The schema of a parameter of the HTTP API that means the same here. */
function like(name: keyof typeof shared): JsonSchema {
  const { schema, description } = shared[name]
  return { ...schema, description }
}

function worded(description: string): JsonSchema {
  return { type: 'string', description }
}

function flag(description: string): JsonSchema {
  return { type: 'boolean', description }
}

const entity = worded('The name of an Entity type, as describe has it.')
const id: JsonSchema = { type: 'integer', minimum: 1, description: 'The id of an Entity.' }
const where: JsonSchema = {
  type: 'object',
  additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
  description:
    'Values that fields must have, by dot path: {"room.id": 5, "status": "open", "owner.id": null}.',
}
const fields = worded('The dot paths to return, separated by commas: "title,room.id". Default: all.')
const expand = worded('References to return as whole Entities, separated by commas: "room,room.owner".')
const paged = { limit: like('limit'), cursor: worded('The `next` of the page before.') }
const selecting = {
  filter: like('filter'),
  where,
  search: worded('Words to search for, in types whose describe says search.'),
  trashed: like('trashed'),
  at: like('at'),
}
const planning = {
  plan: like('plan'),
  dry_run: flag('true: shows what it would do, with a plan, and does nothing.'),
  cursor: worded('The `next` of a plan with many changes: shows its next page.'),
}
const idempotency_key = worded(
  'A random text, the same each time that you send this write again: it is then done once. Valid for 24 hours.',
)
const noting = {
  run: worded('A name for this session, the same in all its writes: undo takes a whole run back.'),
  reason: worded('Why, in a sentence. People read it in the history.'),
}

const describe: Tool = {
  name: 'describe',
  title: 'Describe the data',
  description:
    'Call this first. Without entity: who you are, and the Entity types that you can use. With entity: its fields as a JSON Schema, references, what you may do, and examples of filters.',
  takes: { properties: { entity } },
  writes: false,
  async run({ context, call }, given) {
    const { actor } = call.caller
    if (given.entity === undefined) return toolResult(describeAll(context, actor))
    return toolResult(describeType(context, planNamed(context, actor, given.entity), actor))
  },
}

const find: Tool = {
  name: 'find',
  title: 'Find Entities',
  description:
    'One page of the Entities of a type, by filter, values or search. If next is not null, there are more: send it as cursor with the same arguments.',
  takes: {
    properties: {
      entity,
      ...selecting,
      sort: worded('Dot paths, separated by commas; - for descending: "-updated_at,title".'),
      fields,
      expand,
      count: flag('true: adds total, the number on all pages.'),
      ...paged,
    },
    required: ['entity'],
  },
  writes: false,
  run(use, given) {
    const plan = planNamed(use.context, use.call.caller.actor, given.entity)
    const query = selectionOf(given, listEntities.takes)
    return pageResult(given, (limit) => use.ofEntity(listEntities, plan, { query: { ...query, ...limit } }))
  },
}

const read: Tool = {
  name: 'read',
  title: 'Read an Entity',
  description: 'One Entity by its id, as it is now or as it was at a time.',
  takes: { properties: { entity, id, fields, expand, at: like('at') }, required: ['entity', 'id'] },
  writes: false,
  async run(use, given) {
    const plan = planNamed(use.context, use.call.caller.actor, given.entity)
    const input = { id: String(given.id), query: asQuery(given, readEntity.takes) }
    return readResult(await use.ofEntity(readEntity, plan, input), 'fields')
  },
}

const summarize: Tool = {
  name: 'summarize',
  title: 'Summarize Entities',
  description:
    'Counts and adds up the Entities of a type, by groups: count, distinct, sum, avg, min, max. Use this instead of reading many pages.',
  takes: {
    properties: {
      entity,
      ...selecting,
      group: worded(
        'Dot paths to group by, separated by commas, or parts of times: "status,month(created_at)".',
      ),
      distinct: worded('Dot paths whose different values are counted.'),
      sum: worded('Dot paths to add up.'),
      avg: worded('Dot paths to average.'),
      min: worded('Dot paths to take the minimum of.'),
      max: worded('Dot paths to take the maximum of.'),
      sort: worded('Groups or figures: "-count".'),
      ...paged,
    },
    required: ['entity'],
  },
  writes: false,
  run(use, given) {
    const plan = planNamed(use.context, use.call.caller.actor, given.entity)
    const query = selectionOf(given, summariseEntities.takes)
    return pageResult(given, (limit) =>
      use.ofEntity(summariseEntities, plan, { query: { ...query, ...limit } }),
    )
  },
}

const write: Tool = {
  name: 'write',
  title: 'Write Entities',
  description:
    'Creates, updates, deletes and restores Entities: all parts happen as one operation, or none. The answer has the operation, which undo takes back. A delete can be undone; nothing is erased. If you plan first (see describe), the first call only answers with what it would do and a plan: look at it, then send the same parts with that plan. Errors are keyed by the place of the part and the field: "0.title".',
  takes: {
    properties: {
      parts: {
        type: 'array',
        minItems: 1,
        maxItems: budget.batchParts,
        description: 'In order. "$0.id" is the id that part 0 gets.',
        items: {
          type: 'object',
          properties: {
            action: { type: 'string', enum: ['create', 'update', 'delete', 'restore'] },
            entity,
            id: { type: ['integer', 'string'], description: 'Not for create. An id, or "$0.id".' },
            values: {
              type: 'object',
              additionalProperties: true,
              description: 'For create: the new values. For update: only those that change.',
            },
            version: {
              type: 'integer',
              description: 'The version that you have read. If it is another one now, nothing is written.',
            },
          },
          required: ['action', 'entity'],
          additionalProperties: false,
        },
      },
      ...planning,
      ...noting,
      idempotency_key,
    },
    required: ['parts'],
  },
  writes: true,
  run: writeParts,
}

const history: Tool = {
  name: 'history',
  title: 'History of an Entity',
  description: 'Every change of one Entity, newest first: who, when, which operation, old and new values.',
  takes: { properties: { entity, id, ...paged }, required: ['entity', 'id'] },
  writes: false,
  run(use, given) {
    const plan = planNamed(use.context, use.call.caller.actor, given.entity)
    const query = asQuery(given, readHistory.takes)
    return pageResult(given, (limit) =>
      use.ofEntity(readHistory, plan, { id: String(given.id), query: { ...query, ...limit } }),
    )
  },
}

const operations: Tool = {
  name: 'operations',
  title: 'List operations',
  description:
    'Operations, newest first, or with operation the changes of one of them. Yours, unless you are an admin.',
  takes: {
    properties: {
      operation: worded('The id of one operation: shows its changes.'),
      actor: like('actor'),
      since: like('since'),
      until: like('until'),
      entity: like('entity'),
      run: like('run'),
      ...paged,
    },
  },
  writes: false,
  run(use, given) {
    const { operation, ...rest } = given
    if (operation === undefined)
      return pageResult(given, (limit) =>
        use.ofServer(listOperations, { query: { ...asQuery(given, listOperations.takes), ...limit } }),
      )
    // The endpoint refuses arguments that cannot be combined with one operation.
    const query = asQuery(rest, Object.keys(rest))
    return pageResult(given, (limit) =>
      use.ofServer(readOperation, { id: String(operation), query: { ...query, ...limit } }),
    )
  },
}

const undo: Tool = {
  name: 'undo',
  title: 'Undo',
  description:
    'Takes back an operation, or all that match run, actor, since, until and entity. It is a new operation, which can itself be undone. If values were changed since, nothing is written and the answer names the conflicts. If you plan first (see describe), the first call only answers with what it would do and a plan.',
  takes: {
    properties: {
      operation: worded('The id of the operation to take back.'),
      run: like('run'),
      actor: like('actor'),
      since: like('since'),
      until: like('until'),
      entity: like('entity'),
      skip_conflicts: flag('true: skips conflicts and takes back the rest.'),
      with: like('with'),
      ...planning,
      reason: noting.reason,
      idempotency_key,
    },
  },
  writes: true,
  run: undoChanges,
}

/** All tools, in the order in which clients see them. */
export const tools: readonly Tool[] = [describe, find, read, summarize, write, history, operations, undo]

/** Converts arguments to the query of a list. */
function selectionOf(given: Arguments, takes: readonly string[]): Readonly<Record<string, string>> {
  const { filter, ...query } = asQuery(given, takes)
  return { ...equalities(isRecord(given.where) ? given.where : {}, takes, filter), ...query }
}
