import type { Action } from '../declare/define.ts'
import type { JsonSchema } from '../declare/fields/field.ts'
import type { EntityType, Model } from '../declare/model.ts'
import type { Code } from '../errors.ts'
import { reachOf } from '../plan/tables/graph.ts'
import { audienceOf, isOpen, nameAudience, refusalsOf } from './access.ts'
import { manyOf, refTo } from './compose.ts'
import type { Operation, Success } from './operation.ts'
import {
  equalityParameters,
  expandParameters,
  fieldsParameter,
  figureParameters,
  SUMMARY_TAKEN,
  searchParameters,
  share,
  sortParameter,
  writing,
} from './parameters.ts'
import { undone } from './past-operations.ts'
import { answerOf, sampleOf } from './sample.ts'
import { type SchemaKind, schemaName } from './schemas.ts'

/** The calls that one Entity type brings along. */
export function entityOperations(type: EntityType, model: Model): Operation[] {
  const about = aboutOf(type, model)
  return [
    listOperation(about),
    summaryOperation(about),
    createOperation(about),
    readOperation(about),
    ...updateOperations(about),
    removeOperation(about),
    historyOperation(about),
    revertOperation(about),
    stepOperation(about, 'undo'),
    stepOperation(about, 'redo'),
  ]
}

/** What the operations of a type are made of. */
interface About {
  readonly type: EntityType
  readonly model: Model
  readonly collection: string
  readonly one: string
  /** `order_lines` → `OrderLines`; names have no capitals of their own, so no two types get the same. */
  readonly label: string
  schema(kind: SchemaKind): JsonSchema
  /** Whether it can be done without a token. */
  open(...actions: readonly Action[]): boolean
  /** Who may do what, a sentence each. */
  access(...actions: readonly Action[]): string
}

function aboutOf(type: EntityType, model: Model): About {
  const capital = (letter: string) => letter.toUpperCase()
  return {
    type,
    model,
    collection: `/api/${type.name}/`,
    one: `/api/${type.name}/{id}/`,
    label: type.name.replace(/^[a-z]/, capital).replace(/_([a-z])/g, (_, letter: string) => capital(letter)),
    schema: (kind) => refTo(schemaName(model, type, kind)),
    open: (...actions) => isOpen(type, model, actions),
    access: (...actions) =>
      actions
        .map((action) => `Who may ${action}: ${nameAudience(audienceOf(type, action), model)}.`)
        .join(' '),
  }
}

function entitySuccess({ type, model }: About, status: number, description: string): Success {
  return {
    status,
    description,
    headers: ['ETag'],
    schema: refTo(type.name),
    example: answerOf(type, model),
  }
}

function written(success: Success): Success {
  return { ...success, headers: [...success.headers, 'Takeback-Operation'] }
}

function replayable(success: Success): Success {
  return { ...success, headers: [...success.headers, 'Idempotent-Replay'] }
}

function listOperation(about: About): Operation {
  const { type, model } = about
  return {
    method: 'GET',
    path: about.collection,
    id: `list${about.label}`,
    tag: type.name,
    summary: `List ${type.name}`,
    description: `A page at a time, the deleted ones left out. ${about.access('read')} The deleted ones are listed for those who may restore: ${nameAudience(audienceOf(type, 'restore'), model)}.`,
    open: about.open('read'),
    parameters: [
      ...share('filter', 'limit', 'cursor', 'count', 'trashed', 'at'),
      ...searchParameters(type),
      sortParameter(type),
      fieldsParameter(type),
      ...expandParameters(type, model),
      ...equalityParameters(type),
    ],
    body: undefined,
    answers: [
      {
        status: 200,
        description: 'A page.',
        headers: [],
        schema: about.schema('list'),
        example: { data: [answerOf(type, model)], next: null },
      },
    ],
    codes: (['read', 'restore', 'history'] as const).flatMap((action) => refusalsOf(type, action, true)),
  }
}

function summaryOperation(about: About): Operation {
  const { type } = about
  return {
    method: 'GET',
    path: `${about.collection}summary/`,
    id: `summarise${about.label}`,
    tag: type.name,
    summary: `Count and add up ${type.name}`,
    description: `What the list would show, by groups: how many, sums, averages, least and greatest. ${about.access('read')}`,
    open: about.open('read'),
    parameters: [
      ...figureParameters(type),
      ...share('filter', 'limit', 'cursor', 'count', 'trashed', 'at'),
      ...searchParameters(type),
      ...equalityParameters(type, SUMMARY_TAKEN),
    ],
    body: undefined,
    answers: [
      {
        status: 200,
        description: 'A line for each group.',
        headers: [],
        schema: refTo('Summary'),
        example: { data: [{ count: 1 }], next: null },
      },
    ],
    codes: (['read', 'restore', 'history'] as const).flatMap((action) => refusalsOf(type, action, true)),
  }
}

