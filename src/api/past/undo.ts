import { budget } from '../../budget.ts'
import { isRecord } from '../../declare/record.ts'
import { addError, type Errors, Failure, invalid, invalidAt } from '../../errors.ts'
import { kindCountColumns, type OperationFilter } from '../../plan/past/operations.ts'
import { type Actor, actorName, isAgent, system } from '../../plan/viewer/actor.ts'
import { type Act, read } from '../../store/act.ts'
import { type Answer, type Context, type KeptAnswer, signInFirst } from '../context.ts'
import { OPERATIONS, refTo, type Success } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { type IdempotentRequest, performOnce, transactOnce } from '../idempotency.ts'
import { writing } from '../parameters.ts'
import { parseFlag } from '../query.ts'
import { isUnplanned, runPlanned } from '../write/planned.ts'
import { asPlanned, type PreviewRequest, previewPlace, undoAnswer } from '../write/preview.ts'
import { effectsOf, withEffects } from './effects.ts'
import { filterParams, isVisible, operationById, parseFilter, visibleTo } from './operations.ts'
import { undoSchemas } from './past-schemas.ts'
import { type TakeBackRequest, takeBack, type With } from './take-back.ts'

/** The parameters of an undo, from the query or the body. */
export interface UndoRequest extends PreviewRequest {
  readonly skipConflicts: boolean
  /** Whether to also take back the operations that they have caused. */
  readonly withEffects: boolean
  readonly with: ReadonlySet<With>
}

/** `POST /api/operations/<id>/undo/` */
export function undo(
  context: Context,
  request: IdempotentRequest,
  id: string,
  query: UndoQuery,
): Promise<Answer> {
  const { actor } = request.caller
  const options = parseUndo(request, query, UNDO_PARAMETERS)
  return runUndo(context, request, options, {
    *which() {
      const foreign = yield* isForeign(context, actor, id)
      return { operations: [id], foreign }
    },
  })
}

const FILTERS = ['actor', 'since', 'until', 'entity', 'run'] as const

/** `POST /api/operations/undo/` `{actor?, since?, until?, entity?}` or `{operations}`: undoes all of them as one. */
export function undoMany(context: Context, request: IdempotentRequest, query: UndoQuery): Promise<Answer> {
  const options = parseUndo(request, query, [...UNDO_PARAMETERS, ...FILTERS, 'operations'])
  const { actor } = request.caller
  const named = parseNamed(request.body)
  if (named !== undefined)
    return runUndo(context, request, options, { which: () => namedOperations(context, actor, named) })
  const filter = undoFilter(context, actor, request.body)
  return runUndo(context, request, options, { which: () => matchingOperations(context, filter) })
}

/** Reads the operations that a body names instead of a filter. */
function parseNamed(body: unknown): readonly string[] | undefined {
  const given = isRecord(body) ? body : {}
  const { operations } = given
  if (operations === undefined || operations === null) return undefined
  const errors: Errors = new Map()
  for (const name of FILTERS)
    if (given[name] !== undefined && given[name] !== null)
      addError(errors, name, 'cannot be combined with operations')
  const { namedOperations: most } = budget
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > most)
    addError(errors, 'operations', `must be a list of 1 to ${most} operations`)
  if (errors.size > 0) throw invalid(errors)
  const ids = (operations as unknown[]).map((id, at) =>
    typeof id === 'string' ? id : (addError(errors, `operations.${at}`, 'must be a text') ?? ''),
  )
  if (errors.size > 0) throw invalid(errors)
  return [...new Set(ids)]
}

/** Finds named operations. All must be the caller's own, unless the caller is an admin. */
function* namedOperations(
  context: Context,
  actor: Actor,
  named: readonly string[],
): Act<Pick<TakeBackRequest, 'operations' | 'foreign'>> {
  if (actor.kind === 'nobody') throw signInFirst()
  const errors: Errors = new Map()
  for (const [at, id] of named.entries()) {
    const operation = yield* operationById(context, id)
    if (operation === undefined || !(yield* isVisible(context, actor, operation)))
      addError(errors, `operations.${at}`, 'is not an operation that you can see')
    else yield* isForeign(context, actor, id)
  }
  if (errors.size > 0) throw invalid(errors)
  return { operations: named, foreign: false }
}

