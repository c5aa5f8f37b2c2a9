import { refuseMalformedKey } from '../../api/idempotency.ts'
import { undoOperation, undoOperations } from '../../api/past/undo.ts'
import { writeBatch } from '../../api/write/batch.ts'
import { isRecord } from '../../declare/record.ts'
import { addError, addErrors, type Errors, Failure, invalid, invalidAt } from '../../errors.ts'
import { type Arguments, asQuery, checkArguments, noteOf, type Takes } from './arguments.ts'
import { planNamed } from './entity-type.ts'
import { type ToolResult, writeResult } from './result.ts'
import type { ToolUse } from './tool-call.ts'

const PLANNING = ['plan', 'dry_run', 'cursor'] as const
const METHODS = { create: 'POST', update: 'PATCH', delete: 'DELETE', restore: 'DELETE' } as const
const ACTIONS = Object.keys(METHODS) as (keyof typeof METHODS)[]

const part: Takes = {
  properties: {
    action: { type: 'string', enum: ACTIONS },
    entity: { type: 'string' },
    id: { type: ['integer', 'string'] },
    values: { type: 'object' },
    version: { type: 'integer' },
  },
  required: ['action', 'entity'],
}

/** Writes all parts or none, as one operation. */
export async function writeParts(use: ToolUse, given: Arguments): Promise<ToolResult> {
  const errors: Errors = new Map()
  const sent = Array.isArray(given.parts) ? given.parts : []
  if (sent.length === 0) addError(errors, 'parts', 'must have at least one part')
  const body = sent.map((one: unknown, at) => batchPart(use, one, at, errors))
  if (errors.size > 0) throw invalid(errors)
  const input = { body, query: asQuery(given, PLANNING), note: noteOf(given), ...keyOf(given) }
  return writeResult(await use.ofServer(writeBatch, input))
}

/** Converts a part for the batch endpoint, which checks its values. */
function batchPart(use: ToolUse, sent: unknown, at: number, errors: Errors): object | undefined {
  if (!isRecord(sent)) return addError(errors, `${at}`, 'must be an object with action, entity and values')
  const own: Errors = new Map()
  const { action: name, entity, id, values, version } = checkArguments(sent, part, own, `${at}.`)
  const action = ACTIONS.find((one) => one === name)
  if (typeof entity === 'string') addUnknownTypeError(use, entity, `${at}.entity`, own)
  if (action !== undefined) addMissingErrors(action, { id, values, version }, `${at}.`, own)
  addErrors(errors, own)
  if (own.size > 0 || action === undefined) return undefined
  const path = action === 'create' ? `/api/${entity}/` : `/api/${entity}/${encodeURIComponent(String(id))}/`
  return {
    method: METHODS[action],
    path: (action === 'restore' ? `${path}?restore=1` : path).replace('%24', '$'),
    ...(values !== undefined && { body: values }),
    ...(version !== undefined && { if_match: `"${version}"` }),
  }
}

function addUnknownTypeError({ context, call }: ToolUse, name: string, path: string, errors: Errors): void {
  try {
    planNamed(context, call.caller.actor, name, path)
  } catch (error) {
    if (!(error instanceof Failure) || error.errors === undefined) throw error
    addErrors(errors, error.errors)
  }
}

/** Notes arguments that the action needs but lacks, or does not take. */
function addMissingErrors(action: keyof typeof METHODS, given: Arguments, at: string, errors: Errors): void {
  const needs = { id: action !== 'create', values: action === 'create' || action === 'update' }
  for (const name of ['id', 'values'] as const) {
    if (needs[name] && given[name] === undefined) addError(errors, at + name, `is required for ${action}`)
    if (!needs[name] && given[name] !== undefined) addError(errors, at + name, `is not for ${action}`)
  }
  if (action === 'create' && given.version !== undefined)
    addError(errors, `${at}version`, 'is not for create')
}

/** A write that is sent again with the same key is done once. */
function keyOf({ idempotency_key: key }: Arguments): { readonly key: string | null } {
  if (key === undefined) return { key: null }
  refuseMalformedKey(String(key), 'idempotency_key')
  return { key: String(key) }
}

const MATCHING = ['run', 'actor', 'since', 'until', 'entity'] as const

/** Takes back one operation, or all that match. */
export async function undoChanges(use: ToolUse, given: Arguments): Promise<ToolResult> {
  const query = asQuery(given, [...PLANNING, 'skip_conflicts', 'with'])
  const { operation, reason } = given
  const matching = Object.fromEntries(
    MATCHING.flatMap((one) => (given[one] === undefined ? [] : [[one, given[one]]])),
  )
  const noted = { note: noteOf({ reason }), ...keyOf(given) }
  if (operation === undefined && Object.keys(matching).length === 0)
    throw invalidAt('operation', `is required, or one of ${MATCHING.join(', ')}`)
  if (operation === undefined)
    return writeResult(await use.ofServer(undoOperations, { query, body: matching, ...noted }))
  const [other] = Object.keys(matching)
  if (other !== undefined) throw invalidAt(other, 'is not used together with operation')
  return writeResult(await use.ofServer(undoOperation, { id: String(operation), query, ...noted }))
}