function createOperation(about: About): Operation {
  const { type, model } = about
  const created = written(entitySuccess(about, 201, 'It is there now.'))
  return {
    method: 'POST',
    path: about.collection,
    id: `create${about.label}`,
    tag: type.name,
    summary: `Create one of ${type.name}`,
    description: `A list creates all of its members or none, as one operation. ${about.access('create')}`,
    open: about.open('create'),
    parameters: share(...writing),
    body: {
      schema: { anyOf: [about.schema('create'), manyOf(about.schema('create'))] },
      example: sampleOf(type, model),
    },
    answers: [
      {
        ...created,
        description: 'It is there now. Of a list all are, in its order, without `ETag` and `Location`.',
        headers: [...created.headers, 'Location', 'Idempotent-Replay'],
        schema: { anyOf: [refTo(type.name), about.schema('made')] },
      },
    ],
    codes: [...refusalsOf(type, 'create', true), 'busy', 'disk_full'],
  }
}

function readOperation(about: About): Operation {
  const { type } = about
  const found = entitySuccess(about, 200, 'The Entity.')
  return {
    method: 'GET',
    path: about.one,
    id: `read${about.label}`,
    tag: type.name,
    summary: `Read one of ${type.name}`,
    description: `What is deleted is not found. ${about.access('read')}`,
    open: about.open('read'),
    parameters: [
      ...share('id', 'If-None-Match', 'at'),
      fieldsParameter(type),
      ...expandParameters(type, about.model),
    ],
    body: undefined,
    answers: [
      { ...found, schema: { anyOf: [refTo(type.name), about.schema('part')] } },
      { status: 304, description: 'It is still as `If-None-Match` says.', headers: ['ETag'] },
    ],
    codes: [...refusalsOf(type, 'read', false), ...refusalsOf(type, 'history', false), 'not_found'],
  }
}

function updateOperations(about: About): Operation[] {
  const { type, model } = about
  const common = {
    path: about.one,
    tag: type.name,
    open: about.open('update'),
    parameters: share('id', 'If-Match', ...writing),
    answers: [replayable(written(entitySuccess(about, 200, 'The Entity as it stands now.')))],
    codes: [...refusalsOf(type, 'update', false), 'not_found', 'busy', 'stale', 'disk_full'] satisfies Code[],
  }
  const password =
    type.login === undefined
      ? ''
      : ' Only admins may set a password here; others change their own through `/api/auth/password`.'
  return [
    {
      ...common,
      method: 'PATCH',
      id: `patch${about.label}`,
      summary: `Change one of ${type.name}`,
      description: `The keys that are sent are merged in (RFC 7396): what is left out stays, \`null\` takes away.${password} ${about.access('update')}`,
      body: { schema: about.schema('patch'), example: firstOf(sampleOf(type, model)) },
    },
    {
      ...common,
      method: 'PUT',
      id: `replace${about.label}`,
      summary: `Replace one of ${type.name}`,
      description: `What is left out becomes its default or \`null\`; secrets stay.${password} ${about.access('update')}`,
      body: { schema: about.schema('replace'), example: withoutPassword(type, sampleOf(type, model)) },
    },
  ]
}

function removeOperation(about: About): Operation {
  const { type, model } = about
  const actions = ['delete', 'restore', 'purge'] as const
  const { into, out, types } = reachOf(type, model)
  const removed = written(entitySuccess(about, 200, 'The Entity: with `deleted_at`, or live again.'))
  const gone = { ...answerOf(type, model), version: 2, deleted_at: '2026-06-02T17:00:00.000Z' }
  return {
    method: 'DELETE',
    path: about.one,
    id: `delete${about.label}`,
    tag: type.name,
    summary: `Delete, restore or purge one of ${type.name}`,
    description: `Takes along what hangs from it, as one operation. \`restore=1\` takes exactly that operation back; \`purge=1\` erases for good what is deleted. Repeating a delete or a restore changes nothing. \`dry_run=1\` shows what would go along, come back or be emptied. ${about.access(...actions)}`,
    open: about.open(...actions),
    parameters: share('id', 'restore', 'purge', 'with_targets', 'dry_run', 'If-Match', ...writing),
    body: undefined,
    answers: [
      {
        ...replayable(removed),
        description: `${removed.description} With \`dry_run=1\`: what would change.`,
        schema: { anyOf: [removed.schema ?? {}, refTo('Removed')] },
        example: gone,
      },
      { status: 204, description: 'It is purged.', headers: ['Takeback-Operation', 'Idempotent-Replay'] },
    ],
    codes: [
      ...actions.flatMap((action) => refusalsOf(type, action, false)),
      'not_found',
      ...(into.length > 0 ? (['in_use'] as const) : []),
      ...(types.some(({ name }) => name === model.admins) ? (['last_admin'] as const) : []),
      ...(out.length > 0 ? (['target_deleted'] as const) : []),
      'not_deleted',
      'busy',
      'stale',
      'disk_full',
    ],
  }
}