/** Finds the operations that match a filter. */
export function* matchingOperations(
  context: Context,
  filter: OperationFilter,
): Act<Pick<TakeBackRequest, 'operations' | 'foreign'>> {
  const { statement, params } = filterParams(filter, (one) =>
    context.operations.matching(one, budget.undoOperations + 1),
  )
  const rows = yield* read(statement, params)
  if (rows.length > budget.undoOperations)
    throw invalidAt('since', `matches more than ${budget.undoOperations} operations: use a later time`)
  return { operations: rows.map(([operation]) => String(operation)), foreign: false }
}

interface Undoing {
  /** Finds the operations. Its writes are part of the undo. */
  which(): Act<Pick<TakeBackRequest, 'operations' | 'foreign'>>
  /** Whether everything must be one transaction. */
  readonly whole?: boolean
}

/** Runs an undo. A preview does the same in a transaction that is rolled back. */
export function runUndo(
  context: Context,
  request: IdempotentRequest,
  options: UndoRequest,
  { which, whole: always = false }: Undoing,
): Promise<Answer> {
  const { actor } = request.caller
  const { dryRun, plan, offset } = options
  const make = function* (): Act<KeptAnswer> {
    const { operations: named, foreign } = yield* which()
    const effects = yield* effectsOf(context, actor, named)
    const operations = options.withEffects ? withEffects(actor, named, effects) : named
    const takeBackRequest = { operations, foreign, skipConflicts: options.skipConflicts, with: options.with }
    const taken = yield* asPlanned(plan, takeBack(context, actor, takeBackRequest))
    return yield* undoAnswer(context, actor, { taken, undone: operations, effects, dryRun, plan, offset })
  }
  if (dryRun || plan !== undefined) return runPlanned(context, request, options, make)
  const whole = always || options.with.size > 0 || options.withEffects
  return whole ? transactOnce(context, request, make) : performOnce(context, request, make)
}

const MIGRATED = 'was changed by a migration: change the declaration instead'

/** Whether the operation is somebody else's. It is then found only if it is a deletion that the caller may restore. */
function* isForeign(context: Context, actor: Actor, id: string): Act<boolean> {
  if (actor.kind === 'nobody') throw signInFirst()
  const operation = yield* operationById(context, id)
  if (operation === undefined) throw new Failure('not_found')
  const isOwn = yield* isVisible(context, actor, operation)
  if (isOwn && operation.actor !== actorName(system)) return false
  const rows = yield* read(context.operations.kinds, { $operations: JSON.stringify([id]) })
  const kinds = rows.map(kindCountColumns.read)
  if (isOwn) {
    const migrated = kinds.filter(({ kind }) => kind === 'migrate').map(({ entity }) => String(entity))
    if (migrated.length > 0)
      throw new Failure('cannot_undo', { errors: new Map(migrated.map((name) => [name, [MIGRATED]])) })
    return false
  }
  const deletes = kinds.some(({ kind }) => kind === 'delete')
  if (!deletes || kinds.some(({ kind }) => kind !== 'delete' && kind !== 'update'))
    throw new Failure('not_found')
  return true
}

const SWITCHES = ['dry_run', 'skip_conflicts', 'with_effects'] as const
const TEXTS = ['plan', 'with', 'cursor'] as const

/** The query of an undo. It may have other parameters as well. */
export interface UndoQuery {
  take(errors: Errors): Partial<Record<(typeof UNDO_PARAMETERS)[number], string>>
}

/** The parameters of every undo, in its query or in its body. */
export const UNDO_PARAMETERS = [...SWITCHES, ...TEXTS] as const

/** Reads the parameters of an undo. `known` are the keys that the body may have. */
export function parseUndo(
  { body, caller }: Pick<IdempotentRequest, 'body' | 'caller'>,
  query: UndoQuery,
  known: readonly string[],
): UndoRequest {
  const errors: Errors = new Map()
  const given = query.take(errors)
  const sent = isRecord(body) ? body : {}
  for (const name of Object.keys(sent)) {
    if (!known.includes(name)) addError(errors, name, 'is not known here')
    else if (Object.hasOwn(given, name)) addError(errors, name, 'is given both in the query and in the body')
  }
  const flag = (name: (typeof SWITCHES)[number]) => {
    const value = sent[name]
    if (value === undefined || value === null) return parseFlag(name, given[name], errors)
    if (typeof value !== 'boolean') addError(errors, name, 'must be true or false')
    return value === true
  }
  const text = (name: (typeof TEXTS)[number]) => {
    const value = sent[name] ?? given[name]
    return value === undefined || typeof value === 'string' ? value : addError(errors, name, 'must be a text')
  }
  const place = previewPlace(text('plan'), text('cursor'), errors)
  const options = {
    ...place,
    dryRun: flag('dry_run') || (isAgent(caller.actor) && isUnplanned(place)),
    skipConflicts: flag('skip_conflicts'),
    withEffects: flag('with_effects'),
    with: parseWith(text('with'), ['targets', 'dependents'], errors),
  }
  if (options.offset > 0 && !options.dryRun) addError(errors, 'cursor', 'works only with dry_run')
  if (errors.size > 0) throw invalid(errors)
  return options
}

