import { type Errors, Failure, invalid } from '../../errors.ts'
import type { Plan } from '../../plan/compile.ts'
import { UNMET } from '../../plan/past/amendment.ts'
import { operationColumns } from '../../plan/past/operations.ts'
import { reachOf } from '../../plan/tables/graph.ts'
import { type EntityState, entityRow } from '../../plan/view/entity-row.ts'
import { type Actor, system } from '../../plan/viewer/actor.ts'
import { LAST_ADMIN } from '../../plan/viewer/admins.ts'
import { type Act, after, read, write } from '../../store/act.ts'
import type { Params, Row } from '../../store/dialect.ts'
import {
  allow,
  allowed,
  type Context,
  entityAnswer,
  isMatch,
  type KeptAnswer,
  operationOf,
  type Preconditions,
  stateOf,
  TRIES,
} from '../context.ts'
import { entitySuccess, hookCodes, replayable, written } from '../description.ts'
import { entityEndpoint } from '../endpoint.ts'
import { parseId } from '../id.ts'
import { replayOf } from '../idempotency.ts'
import { writing } from '../parameters.ts'
import { erase } from '../past/erase.ts'
import { restoreTogether } from '../past/restore-together.ts'
import { parseWith } from '../past/undo.ts'
import { perform } from '../perform.ts'
import { parseFlag, Query } from '../query.ts'
import { beforeDelete, hasHook, hookCallerOf } from './hooks.ts'
import { performPlanned, transactPlanned } from './planned.ts'

interface Removal {
  readonly id: number
  readonly query: Query
  readonly when: Preconditions
  /** The operation that the removal belongs to, if any. */
  readonly operation?: string
}

/** `DELETE /api/<entity>/<id>/`, with `?restore=1` and `?purge=1`. */
export function* remove(
  context: Context,
  plan: Plan,
  actor: Actor,
  { id, query, when, operation }: Removal,
): Act<KeptAnswer> {
  const errors: Errors = new Map()
  const given = query.take(errors)
  const restore = parseFlag('restore', given.restore, errors)
  const purge = parseFlag('purge', given.purge, errors)
  const together = parseWith(given.with, ['targets'], errors).size > 0
  if (together && !restore) errors.set('with', ['needs restore=1'])
  if (purge && query.planning.size > 0) errors.set('dry_run', ['is not possible for a purge'])
  if (restore && purge) errors.set('purge', ['cannot be combined with restore'])
  allow(plan, purge ? 'purge' : restore ? 'restore' : 'delete', actor)
  if (errors.size > 0) throw invalid(errors)
  const restores = together ? restoreWithTargets : restoreEntity
  const act = purge ? purgeEntity : restore ? restores : deleteEntity
  for (let tries = 0; tries < TRIES; tries++) {
    const params = { ...operationOf(actor, when, operation), $id: id }
    const answer = yield* act(context, plan, actor, params)
    if (plan.view(actor).removals.endsLogins) yield* after(() => context.identities.forget())
    if (answer !== undefined) return answer
  }
  throw new Failure('busy')
}

/** Purges a deleted Entity, as the system. */
export async function purge(
  context: Context,
  plan: Plan,
  id: number,
): Promise<{ readonly operation: string; readonly entities: number }> {
  const removal = { id, query: new Query([['purge', '1']], ['purge']), when: { ifMatch: null } }
  const { headers } = await perform(context.store, remove(context, plan, system, removal))
  const operation = headers?.['Takeback-Operation'] ?? ''
  const [row] = await context.store.read(context.operations.byId, { $operation: operation })
  return { operation, entities: row === undefined ? 0 : Number(operationColumns.read(row).changes) }
}

type Removing = Params & { $operation: string; $id: number }

/** Returns the Entity to be removed, live or deleted, if the rule and `If-Match` allow it. */
function* removable(
  plan: Plan,
  action: 'delete' | 'restore' | 'purge',
  actor: Actor,
  params: Removing,
): Act<EntityState> {
  const state = allowed(plan, action, actor, yield* stateOf(plan.view(actor), params))
  if (!isMatch(params.$versions as string | null, state.version)) throw new Failure('stale')
  return state
}

/** Undefined if others have changed the Entity: then it is tried again. */
function* deleteEntity(
  _context: Context,
  plan: Plan,
  actor: Actor,
  params: Removing,
): Act<KeptAnswer | undefined> {
  const outcome = yield* write(plan.view(actor).removals.delete, params)
  if (outcome.done) return entityAnswer(200, plan, entityRow(outcome.rows[0]), params.$operation)
  if (outcome.step === LAST_ADMIN) throw new Failure('last_admin')
  if (outcome.step === 'held') throw heldBy(plan, actor, outcome.rows, 'delete')
  if (outcome.step === UNMET) {
    const errors: Errors = new Map()
    plan.view(actor).removals.explainUnmet(outcome.rows, errors, params.$id)
    throw new Failure('in_use', { errors })
  }
  const state = yield* removable(plan, 'delete', actor, params)
  return state.deletion === null ? undefined : entityAnswer(200, plan, state)
}