function historyOperation(about: About): Operation {
  const { type } = about
  return {
    method: 'GET',
    path: `${about.one}history/`,
    id: `history${about.label}`,
    tag: type.name,
    summary: `The history of one of ${type.name}`,
    description: `Every change, newest first: who, when, by which operation, what from what to what. Of what is deleted for those who may restore it, of what is purged for those who may purge. ${about.access('read', 'history')}`,
    open: about.open('history') && about.open('read'),
    parameters: share('id', 'limit', 'cursor'),
    body: undefined,
    answers: [
      {
        status: 200,
        description: 'A page of changes.',
        headers: [],
        schema: refTo('History'),
        example: { data: [changeExample], next: null },
      },
    ],
    codes: [...refusalsOf(type, 'read', false), ...refusalsOf(type, 'history', false), 'not_found'],
  }
}

function revertOperation(about: About): Operation {
  const { type } = about
  const reverted = written(entitySuccess(about, 200, 'The Entity as it stands now.'))
  return {
    method: 'POST',
    path: `${about.one}revert/`,
    id: `revert${about.label}`,
    tag: type.name,
    summary: `Revert one of ${type.name} to a version`,
    description: `Writes that version's values as a new one. ${about.access('update', 'history')}`,
    open: about.open('history') && about.open('update'),
    parameters: share('id', 'If-Match', ...writing),
    body: { schema: refTo('Revert'), example: { version: 1 } },
    answers: [{ ...reverted, headers: [...reverted.headers, 'Takeback-Unmapped', 'Idempotent-Replay'] }],
    codes: [
      ...refusalsOf(type, 'update', false),
      ...refusalsOf(type, 'history', false),
      'not_found',
      'cannot_undo',
      'busy',
      'stale',
      'disk_full',
    ],
  }
}

/** One change back, or forward again. */
function stepOperation(about: About, way: 'undo' | 'redo'): Operation {
  const { type } = about
  const does =
    way === 'undo'
      ? 'Takes back the last change of the Entity; again and again, one after the other. A deletion is restored exactly, a restore deleted again.'
      : 'Does again what was undone last. After any other change there is nothing to redo.'
  return {
    method: 'POST',
    path: `${about.one}${way}/`,
    id: `${way}${about.label}`,
    tag: type.name,
    summary: `${way === 'undo' ? 'Undo' : 'Redo'} one change of one of ${type.name}`,
    description: `${does} ${about.access('history')} The change itself takes the rule that it would take otherwise.`,
    open: about.open('history'),
    parameters: share('id', 'dry_run', 'with', 'plan', 'cursor', 'If-Match', ...writing),
    body: undefined,
    answers: [undone],
    codes: [
      'unauthenticated',
      'forbidden',
      'not_found',
      way === 'undo' ? 'nothing_to_undo' : 'nothing_to_redo',
      'cannot_undo',
      'in_use',
      'target_deleted',
      'busy',
      'plan_changed',
      'stale',
      'disk_full',
    ],
  }
}

const changeExample = {
  version: 2,
  kind: 'delete',
  at: '2026-06-02T17:00:00.000Z',
  actor: 'admins/1',
  operation: '01973a2e-7c40-7000-8000-5f1d2c3b4a59',
  changed: { deleted_at: { from: null, to: '2026-06-02T17:00:00.000Z' } },
}

/** A PATCH is for a part, so its example has one key. */
function firstOf(sample: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(sample).slice(0, 1))
}

function withoutPassword(type: EntityType, sample: Readonly<Record<string, unknown>>): object {
  const { password: _, ...rest } = sample
  return type.login === undefined ? sample : rest
}