/** Reads `targets`, `dependents`, or both, separated by a comma. */
export function parseWith(text: string | undefined, names: readonly With[], errors: Errors): Set<With> {
  const found = new Set<With>()
  for (const word of text?.split(',') ?? []) {
    const name = names.find((one) => one === word)
    if (name === undefined) addError(errors, 'with', `must be ${names.join(' or ')}`)
    else found.add(name)
  }
  return found
}

function undoFilter(context: Context, actor: Actor, body: unknown): OperationFilter {
  const errors: Errors = new Map()
  const given = isRecord(body) ? body : {}
  const texts = FILTERS.map((name) => {
    const value = given[name]
    if (value === undefined || value === null) return [name, undefined]
    return [name, typeof value === 'string' ? value : addError(errors, name, 'must be a text')]
  })
  const filter = parseFilter(context, Object.fromEntries(texts), errors)
  const seen = visibleTo(actor, filter)
  if (Object.values(filter).every((one) => one === undefined) && errors.size === 0)
    addError(errors, 'since', 'is required, or one of actor, until, entity, run and operations')
  if (errors.size > 0) throw invalid(errors)
  return seen
}

/** The answer to every undo. */
export const undone: Success = {
  status: 200,
  description: 'What was taken back, or would be. `operation` is `null` if nothing was written.',
  headers: ['Takeback-Operation', 'Idempotent-Replay'],
  schema: refTo('Undone'),
  example: {
    operation: '01973a30-1b58-7000-8000-0a1b2c3d4e5f',
    undone: 1,
    total: 1,
    changes: [
      {
        entity: 'bookings',
        id: 7,
        kind: 'restore',
        changed: { deleted_at: { from: '2026-06-02T17:00:00.000Z', to: null } },
      },
    ],
    skipped: {},
  },
}

const codes = [
  'unauthenticated',
  'forbidden',
  'cannot_undo',
  'last_admin',
  'busy',
  'plan_changed',
  'disk_full',
] as const
/** The parameters of every call that takes something back. */
export const undoing = [
  'dry_run',
  'skip_conflicts',
  'with',
  'with_effects',
  'plan',
  'cursor',
  ...writing,
] as const

export const undoOperation = serverEndpoint({
  name: 'undoOperation',
  method: 'POST',
  path: '/api/operations/{id}/undo/',
  tag: OPERATIONS,
  parameters: ['operation', ...undoing],
  plans: 'itself',
  body: 'optional',
  access: 'signed-in',
  schemas: () => undoSchemas,
  describe: () => ({
    summary: 'Undo an operation',
    description:
      'Takes back the whole operation, as a new operation that can itself be undone. If a value was changed since, nothing is written and the answer names every conflict. Parameters may be sent in the query or in the body, which is optional.',
    body: { schema: refTo('Undo'), example: { dry_run: true } },
    answers: [undone],
    codes: [...codes, 'not_found'],
  }),
  run(context, call) {
    call.waitLong()
    return undo(context, call, call.id, call.query)
  },
})

export const undoOperations = serverEndpoint({
  name: 'undoOperations',
  method: 'POST',
  path: '/api/operations/undo/',
  tag: OPERATIONS,
  parameters: undoing,
  plans: 'itself',
  body: 'object',
  access: 'signed-in',
  describe: () => ({
    summary: 'Undo many operations',
    description:
      'Takes back all operations that match, or those that are named, as one new operation. A value that several of them changed goes back to what it was before the first.',
    body: { schema: refTo('UndoMany'), example: { actor: 'users/3', since: '2026-06-02T14:00:00Z' } },
    answers: [undone],
    codes,
  }),
  run(context, call) {
    call.waitLong()
    return undoMany(context, call, call.query)
  },
})