function* restoreEntity(
  context: Context,
  plan: Plan,
  actor: Actor,
  params: Removing,
): Act<KeptAnswer | undefined> {
  const { removals } = plan.view(actor)
  const state = yield* removable(plan, 'restore', actor, params)
  if (state.deletion === null) return entityAnswer(200, plan, state)
  params.$deletion = state.deletion
  const outcome = yield* write(removals.restore, params)
  if (outcome.done) return entityAnswer(200, plan, entityRow(outcome.rows[0]), params.$operation)
  const errors: Errors = new Map()
  if (outcome.step === 'dead') {
    removals.explainDead(outcome.rows, errors, params.$id)
    throw new Failure('target_deleted', { errors })
  }
  if (outcome.step === UNMET) {
    removals.explainUnmet(outcome.rows, errors, params.$id)
    throw invalid(errors)
  }
  if (outcome.step === 'unique') {
    const conflicts = yield* read(removals.conflicts, params)
    removals.explainConflicts(conflicts, errors, params.$id)
    if (errors.size > 0) throw invalid(errors)
    removals.explainSetAgain(errors)
    if (errors.size > 0) throw new Failure('in_use', { errors })
  }
  if ((yield* purgeOf(context, state.deletion)) !== undefined) throw new Failure('not_found')
  return undefined
}

/** Restores an Entity with the deleted Entities that it refers to. To be run in one transaction. */
function* restoreWithTargets(
  context: Context,
  plan: Plan,
  actor: Actor,
  params: Removing,
): Act<KeptAnswer | undefined> {
  const state = yield* removable(plan, 'restore', actor, params)
  if (state.deletion === null) return entityAnswer(200, plan, state)
  const { $id: id, $operation: operation } = params
  yield* restoreTogether(context, actor, { type: plan.type.name, id, operation })
  return entityAnswer(200, plan, yield* stateOf(plan.view(actor), params), operation)
}

/** Marks the Entities, then erases them. Also finishes an interrupted purge. */
function* purgeEntity(
  context: Context,
  plan: Plan,
  actor: Actor,
  params: Removing,
): Act<KeptAnswer | undefined> {
  const { deletion } = yield* removable(plan, 'purge', actor, params)
  if (deletion === null) throw new Failure('not_deleted')
  const { purge, takes } = plan.view(actor).removals
  const marks = { ...params, $deletion: deletion, $purge: Bun.randomUUIDv7() }
  const outcome = yield* write(purge, marks)
  if (outcome.done) {
    const plans = takes.flatMap((name) => context.plans.get(name) ?? [])
    // The named Entity is erased last. Until then, repeating the purge finishes it.
    yield* erase(context, marks.$purge, plans.reverse())
    return purged(params.$operation)
  }
  if (outcome.step === 'held') throw heldBy(plan, actor, outcome.rows, 'purge')
  const begun = yield* purgeOf(context, marks.$deletion)
  if (begun === undefined) return undefined
  yield* erase(context, marks.$deletion, context.plans.values())
  return purged(begun)
}

function purged(operation: string): KeptAnswer {
  return { status: 204, headers: { 'Takeback-Operation': operation }, shows: [] }
}

/** Returns the operation of an unfinished purge; undefined if it is a deletion. */
function* purgeOf({ purges }: Context, deletion: string): Act<string | undefined> {
  const [row] = yield* read(purges.find, { $purge: deletion })
  return row === undefined ? undefined : String(row[0])
}

function heldBy(plan: Plan, actor: Actor, rows: readonly Row[], action: 'delete' | 'purge'): Failure {
  const errors: Errors = new Map()
  plan.view(actor).removals.explainHeld(rows, errors, action)
  return new Failure('in_use', { errors })
}

const ACTIONS = ['delete', 'restore', 'purge'] as const
/** Removals that are no plain delete: no hook runs before them. */
export const REMOVALS = ['restore', 'purge'] as const

export const removeEntity = entityEndpoint({
  name: 'delete',
  method: 'DELETE',
  path: '/api/{entity}/{id}/',
  parameters: ['id', 'restore', 'purge', 'with_targets', 'If-Match', ...writing],
  plans: 'apart',
  rule: { any: ACTIONS },
  describe(about) {
    const { type, model } = about
    const { into, out, types } = reachOf(type, model)
    const removed = written(entitySuccess(about, 200, 'The Entity, deleted or restored.'))
    return {
      summary: `Delete, restore or purge ${about.one}`,
      description: `A delete is one operation and includes everything that cascades from the Entity. \`restore=1\` takes back exactly that operation. \`purge=1\` erases a deleted Entity for good. Repeating a delete or a restore changes nothing. ${about.access(...ACTIONS)}`,
      answers: [
        {
          ...replayable(removed),
          example: { ...about.answer, version: 2, deleted_at: '2026-06-02T17:00:00.000Z' },
        },
        { status: 204, description: 'Purged.', headers: ['Takeback-Operation', 'Idempotent-Replay'] },
      ],
      codes: [
        ...ACTIONS.flatMap((action) => about.refusals(action, false)),
        ...hookCodes(about, 'delete'),
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
  },
  async run(context, plan, call) {
    const { caller, query, when } = call
    const removal = { id: parseId(call.id), query, when }
    if (hasHook(plan, 'delete') && !REMOVALS.some((name) => query.asks(name))) {
      const known = await replayOf(context, call)
      if (known !== undefined) return known
      await beforeDelete(context, plan, hookCallerOf(call), removal)
    }
    if (query.has('purge')) call.waitLong()
    const make = () => remove(context, plan, caller.actor, removal)
    return query.asks('with') ? transactPlanned(context, call, make) : performPlanned(context, call, make)
  },
})
